"""What follows from the journal, as small records under keys: kept beside it for speed, recomputed to verify it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Protocol, Self, TypeVar

from margrave.budget.ledger.journal import canonical
from margrave.budget.ledger.totals import Totals
from margrave.budget.ledger.values import Notion
from margrave.budget.units import Budget, budget_from_dict
from margrave.errors import MargraveError, VerificationError


class Record(Protocol):
    """A value under a key, ``kind/name``."""

    kind: ClassVar[str]

    @property
    def key(self) -> str: ...

    def to_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self: ...


R = TypeVar("R", bound=Record)


@lru_cache(maxsize=1024)
def budget_json(budget: Budget | None) -> dict[str, str] | None:
    """A budget as JSON. The answer is shared: nobody changes it."""
    return None if budget is None else budget.as_dict()


def read_budget(value: Mapping[str, str]) -> Budget:
    return _read_budget(tuple(value.items()))


@lru_cache(maxsize=1024)
def _read_budget(pairs: tuple[tuple[str, str], ...]) -> Budget:
    return budget_from_dict(dict(pairs))


def budget_or_none(value: Mapping[str, str] | None) -> Budget | None:
    return None if value is None else read_budget(value)


@dataclass(frozen=True)
class Tip:
    """The last entry: its number, hash and time; and the identity of the ledger."""

    ledger: str
    number: int
    hash: str
    time: str
    kind: ClassVar[str] = "tip"
    key: ClassVar[str] = "tip"

    def to_json(self) -> dict[str, Any]:
        return {"ledger": self.ledger, "number": self.number, "hash": self.hash, "time": self.time}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tip:
        return cls(**value)


@dataclass(frozen=True)
class DataSet:
    """A registered version of a data set. It never changes. ``pool`` names the cap that it spends from."""

    name: str
    pool: str
    notion: Notion
    most: Budget | None
    kind: ClassVar[str] = "dataset"

    @property
    def key(self) -> str:
        return f"dataset/{self.name}"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "pool": self.pool,
            "notion": self.notion.to_json(),
            "most": budget_json(self.most),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DataSet:
        notion = Notion.from_json(value["notion"])
        return cls(value["name"], value["pool"], notion, budget_or_none(value["most"]))


@dataclass(frozen=True)
class Pool:
    """A cap, the versions that share it, and what was spent from it, by all accounts together."""

    name: str
    cap: Budget
    spent: Totals = field(default_factory=Totals)
    kind: ClassVar[str] = "pool"

    @property
    def key(self) -> str:
        return f"pool/{self.name}"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "cap": budget_json(self.cap), "spent": self.spent.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Pool:
        return cls(value["name"], read_budget(value["cap"]), Totals.from_json(value["spent"]))


@dataclass(frozen=True)
class Members:
    """What belongs to a pool: its versions, and the accounts that hold a grant of it at first hand."""

    pool: str
    versions: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    kind: ClassVar[str] = "members"

    @property
    def key(self) -> str:
        return f"members/{self.pool}"

    def to_json(self) -> dict[str, Any]:
        return {"pool": self.pool, "versions": list(self.versions), "holders": list(self.holders)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Members:
        return cls(value["pool"], tuple(value["versions"]), tuple(value["holders"]))


@dataclass(frozen=True)
class Account:
    """An analyst, who may belong to an organisation, or an organisation. It never changes."""

    name: str
    type: str
    organisation: str | None = None
    kind: ClassVar[str] = "account"

    @property
    def key(self) -> str:
        return f"account/{self.name}"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "type": self.type, "organisation": self.organisation}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Account:
        return cls(**value)


@dataclass(frozen=True)
class Grant:
    """A permission to spend up to ``amount`` from ``starts`` on and before ``expires`` (UTC), and what was spent."""

    amount: Budget
    starts: str
    expires: str | None = None
    most: Budget | None = None
    spent: Totals = field(default_factory=Totals)

    def active(self, time: str) -> bool:
        """Whether it can be spent. A day sorts before every moment of that day."""
        return self.starts <= time and not self.ended(time)

    def ended(self, time: str) -> bool:
        return self.expires is not None and self.expires <= time

    def to_json(self) -> dict[str, Any]:
        return {
            "amount": budget_json(self.amount),
            "starts": self.starts,
            "expires": self.expires,
            "most": budget_json(self.most),
            "spent": self.spent.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Grant:
        amount, most = read_budget(value["amount"]), budget_or_none(value["most"])
        return cls(amount, value["starts"], value["expires"], most, Totals.from_json(value["spent"]))


@dataclass(frozen=True)
class Grants:
    """All grants of one account from one pool, in the order of their periods, which do not overlap."""

    pool: str
    account: str
    grants: tuple[Grant, ...] = ()
    kind: ClassVar[str] = "grants"

    @property
    def key(self) -> str:
        return f"grants/{self.pool}/{self.account}"

    def to_json(self) -> dict[str, Any]:
        return {"pool": self.pool, "account": self.account, "grants": [one.to_json() for one in self.grants]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Grants:
        return cls(value["pool"], value["account"], tuple(map(Grant.from_json, value["grants"])))


@dataclass(frozen=True)
class Asked:
    """A request: reserved, committed or void, what it cost, and which grants it was charged to.

    ``paid`` are pairs of an account and the number of its grant. ``bundle`` is the SHA-256 of the stored answer,
    ``release`` the identity of the release in it.
    """

    id: str
    status: str
    dataset: str
    account: str
    question: str
    cost: Budget
    number: int
    hash: str
    time: str
    paid: tuple[tuple[str, int], ...] = ()
    bundle: str | None = None
    release: str | None = None
    kind: ClassVar[str] = "request"

    @property
    def key(self) -> str:
        return f"request/{self.id}"

    def closed(self, status: str, bundle: str | None = None, release: str | None = None) -> Asked:
        """The request once it is committed, with its answer, or void."""
        asked = (self.dataset, self.account, self.question, self.cost)
        return Asked(self.id, status, *asked, self.number, self.hash, self.time, self.paid, bundle, release)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "status": self.status,
            "dataset": self.dataset,
            "account": self.account,
            "question": self.question,
            "cost": budget_json(self.cost),
            "number": self.number,
            "hash": self.hash,
            "time": self.time,
            "paid": [list(pair) for pair in self.paid],
            "bundle": self.bundle,
            "release": self.release,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Asked:
        paid = tuple((account, index) for account, index in value["paid"])
        return cls(**{**value, "cost": read_budget(value["cost"]), "paid": paid})


@dataclass(frozen=True)
class Question:
    """A question to a data set: the request that answered it, and unfinished ones by account."""

    dataset: str
    question: str
    answered: str | None = None
    unfinished: Mapping[str, str] = field(default_factory=dict, hash=False)
    kind: ClassVar[str] = "question"

    @property
    def key(self) -> str:
        return f"question/{self.dataset}/{self.question}"

    def to_json(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "question": self.question,
            "answered": self.answered,
            "unfinished": dict(self.unfinished),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Question:
        return cls(**value)


KINDS: Mapping[str, type[Record]] = {
    kind.kind: kind for kind in (Tip, DataSet, Pool, Members, Account, Grants, Asked, Question)
}
FIXED = ("dataset/", "account/")
"""Records that never change once they are there."""


def encode(record: Record) -> str:
    return canonical(record.to_json())


def decode(key: str, text: str) -> Record:
    """The record that `encode` wrote."""
    try:
        return KINDS[key.partition("/")[0]].from_json(json.loads(text))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, MargraveError):
        raise VerificationError(f"the record {key!r} was changed: see 'margrave ledger verify'") from None


class View:
    """Records as they stand at one moment, read when first needed; what is put is remembered as a change."""

    def __init__(self, load: Callable[[Iterable[str]], Mapping[str, str]] = lambda _: {}) -> None:
        self._load = load
        self.records: dict[str, Record | None] = {}
        self.changes: dict[str, Record] = {}

    def fetch(self, keys: Iterable[str]) -> None:
        """Read some records at once."""
        missing = [key for key in keys if key not in self.records]
        if missing:
            texts = self._load(missing)
            for key in missing:
                self.records[key] = decode(key, texts[key]) if key in texts else None

    def get(self, kind: type[R], *names: str) -> R | None:
        key = "/".join((kind.kind, *names)) if names else kind.kind
        if key not in self.records:
            self.fetch((key,))
        return self.records[key]  # type: ignore[return-value]  # the key begins with the kind

    def put(self, record: Record) -> None:
        key = record.key
        self.records[key] = self.changes[key] = record
