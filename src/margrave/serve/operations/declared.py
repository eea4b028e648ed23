"""Every operation, declared once: its path, who may use it, what it takes and gives.

Routes, checks and the OpenAPI document come from these declarations and from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request

from margrave.ledger.ledger import Ledger
from margrave.ledger.records import Account, Opened
from margrave.ledger.statements.allowance import Allowance, allowances
from margrave.ledger.values import Head
from margrave.planning.questions.data_spec import DataSpec
from margrave.serve.kept.access import AccessLog
from margrave.serve.kept.collections import Collections
from margrave.serve.kept.jobs import Jobs
from margrave.serve.kept.openings import Openings
from margrave.serve.kept.people import PeopleTable, Person
from margrave.serve.kept.tables import ServerTables
from margrave.serve.kept.tokens import Tokens
from margrave.serve.operations.problems import FORBIDDEN, MISSING, UNKNOWN_CALLER, ProblemError
from margrave.serve.operations.shapes import Shape, WholeNumber

Who = Literal["public", "own", "read", "ask", "curate"]
"""Who may use an operation: everybody, whoever is logged in, or who has a scope."""
JSON = "application/json"
PAGE: Mapping[str, Shape] = {"after": WholeNumber(0, 10**15), "limit": WholeNumber(1, 1_000)}
_PAGE = 100


class House:
    """What all operations of a worker share."""

    def __init__(self, ledger: Ledger, *, opens: bool = False) -> None:
        """``opens``: whether the server may open data sets that curators name."""
        self.ledger, self.opens = ledger, opens
        self.tables = ServerTables(ledger)
        self.people, self.tokens = PeopleTable(self.tables), Tokens(self.tables)
        self.jobs, self.access = Jobs(self.tables), AccessLog(self.tables)
        self.collections, self.openings = Collections(self.tables), Openings(self.tables)
        self.statements: dict[str, tuple[Head, dict[str, Any]]] = {}
        self._declared: dict[str, DataSpec] = {}

    def opened_data(self, name: str) -> DataSpec:
        """The public declaration of a data set that is open for questions."""
        # A data set is opened once: what it was opened by never changes.
        found = self._declared.get(name)
        if found is None:
            one = self.ledger.record(Opened, name)
            if one is None:
                raise ProblemError(MISSING, "no data set of that name is open for questions")
            found = self._declared[name] = DataSpec.load(one.declared)
        return found

    def allowed(self, account: str, dataset: str) -> tuple[Allowance, ...]:
        """What an account may spend; nothing if the ledger has no such account."""
        if self.ledger.record(Account, account) is None:
            return ()
        return allowances(self.ledger, account, dataset)


@dataclass(frozen=True)
class Caller:
    """Who calls, what for, and the secret and guard of a login where it is one."""

    person: Person | None
    scopes: tuple[str, ...] = ()
    secret: str = ""
    guard: str = ""

    def check(self, who: Who) -> None:
        """Refuse what is not the caller's to do."""
        if who == "public":
            return
        if self.person is None:
            raise ProblemError(UNKNOWN_CALLER, "log in, or send a token", **{"WWW-Authenticate": "Bearer"})
        if who != "own" and who not in self.scopes:
            raise ProblemError(FORBIDDEN, f"this needs the scope {who}")


@dataclass(frozen=True)
class Call:
    """One use of an operation, all of it read and checked.

    ``scopes`` is what the caller may do; ``secret`` that of the caller's login, where there is one.
    """

    house: House
    person: Person | None
    scopes: tuple[str, ...]
    secret: str
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    headers: Mapping[str, str]

    @property
    def caller(self) -> Person:
        """Who calls, where only somebody who is known can."""
        assert self.person is not None
        return self.person

    def page(self, found: Callable[[int, int], list[tuple[int, dict[str, Any]]]]) -> dict[str, Any]:
        """A page of numbered things, and behind which number the next one begins."""
        limit = self.query.get("limit", _PAGE)
        items = found(self.query.get("after", 0), limit)
        return {"items": [one for _, one in items], "next": items[-1][0] if len(items) == limit else None}


@dataclass(frozen=True)
class HttpReply:
    """What an operation gives: JSON values, or content of some kind."""

    value: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    media: str = JSON


Handler = Callable[[Call], HttpReply]


@dataclass(frozen=True)
class Operation:
    """``gives`` is the schema of what comes back; ``media`` what else it may come back as.

    ``nameless``: who does it from where is not noted. ``brief``: it looks up little, and nothing else.
    """

    name: str
    method: str
    path: str
    who: Who
    summary: str
    handler: Handler
    status: int = 200
    body: Shape | None = None
    query: Mapping[str, Shape] = field(default_factory=dict)
    headers: Mapping[str, Shape] = field(default_factory=dict)
    gives: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    media: tuple[str, ...] = (JSON,)
    most_bytes: int = 1 << 20
    nameless: bool = False
    brief: bool = False

    @property
    def changes(self) -> bool:
        return self.method != "GET"

    @property
    def noted_at_once(self) -> bool:
        """Whether a visit is written before anything else is done. What is asked stands in the ledger anyway."""
        return self.changes and self.who not in ("read", "ask")


OPERATIONS: list[Operation] = []
"""All of them, in the order in which they are declared."""


def operation(method: str, path: str, who: Who, summary: str, **options: Any) -> Callable[[Handler], Handler]:
    """Declare that a function is an operation, by the function's name."""

    def declared(handler: Handler) -> Handler:
        OPERATIONS.append(Operation(handler.__name__, method, path, who, summary, handler, **options))
        return handler

    return declared


def path_of(request: Request) -> dict[str, str]:
    """What the path of a request names. No store can look for a text with a zero in it: nothing is named so."""
    found = {name: str(value) for name, value in request.path_params.items()}
    if any("\0" in value for value in found.values()):
        raise ProblemError(MISSING, "nothing has such a name")
    return found


def page_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a page."""
    properties = {"items": {"type": "array", "items": dict(item)}, "next": {"type": ["integer", "null"]}}
    return {"type": "object", "required": ["items", "next"], "properties": properties}
