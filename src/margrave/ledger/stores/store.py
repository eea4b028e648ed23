"""Where a ledger is kept: what every store can do, and the tables that all of them have."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol

from margrave.errors import LedgerError, MargraveError, VerificationError
from margrave.files.content import Content, gathered, pieces

MOST_PARTS = 1 << 12
"""An answer has fewer pieces than this: piece p of the answer to entry n is kept at place n · `MOST_PARTS` + p."""

Row = tuple[int, str, str]
"""A row of the journal: number, text, hash."""

MIGRATIONS: tuple[Mapping[str, tuple[str, ...]], ...] = (
    {
        "all": (
            "CREATE TABLE ledger_journal (number {integer} PRIMARY KEY, entry TEXT NOT NULL, hash TEXT NOT NULL)",
            "CREATE TABLE ledger_state (key TEXT PRIMARY KEY, value TEXT NOT NULL){clustered}",
            "CREATE TABLE ledger_bundle "
            "(digest TEXT, part BIGINT, content {bytes} NOT NULL, PRIMARY KEY (digest, part))",
        )
    },
    {
        "sqlite": tuple(
            f"CREATE TRIGGER ledger_journal_no_{action.lower()} BEFORE {action} ON ledger_journal "
            "BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END"
            for action in ("UPDATE", "DELETE")
        ),
        "postgresql": (
            "CREATE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'the journal is append-only'; END $$",
            "CREATE TRIGGER ledger_journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_journal "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only()",
        ),
    },
    # Answers were kept under their SHA-256. A number that grows is found as well, and is written much faster.
    {"all": ("CREATE TABLE ledger_answer (place {integer} PRIMARY KEY, content {bytes} NOT NULL)",)},
    # Sums of charges that are listed beside them are no longer kept.
    {},
    # The last entry is kept with the rules that hold.
    {},
    # Requests say who paid for the question, questions where their noisy answers are kept.
    {},
)
"""Version n of the schema is reached by the first n of these. They are only ever added to."""

DROPPED = frozenset({"ledger_bundle"})
"""Tables of older versions that are gone once what they kept is made anew."""

REMADE = 6
"""What older versions of the schema kept beside the journal is made anew from it."""


@lru_cache
def _select(count: int) -> str:
    """A query for so many records."""
    return f"SELECT key, value FROM ledger_state WHERE key IN ({', '.join('?' * count)})"


@lru_cache
def _ends(count: int) -> str:
    """A query for one row: so many records, then the number and the hash of the last entry."""
    last = "FROM ledger_journal ORDER BY number DESC LIMIT 1"
    records = "(SELECT value FROM ledger_state WHERE key = ?), " * count
    return f"SELECT {records}(SELECT number {last}), (SELECT hash {last})"


@lru_cache
def _upsert(count: int) -> str:
    """A statement that writes so many records."""
    pairs = ", ".join(["(?, ?)"] * count)
    update = "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    return f"INSERT INTO ledger_state (key, value) VALUES {pairs} {update}"


class Connection(Protocol):
    """What sqlite3 and psycopg connections have in common."""

    def execute(self, statement: str, parameters: Any = ..., /) -> Any: ...

    def close(self) -> None: ...


class Transaction(ABC):
    """One transaction: everything it reads is of one moment, everything it writes is there as a whole or not at all."""

    @abstractmethod
    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows that a query, with ``?`` for parameters, finds."""

    @abstractmethod
    def write(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement that finds nothing, now or when the transaction ends."""

    def write_now(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement that finds nothing, after all before it, without keeping its parameters."""
        self.write(statement, parameters)

    def state(self, keys: Iterable[str]) -> Mapping[str, str]:
        """The records under some keys, where there are such."""
        wanted = list(keys)
        return dict(self.rows(_select(len(wanted)), wanted))

    def begin(self, keys: Sequence[str]) -> Sequence[Any]:
        """The records under some keys, then the number and hash of the last entry, as they stand when writing begins.

        None stands for what is not there.
        """
        (found,) = self.rows(_ends(len(keys)), keys)
        return found  # type: ignore[no-any-return]

    def all_state(self) -> Iterator[tuple[str, str]]:
        yield from self.rows("SELECT key, value FROM ledger_state")

    def state_of(self, kind: str) -> Iterator[tuple[str, str]]:
        """All records of a kind, by key."""
        statement = "SELECT key, value FROM ledger_state WHERE key >= ? AND key < ? ORDER BY key"
        yield from self.rows(statement, (f"{kind}/", f"{kind}0"))

    def journal(self, after: int = 0) -> Iterator[Row]:
        """The entries behind a number, in order."""
        yield from self.rows(
            "SELECT number, entry, hash FROM ledger_journal WHERE number > ? ORDER BY number", (after,)
        )

    def entry(self, number: int) -> Row | None:
        found = self.rows("SELECT number, entry, hash FROM ledger_journal WHERE number = ?", (number,))
        return next(iter(found), None)

    def answer(self, number: int) -> Content:
        """The stored answer to an entry; empty where there is none."""
        return gathered(self._pieces(number))

    def _pieces(self, number: int) -> Iterator[bytes]:
        """The pieces of an answer, few at a time; what is no piece, but stands in the place of one, is empty."""
        statement = "SELECT place, content FROM ledger_answer WHERE place > ? AND place < ? ORDER BY place LIMIT 2"
        last, end = number * MOST_PARTS - 1, (number + 1) * MOST_PARTS
        while True:
            found = list(self.rows(statement, (last, end)))
            yield from (content if isinstance(content, bytes) else b"" for _, content in found)
            if len(found) < 2:
                return
            last = found[-1][0]

    def answered(self) -> set[int]:
        """The entries to which there is an answer."""
        return {place // MOST_PARTS for (place,) in self.rows("SELECT place FROM ledger_answer")}

    def forget(self, number: int) -> None:
        """Drop what is kept with an entry."""
        places = (number * MOST_PARTS, (number + 1) * MOST_PARTS)
        self.write("DELETE FROM ledger_answer WHERE place >= ? AND place < ?", places)

    def append(self, row: Row, state: Sequence[str], answer: tuple[int, Content] | None = None) -> None:
        """Add an entry, the records that it changes (key, value, key, value, …), and what is to be kept with one."""
        self.write("INSERT INTO ledger_journal (number, entry, hash) VALUES (?, ?, ?)", row)
        self.write(_upsert(len(state) // 2), state)
        if answer is not None:
            number, content = answer
            write = self.write if isinstance(content, bytes) else self.write_now
            for part, piece in enumerate(pieces(content)):
                if part == MOST_PARTS:
                    raise LedgerError("the answer is larger than what a ledger can keep: nothing was written")
                write("INSERT INTO ledger_answer (place, content) VALUES (?, ?)", (number * MOST_PARTS + part, piece))


Remake = Callable[[Transaction, int], None]
"""Makes what is kept beside the journal anew, from that of a version of the schema."""


class Store(ABC):
    """A place for a ledger. Connections are kept for the next use, and are never shared by two threads or processes."""

    dialect: str
    near: bool
    """Whether reading asks nobody over a network, and so waits for nobody."""
    bytes_type: str
    integer_type: str
    clustered: str

    def __init__(self) -> None:
        self._idle: list[Connection] = []
        self._process = os.getpid()
        self._lock = threading.Lock()

    @abstractmethod
    def connect(self) -> Connection:
        """A new connection."""

    @abstractmethod
    def reading(self) -> Any:
        """A context with a session that only reads."""

    @abstractmethod
    def writing(self) -> Any:
        """A context with the only session that writes; it is settled on disk when the context is left."""

    @abstractmethod
    def beside(self, *, settled: bool = True) -> Any:
        """A context with a session that writes to tables that stand beside the ledger's, and never to those.

        ``settled``: whether it is on disk when the context is left. What is not may be lost with the power, and nothing
        that is written later without it.
        """

    @abstractmethod
    def schema_version(self) -> int:
        """The version of the schema that is there, 0 for none."""

    @abstractmethod
    def check(self) -> None:
        """Look for damage in the store itself, and for tables or guards that are not as they were made."""

    @abstractmethod
    def writable(self) -> bool:
        """Whether this process may write here."""

    @abstractmethod
    def migrate(self, remake: Remake) -> None:
        """Bring the schema to the newest version, and with ``remake`` what is kept beside the journal."""

    @contextmanager
    def made(self) -> Iterator[None]:
        """While a new ledger is being made: what fails meanwhile can be done again."""
        yield

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection that nobody else uses meanwhile. One that failed is not used again."""
        one = self._take()
        try:
            yield one
        except MargraveError:
            self._keep(one)
            raise
        except BaseException:
            self._discard(one)
            raise
        self._keep(one)

    def _keep(self, one: Connection) -> None:
        self._idle.append(one)

    def _take(self) -> Connection:
        if self._process != os.getpid():
            self._abandon()
        try:
            # One step, so that no two threads take the same.
            return self._idle.pop()
        except IndexError:
            return self.connect()

    def _abandon(self) -> None:
        """Connections made before a fork belong to the parent: using or closing them here would harm it."""
        with self._lock:
            if self._process != os.getpid():
                _ABANDONED.extend(self._idle)
                self._idle, self._process = [], os.getpid()

    def _discard(self, one: Connection) -> None:
        try:
            one.close()
        except Exception:  # it has failed already
            _ABANDONED.append(one)

    def close(self) -> None:
        """Close all idle connections."""
        idle, self._idle = self._idle, []
        if self._process == os.getpid():
            for one in idle:
                one.close()

    def check_schema(self, remake: Remake) -> None:
        """Refuse what is no ledger or a newer one; bring an older one up to date."""
        version = self.schema_version()
        if version == 0:
            raise LedgerError(f"there is no ledger in {self}: name another, or make one with 'margrave ledger init'")
        if version > len(MIGRATIONS):
            raise LedgerError(
                f"the ledger has schema version {version} and this Margrave knows up to {len(MIGRATIONS)}: "
                "use a newer Margrave"
            )
        if version < len(MIGRATIONS):
            if not self.writable():
                raise LedgerError(
                    f"the ledger has schema version {version}, which can only be brought up to date where it can be "
                    f"written, and {self} cannot: open it, or a copy, there once"
                )
            self.migrate(remake)

    @classmethod
    def migrations(cls, version: int) -> Iterator[str]:
        """The statements from a version of the schema to the newest."""
        for step in MIGRATIONS[version:]:
            for statement in (*step.get("all", ()), *step.get(cls.dialect, ())):
                yield (
                    statement.replace("{bytes}", cls.bytes_type)
                    .replace("{clustered}", cls.clustered)
                    .replace("{integer}", cls.integer_type)
                )


def version_in(rows: Sequence[Sequence[Any]], tables: Iterable[str]) -> int:
    """The version of the schema by the rows of its table, 0 where there are no tables of a ledger at all."""
    if not rows and not set(tables) & {"ledger_schema", "ledger_journal"}:
        return 0
    version = rows[0][0] if len(rows) == 1 else None
    if not isinstance(version, int) or version < 1:
        raise VerificationError(
            "the ledger does not say which version its schema has: its table ledger_schema was removed or changed; "
            "restore it from a backup"
        )
    return version


_ABANDONED: list[Connection] = []
