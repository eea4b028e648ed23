"""Where a ledger is kept: what every store can do, and the tables that all of them have."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Protocol

from margrave.errors import LedgerError, MargraveError

CHUNK = 1 << 23
"""Stored answers are cut into pieces of so many bytes, which every store can hold."""

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
)
"""Version n of the schema is reached by the first n of these. They are only ever added to."""


_LAST = (
    " UNION ALL SELECT '#' || number, hash FROM ledger_journal WHERE number = (SELECT max(number) FROM ledger_journal)"
)


def _select(count: int) -> str:
    """A query for so many records."""
    return f"SELECT key, value FROM ledger_state WHERE key IN ({', '.join('?' * count)})"


def _upsert(count: int) -> str:
    """A statement that writes so many records."""
    pairs = ", ".join(["(?, ?)"] * count)
    update = "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    return f"INSERT INTO ledger_state (key, value) VALUES {pairs} {update}"


class Connection(Protocol):
    """What sqlite3 and psycopg connections have in common."""

    def execute(self, statement: str, parameters: Any = ..., /) -> Any: ...

    def close(self) -> None: ...


class Session(ABC):
    """One transaction: everything it reads is of one moment, everything it writes is there as a whole or not at all."""

    @abstractmethod
    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows that a query, with ``?`` for parameters, finds."""

    @abstractmethod
    def write(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement that finds nothing, now or when the transaction ends."""

    def state(self, keys: Iterable[str]) -> Mapping[str, str]:
        """The records under some keys, where there are such."""
        wanted = list(keys)
        return dict(self.rows(_select(len(wanted)), wanted))

    def ends(self, keys: Sequence[str]) -> Any:
        """A query for the records under some keys and, under the key ``#number``, the hash of the last entry."""
        return self.rows(_select(len(keys)) + _LAST, keys)

    def begin(self, keys: Sequence[str]) -> tuple[dict[str, str], tuple[int, str] | None]:
        """The records under some keys, and the number and hash of the last entry, as they stand when writing begins."""
        found = dict(self.ends(keys))
        last = next((key for key in found if key.startswith("#")), None)
        return found, None if last is None else (int(last[1:]), found.pop(last))

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

    def bundle(self, digest: str) -> bytes:
        """A stored answer; empty where there is none, or where something else stands in its place."""
        statement = "SELECT content FROM ledger_bundle WHERE digest = ? ORDER BY part"
        parts = [content for (content,) in self.rows(statement, (digest,))]
        return b"".join(parts) if all(isinstance(part, bytes) for part in parts) else b""

    def append(self, row: Row, state: Mapping[str, str], bundle: tuple[str, bytes] | None = None) -> None:
        """Add an entry, what it does to the state, and the answer that it commits."""
        self.write("INSERT INTO ledger_journal (number, entry, hash) VALUES (?, ?, ?)", row)
        self.write(_upsert(len(state)), [*chain(*state.items())])
        if bundle is not None:
            digest, content = bundle
            insert = "INSERT INTO ledger_bundle (digest, part, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            for part, start in enumerate(range(0, max(1, len(content)), CHUNK)):
                self.write(insert, (digest, part, content[start : start + CHUNK]))


class Store(ABC):
    """A place for a ledger. Connections are kept for the next use, and are never shared by two threads or processes."""

    dialect: str
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
    def schema_version(self) -> int:
        """The version of the schema that is there, 0 for none."""

    @abstractmethod
    def migrate(self) -> None:
        """Bring the schema to the newest version."""

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
        with self._lock:
            self._idle.append(one)

    def _take(self) -> Connection:
        with self._lock:
            if self._process != os.getpid():
                # Connections made before a fork belong to the parent: using or closing them here would harm it.
                _ABANDONED.extend(self._idle)
                self._idle, self._process = [], os.getpid()
            if self._idle:
                return self._idle.pop()
        return self.connect()

    def _discard(self, one: Connection) -> None:
        try:
            one.close()
        except Exception:  # it has failed already
            _ABANDONED.append(one)

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        if self._process == os.getpid():
            for one in idle:
                one.close()

    def check_schema(self) -> None:
        """Refuse what is no ledger or a newer one; bring an older one up to date."""
        version = self.schema_version()
        if version == 0:
            raise LedgerError(f"there is no ledger in {self}: make one with 'margrave ledger init'")
        if version > len(MIGRATIONS):
            raise LedgerError(
                f"the ledger has schema version {version} and this Margrave knows up to {len(MIGRATIONS)}: "
                "use a newer Margrave"
            )
        if version < len(MIGRATIONS):
            self.migrate()

    def migrations(self, version: int) -> Iterator[str]:
        """The statements from a version of the schema to the newest."""
        for step in MIGRATIONS[version:]:
            for statement in (*step.get("all", ()), *step.get(self.dialect, ())):
                yield (
                    statement.replace("{bytes}", self.bytes_type)
                    .replace("{clustered}", self.clustered)
                    .replace("{integer}", self.integer_type)
                )


_ABANDONED: list[Connection] = []
