"""A ledger in a PostgreSQL database. Writers take turns at the journal's end, but wait for the disk together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from margrave.budget.ledger.records import END
from margrave.budget.ledger.store import MIGRATIONS, REMADE, Remake, Session, Store
from margrave.errors import LedgerError

if TYPE_CHECKING:
    import psycopg

WAIT = 60
"""Seconds to wait for a connection or another writer."""
_LOCK = 0x6D617267
_LOCKED = f"SELECT set_config('synchronous_commit', 'off', true) FROM ledger_state WHERE key = '{END}' FOR UPDATE"
_SETTLE = "SELECT pg_logical_emit_message(true, 'margrave', '')"


class PostgresStore(Store):
    """A ledger in the default schema of a database, named by a connection URL, which no message repeats."""

    dialect = "postgresql"
    bytes_type = "BYTEA"
    integer_type = "BIGINT"
    clustered = ""

    def __init__(self, url: str, *, wait: float = WAIT) -> None:
        super().__init__()
        self._url, self.wait = url, wait
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise LedgerError("a ledger in PostgreSQL needs psycopg: pip install 'margrave[postgres]'") from None

    def __str__(self) -> str:
        return "the PostgreSQL database"

    def connect(self) -> psycopg.Connection[Any]:
        import psycopg

        with _errors(self):
            one = psycopg.connect(self._url, autocommit=True, connect_timeout=int(max(2, self.wait)))
        try:
            with _errors(self):
                self._settle(one)
        except BaseException:
            one.close()
            raise
        return one

    def _settle(self, one: psycopg.Connection[Any]) -> None:
        """A commit must mean that it is on disk, whatever the server's defaults."""
        if one.execute("SHOW fsync").fetchone() == ("off",):
            raise LedgerError("the PostgreSQL server runs with fsync = off and may forget charges: switch it on")
        if one.execute("SHOW synchronous_commit").fetchone() == ("off",):
            one.execute("SET synchronous_commit = on")
        one.execute(f"SET lock_timeout = {int(self.wait * 1000)}")
        one.execute("SET client_encoding = 'UTF8'")

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with _errors(self), self.connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield PostgresSession(connection)
            finally:
                _roll_back(connection)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """One writer at a time holds the lock, from `begin` to a commit that does not wait for the disk.

        The wait comes after: an empty transaction that does wait, and with it settles all that was written before, so
        that many writers share one write to the disk. Nobody is told of success before.
        """
        with _errors(self), self.connection() as connection:
            session = PostgresSession(connection)
            try:
                yield session
            except BaseException:
                _roll_back(connection)
                raise
            # Also where nothing was written: what was found, such as an answer, may be another's that waits still.
            with connection.pipeline():
                session.flush()
                connection.execute("COMMIT")
                connection.execute(_SETTLE)

    def schema_version(self) -> int:
        with _errors(self), self.connection() as connection:
            found = connection.execute("SELECT to_regclass('ledger_schema')").fetchone()
            if found is None or found[0] is None:
                return 0
            row = connection.execute("SELECT version FROM ledger_schema").fetchone()
            return 0 if row is None else int(row[0])

    def migrate(self, remake: Remake) -> None:
        with _errors(self), self.connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            there = connection.execute("SELECT to_regclass('ledger_schema')").fetchone()[0]
            if there is None:
                connection.execute("CREATE TABLE ledger_schema (version BIGINT NOT NULL)")
            found = connection.execute("SELECT version FROM ledger_schema").fetchone()
            version = found[0] if found else 0
            for statement in self.migrations(version):
                connection.execute(statement)
            if version < REMADE:
                session = PostgresSession(connection)
                remake(session, version)
                session.flush()
            connection.execute("DELETE FROM ledger_schema")
            connection.execute("INSERT INTO ledger_schema (version) VALUES (%s)", (len(MIGRATIONS),))


class PostgresSession(Session):
    """One transaction of a psycopg connection. Writes are kept back and sent together at the end."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._kept: list[tuple[str, Sequence[Any]]] = []

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        return iter(self._connection.execute(_psycopg(statement), parameters))

    def begin(self, keys: Sequence[str]) -> Sequence[Any]:
        # Each statement sees what was committed when it starts, so the second sees what the lock waited for.
        with self._connection.pipeline():
            self._connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            self._connection.execute(_LOCKED)
            return super().begin(keys)

    def write(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        self._kept.append((statement, parameters))

    def write_now(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        self.flush()
        self._connection.execute(_psycopg(statement), parameters)

    def flush(self) -> None:
        kept, self._kept = self._kept, []
        for statement, parameters in kept:
            self._connection.execute(_psycopg(statement), parameters)


@lru_cache(maxsize=256)
def _psycopg(statement: str) -> str:
    return statement.replace("?", "%s")


def _roll_back(connection: psycopg.Connection[Any]) -> None:
    if not connection.closed and connection.info.transaction_status != 0:
        connection.execute("ROLLBACK")


@contextmanager
def _errors(store: PostgresStore) -> Iterator[None]:
    """psycopg's errors in words that say what to do, without the connection URL."""
    import psycopg

    try:
        yield
    except psycopg.errors.LockNotAvailable:
        raise LedgerError(
            f"the ledger is locked by another program for {store.wait:g} s: nothing was written"
        ) from None
    except psycopg.errors.DiskFull:
        raise LedgerError("the disk of the PostgreSQL server is full: nothing was written") from None
    except psycopg.errors.ReadOnlySqlTransaction:
        raise LedgerError("the PostgreSQL database is read-only: nothing was written") from None
    except psycopg.Error as error:
        first = str(error).strip().partition("\n")[0]
        detail = type(error).__name__ if isinstance(error, psycopg.OperationalError) else first
        raise LedgerError(
            f"{store} cannot be used ({detail}); if this was a commit, ask again to see whether it holds"
        ) from None
