"""A ledger in one SQLite file: write-ahead log, every commit settled on disk before it counts."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from margrave.budget.ledger.mounts import network_file_system
from margrave.budget.ledger.store import MIGRATIONS, REMADE, Remake, Session, Store
from margrave.errors import LedgerError, MargraveError, VerificationError

WAIT = 60.0
"""Seconds to wait for another writer."""
_LOG_PAGES = 4000
_FEW_FREE = "the disk is full: make room and try again; nothing was written"


class SqliteStore(Store):
    """A ledger file. It must be on a local disk: locks do not hold on network file systems."""

    dialect = "sqlite"
    bytes_type = "BLOB"
    integer_type = "INTEGER"
    clustered = " WITHOUT ROWID"

    def __init__(self, path: Path, *, create: bool = False, wait: float = WAIT) -> None:
        super().__init__()
        self.path, self.wait = path, wait
        kind = network_file_system(path.absolute())
        if kind is not None:
            raise LedgerError(
                f"{path} is on a network file system ({kind}), where locks cannot be trusted: keep the ledger on a "
                "local disk, or in PostgreSQL"
            )
        if create:
            self._create()
        elif not path.is_file():
            raise LedgerError(f"there is no ledger {path}: make one with 'margrave ledger init'")

    def __str__(self) -> str:
        return str(self.path)

    def _create(self) -> None:
        if os.path.lexists(self.path):
            raise LedgerError(f"{self.path} exists already: a ledger is never written over anything")
        if not self.path.absolute().parent.is_dir():
            raise LedgerError(f"{self.path.parent} is not a folder: make it first")
        try:
            # Only its owner reads a ledger: it names people and holds answers that may not be public yet.
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be written ({error.strerror or error})") from None

    def connect(self) -> sqlite3.Connection:
        with _errors(self):
            one = sqlite3.connect(self.path, timeout=self.wait, isolation_level=None, check_same_thread=False)
            try:
                mode = one.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                one.execute("PRAGMA synchronous=FULL")
                one.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
                if mode != "wal":
                    raise LedgerError(f"{self.path} cannot keep a write-ahead log here: use a local, writable disk")
            except BaseException:
                one.close()
                raise
            return one

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with _errors(self), self.connection() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteSession(connection)
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[Session]:
        connection: Any = self._take()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteSession(connection)
            connection.execute("COMMIT")
        except MargraveError:
            with _errors(self):
                connection.execute("ROLLBACK")
            self._keep(connection)
            raise
        except BaseException as error:
            self._discard(connection)
            if isinstance(error, sqlite3.Error):
                raise _translated(self, error) from None
            raise
        self._keep(connection)

    def schema_version(self) -> int:
        with _errors(self), self.connection() as connection:
            found = connection.execute("SELECT name FROM sqlite_master WHERE name = 'ledger_schema'").fetchone()
            return 0 if found is None else int(connection.execute("SELECT version FROM ledger_schema").fetchone()[0])

    def migrate(self, remake: Remake) -> None:
        with self.writing() as session:
            session.write("CREATE TABLE IF NOT EXISTS ledger_schema (version BIGINT NOT NULL)")
            ((version,),) = session.rows("SELECT coalesce(max(version), 0) FROM ledger_schema")
            for statement in self.migrations(version):
                session.write(statement)
            if version < REMADE:
                remake(session, version)
            session.write("DELETE FROM ledger_schema")
            session.write("INSERT INTO ledger_schema (version) VALUES (?)", (len(MIGRATIONS),))

    def check_pages(self) -> None:
        """Have SQLite look for damage in its own structures."""
        with _errors(self), self.connection() as connection:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise VerificationError(f"{self.path} is damaged: {found}")


class SqliteSession(Session):
    """One transaction of a SQLite connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        return self._connection.execute(statement, parameters)

    def write(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        self._connection.execute(statement, parameters)


@contextmanager
def _errors(store: SqliteStore) -> Iterator[None]:
    """SQLite's errors in words that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(store, error) from None


def _translated(store: SqliteStore, error: sqlite3.Error) -> LedgerError | VerificationError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LedgerError(f"{store} is locked by another program for {store.wait:g} s: nothing was written, try again")
    if name.startswith("SQLITE_FULL"):
        return LedgerError(f"{store}: {_FEW_FREE}")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return LedgerError(f"{store} and its folder must be writable: {error}; nothing was written")
    if name.startswith("SQLITE_IOERR"):
        return LedgerError(
            f"{store} cannot be read or written ({error}): the disk may be full or failing; nothing was written"
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return VerificationError(
            f"{store} is damaged or cut short, or is not a ledger ({error}): restore it from a backup"
        )
    return LedgerError(f"{store} cannot be used: {error}")
