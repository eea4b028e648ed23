"""A ledger in one SQLite file: write-ahead log, every commit settled on disk before it counts."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from margrave.errors import LedgerError, MargraveError, VerificationError
from margrave.files.temporary import settle_folder, temporary_folder
from margrave.ledger.stores.form import Form, as_made, check_forms, sqlite_forms
from margrave.ledger.stores.mounts import network_file_system
from margrave.ledger.stores.store import DROPPED, MIGRATIONS, REMADE, Remake, Store, Transaction, version_in

WAIT = 60.0
"""Seconds to wait for another writer."""
_LOG_PAGES = 4000
_MAGIC = b"SQLite format 3\x00"
_UNFINISHED = ".margrave-ledger-"
_EXISTS = "{} exists already: a ledger is never written over anything"
_FEW_FREE = "the disk is full: make room and try again; nothing was written"


class SqliteStore(Store):
    """A ledger file. It must be on a local disk: locks do not hold on network file systems.

    Where it cannot be written it can still be read. SQLite then asks for its log and an index beside it, which nobody
    can make there, or for the word that the file never changes. That word is given only where there is no log, and it
    is kept: if the file turns out to have changed meanwhile, what was read is thrown away.
    """

    dialect = "sqlite"
    near = True
    bytes_type = "BLOB"
    integer_type = "INTEGER"
    clustered = " WITHOUT ROWID"

    def __init__(self, path: Path, *, create: bool = False, wait: float = WAIT) -> None:
        super().__init__()
        self.path, self.wait, self._new = path, wait, create
        self._file = path.absolute()
        with _path_errors(path):
            kind = network_file_system(self._file)
            if kind is not None:
                raise LedgerError(
                    f"{path} is on a network file system ({kind}), where locks cannot be trusted: keep the ledger on "
                    "a local disk, or in PostgreSQL"
                )
            if create:
                self._check_free()
            elif not path.is_file():
                what = "that is no ordinary file" if os.path.lexists(path) else "there is no such file"
                raise LedgerError(f"there is no ledger {path} ({what}): make one with 'margrave ledger init'")
            self._writable = create or _may_write(self._file)

    def __str__(self) -> str:
        return str(self.path)

    def _check_free(self) -> None:
        if os.path.lexists(self.path):
            raise LedgerError(_EXISTS.format(self.path))
        if not self._file.parent.is_dir():
            raise LedgerError(f"{self.path.parent} is not a folder: make it first")
        if _beside(self._file):
            # SQLite would take it for the new ledger's own.
            raise LedgerError(f"beside {self.path} lies the log of another ledger: move it away, or name another file")

    @contextmanager
    def made(self) -> Iterator[None]:
        """A new ledger is made in a folder beside its place, and put there when it is whole."""
        place = self._file
        with _path_errors(self.path), temporary_folder(place.parent, _UNFINISHED) as folder:
            self._file = folder / place.name
            try:
                yield
            finally:
                self.close()
                whole, self._file, self._new = self._file, place, False
            if _beside(whole):
                raise LedgerError(f"{self}: {_FEW_FREE}")
            _put(whole, place)
            settle_folder(place.parent)

    def writable(self) -> bool:
        return self._writable

    def connect(self) -> sqlite3.Connection:
        with _errors(self), _path_errors(self.path):
            if self._new and not self._file.exists():
                _make_empty(self._file)
            one = self._connected("mode=rw")
            try:
                mode = one.execute("PRAGMA journal_mode").fetchone()[0]
                # A file that is no ledger stays as it is.
                if mode != "wal" and (self._new or _names(one.execute)):
                    mode = one.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                    if mode != "wal":
                        raise LedgerError(f"{self.path} cannot keep a write-ahead log here: use a local, writable disk")
                one.execute("PRAGMA synchronous=FULL")
                one.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
            except BaseException:
                one.close()
                raise
            return one

    def _connected(self, options: str) -> sqlite3.Connection:
        # By a URI, since SQLite may be built to take a path that looks like one, such as file:x, for one.
        address = f"{self._file.as_uri()}?{options}"
        return sqlite3.connect(address, timeout=self.wait, isolation_level=None, check_same_thread=False, uri=True)

    @contextmanager
    def connection(self) -> Iterator[Any]:
        chosen = super().connection() if self._writable else self._read_only()
        with _errors(self), chosen as one:
            yield one

    @contextmanager
    def _read_only(self) -> Iterator[sqlite3.Connection]:
        """A connection that writes nothing at all; where it takes the file to stay as it is, it did."""
        logged, before = _beside(self._file), _stamp(self._file)
        one = self._connected("mode=ro" if logged else "mode=ro&immutable=1")
        try:
            yield one
        finally:
            one.close()
            if not logged and (_beside(self._file) or _stamp(self._file) != before):
                raise LedgerError(f"somebody else wrote to {self} while it was read here: try again") from None

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self.connection() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteTransaction(connection)
            finally:
                connection.execute("ROLLBACK")

    def writing(self) -> AbstractContextManager[Transaction]:
        return self._writing()

    @contextmanager
    def _writing(self, synchronous: str = "FULL") -> Iterator[Transaction]:
        if not self._writable:
            raise LedgerError(f"{self} and its folder must be writable: nothing was written")
        connection: Any = self._take()
        try:
            connection.execute(f"PRAGMA synchronous={synchronous}")  # Whatever its last user wanted.
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteTransaction(connection)
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

    @contextmanager
    def beside(self, *, settled: bool = True) -> Iterator[Transaction]:
        # The log is written in order: what is not settled now is so with the next that is, or is lost with all after.
        with self._writing("FULL" if settled else "NORMAL") as session:
            yield session

    def schema_version(self) -> int:
        with self.connection() as connection:
            return _version(connection.execute)

    def migrate(self, remake: Remake) -> None:
        with self.writing() as session:
            version = _version(session.rows)
            session.write("CREATE TABLE IF NOT EXISTS ledger_schema (version BIGINT NOT NULL)")
            for statement in self.migrations(version):
                session.write(statement)
            if version < REMADE:
                remake(session, version)
            session.write("DELETE FROM ledger_schema")
            session.write("INSERT INTO ledger_schema (version) VALUES (?)", (len(MIGRATIONS),))

    def check(self) -> None:
        with self.connection() as connection:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise VerificationError(f"{self.path} is damaged: {found}")
            made = tables_as_made()
            check_forms(sqlite_forms(connection), made, {name: form.guards for name, form in made.items()})


class SqliteTransaction(Transaction):
    """One transaction of a SQLite connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        return self._connection.execute(statement, parameters)

    def write(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        self._connection.execute(statement, parameters)


def is_sqlite(path: str | Path) -> bool:
    """Whether a file begins as every file of SQLite does, whatever its name is."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def tables_as_made() -> dict[str, Form]:
    """The tables of a new ledger of the newest version."""
    made = as_made(["CREATE TABLE ledger_schema (version BIGINT NOT NULL)", *SqliteStore.migrations(0)])
    return {name: form for name, form in made.items() if name not in DROPPED}


def _names(run: Callable[..., Any]) -> list[str]:
    """What is there under names like those of a ledger's tables."""
    return [name for (name,) in run("SELECT name FROM sqlite_master WHERE name LIKE 'ledger%'")]


def _version(run: Callable[..., Any]) -> int:
    tables = _names(run)
    return version_in(list(run("SELECT version FROM ledger_schema")) if "ledger_schema" in tables else (), tables)


def _make_empty(path: Path) -> None:
    """Only its owner reads a ledger: it names people and holds answers that may not be public yet."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise LedgerError(_EXISTS.format(path)) from None


def _put(whole: Path, place: Path) -> None:
    """Give a file its place, unless something is there."""
    try:
        os.link(whole, place)
    except FileExistsError:
        raise LedgerError(_EXISTS.format(place)) from None
    except OSError:  # a file system without links: whoever makes the name first has it
        _make_empty(place)
        whole.replace(place)


def _may_write(path: Path) -> bool:
    place = path.resolve()
    return os.access(place, os.W_OK) and os.access(place.parent, os.W_OK | os.X_OK)


def _beside(path: Path) -> bool:
    """Whether SQLite keeps something that belongs to a file beside it: others are at work on it, or were stopped."""
    place = path.resolve()
    return any(place.with_name(f"{place.name}-{kind}").exists() for kind in ("wal", "journal"))


def _stamp(path: Path) -> tuple[int, ...]:
    """What is different once a file has been written to."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _path_errors(path: Path) -> Iterator[None]:
    """A path that cannot be used: too long, in a folder that may not be entered or written to, on a full disk."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LedgerError(f"{path} cannot be written, or not even read ({reason}); nothing was written") from None


@contextmanager
def _errors(store: SqliteStore) -> Iterator[None]:
    """SQLite's errors in words that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(store, error) from None


def _translated(store: SqliteStore, error: sqlite3.Error) -> LedgerError | VerificationError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")) and not store.writable():
        return LedgerError(
            f"{store} has a log beside it that was not moved into the file, and cannot be read without writing here: "
            "copy the file together with its log to a folder where you can write, and open it there"
        )
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
