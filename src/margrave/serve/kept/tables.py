"""What the server keeps beside the ledger, in the same store: its own few tables."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from hashlib import sha256
from secrets import token_urlsafe
from time import time

from margrave.errors import LedgerError
from margrave.ledger.ledger import Ledger
from margrave.ledger.stores.store import Transaction

SECRET_BYTES = 32
"""Random bytes in whatever opens a door: no search finds them, so a plain digest of them is enough to keep."""

_SCHEMA: Mapping[str, str] = {
    "server_person": "name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT, disabled BIGINT NOT NULL",
    "server_invitation": "digest TEXT PRIMARY KEY, name TEXT, role TEXT NOT NULL, expires BIGINT NOT NULL",
    "server_login": "digest TEXT PRIMARY KEY, name TEXT NOT NULL, guard TEXT NOT NULL, expires BIGINT NOT NULL",
    "server_token": (
        "id TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT NOT NULL, label TEXT NOT NULL, "
        "scopes TEXT NOT NULL, created BIGINT NOT NULL, expires BIGINT NOT NULL, revoked BIGINT NOT NULL"
    ),
    "server_job": (
        "number {serial}, id TEXT NOT NULL UNIQUE, account TEXT NOT NULL, dataset TEXT NOT NULL, "
        "asked TEXT NOT NULL, digest TEXT NOT NULL, state TEXT NOT NULL, created BIGINT NOT NULL, result {bytes}"
    ),
    "server_release": "id TEXT PRIMARY KEY, dataset TEXT NOT NULL, request TEXT NOT NULL, published BIGINT NOT NULL",
    "server_access": (
        "number {serial}, time BIGINT NOT NULL, who TEXT NOT NULL, address TEXT NOT NULL, "
        "operation TEXT NOT NULL, status BIGINT NOT NULL"
    ),
    "server_collection": "name TEXT PRIMARY KEY, spec TEXT NOT NULL",
    "server_report": (
        "collection TEXT NOT NULL, token TEXT NOT NULL, report TEXT NOT NULL, PRIMARY KEY (collection, token)"
    ),
    "server_opening": (
        "number {serial}, id TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL, spec TEXT NOT NULL, state TEXT NOT NULL, "
        "created BIGINT NOT NULL, told TEXT NOT NULL"
    ),
    "server_source": "name TEXT PRIMARY KEY",
    "server_holder": "name TEXT PRIMARY KEY, holder TEXT NOT NULL, until BIGINT NOT NULL",
}
_SERIAL = {
    "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "postgresql": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
}
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS server_job_waits ON server_job (dataset, number) WHERE state = 'waiting'",
    "CREATE INDEX IF NOT EXISTS server_job_of ON server_job (account) WHERE state = 'waiting'",
    "DROP INDEX IF EXISTS server_job_waiting",  # of an earlier version
)
_GUARDS = {
    "sqlite": tuple(
        f"CREATE TRIGGER IF NOT EXISTS server_access_no_{action.lower()} BEFORE {action} ON server_access "
        "BEGIN SELECT RAISE(ABORT, 'the access log is append-only'); END"
        for action in ("UPDATE", "DELETE")
    ),
    "postgresql": (
        "CREATE OR REPLACE FUNCTION server_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the access log is append-only'; END $$",
        "CREATE OR REPLACE TRIGGER server_access_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON server_access "
        "FOR EACH STATEMENT EXECUTE FUNCTION server_append_only()",
    ),
}


class ServerTables:
    """The server's tables in the store of a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def make(self) -> None:
        """Make the tables that are not there yet."""
        store = self.ledger.store
        if store.dialect not in _SERIAL:
            raise LedgerError("a server needs a ledger in SQLite or PostgreSQL")
        with self.writing() as session:
            for name, columns in _SCHEMA.items():
                told = columns.replace("{serial}", _SERIAL[store.dialect]).replace("{bytes}", store.bytes_type)
                session.write(f"CREATE TABLE IF NOT EXISTS {name} ({told})")
            for statement in (*_INDEXES, *_GUARDS[store.dialect]):
                session.write(statement)

    @property
    def near(self) -> bool:
        """Whether reading waits for nobody."""
        return self.ledger.store.near

    def reading(self) -> AbstractContextManager[Transaction]:
        found: AbstractContextManager[Transaction] = self.ledger.store.reading()
        return found

    def writing(self, *, settled: bool = True) -> AbstractContextManager[Transaction]:
        """``settled``: whether it is on disk when the context is left."""
        found: AbstractContextManager[Transaction] = self.ledger.store.beside(settled=settled)
        return found


def now() -> int:
    """Seconds since 1970."""
    return int(time())


def moment(seconds: int) -> str:
    """A time as text, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def new_secret(prefix: str = "") -> str:
    """Text that nobody can guess."""
    return prefix + token_urlsafe(SECRET_BYTES)


def digest(secret: str) -> str:
    """What is kept of a secret."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()
