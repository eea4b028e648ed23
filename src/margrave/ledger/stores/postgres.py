"""A ledger in a PostgreSQL database. Writers take turns at the journal's end, but wait for the disk together."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from margrave.errors import LedgerError
from margrave.ledger.records import END
from margrave.ledger.stores.form import Form, check_forms
from margrave.ledger.stores.sqlite import tables_as_made
from margrave.ledger.stores.store import MIGRATIONS, REMADE, Remake, Store, Transaction, version_in

if TYPE_CHECKING:
    import psycopg

WAIT = 60
"""Seconds to wait for a connection or another writer."""
_LOCK = 0x6D617267
_LOCKED = f"SELECT set_config('synchronous_commit', 'off', true) FROM ledger_state WHERE key = '{END}' FOR UPDATE"
_SETTLE = "SELECT pg_logical_emit_message(true, 'margrave', '')"
_THERE = "SELECT to_regclass(%s)::text"
_KIND = """
    SELECT oid, CASE
        WHEN relkind <> 'r' THEN CASE relkind WHEN 'v' THEN 'view' ELSE 'thing of kind ' || relkind::text END
        WHEN relpersistence <> 'p' THEN 'table that a crash empties'
        WHEN relrowsecurity THEN 'table that hides rows'
        WHEN EXISTS (SELECT FROM pg_rewrite WHERE ev_class = c.oid) THEN 'table with rewriting rules'
        WHEN EXISTS (SELECT FROM pg_inherits WHERE c.oid IN (inhparent, inhrelid)) THEN 'table with heirs or parents'
        ELSE 'table' END
    FROM pg_class c WHERE oid = to_regclass(%s)
"""
_COLUMNS = """
    SELECT attname, attnotnull, array_position(
        (SELECT indkey FROM pg_index WHERE indrelid = attrelid AND indisprimary AND indisvalid)::int2[], attnum
    ) + 1
    FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
"""
_TRIGGERS = """
    SELECT tgname, tgenabled::text || ' ' || tgtype::text || ' ' || prosrc
    FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid WHERE tgrelid = %s AND NOT tgisinternal
"""
_BEFORE_CHANGE = 2 | 8 | 16 | 32
"""In the catalogue: before each statement that deletes, updates or truncates."""
_GUARDS = {"ledger_journal_append_only": f"O {_BEFORE_CHANGE} BEGIN RAISE EXCEPTION 'the journal is append-only'; END"}


class PostgresStore(Store):
    """A ledger in the default schema of a database, named by a connection URL, which no message repeats."""

    dialect = "postgresql"
    near = False
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
        log = logging.getLogger("psycopg")
        if not log.handlers:
            # Its warnings about a broken connection are for those who ask for logs, not for everybody's terminal.
            log.addHandler(logging.NullHandler())

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
    def reading(self) -> Iterator[Transaction]:
        with _errors(self), self.connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield PostgresTransaction(connection)
            finally:
                _roll_back(connection)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """One writer at a time holds the lock, from `begin` to a commit that does not wait for the disk.

        The wait comes after: an empty transaction that does wait, and with it settles all that was written before, so
        that many writers share one write to the disk. Nobody is told of success before.
        """
        with _errors(self), self.connection() as connection:
            session = PostgresTransaction(connection)
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

    @contextmanager
    def beside(self, *, settled: bool = True) -> Iterator[Transaction]:
        with _errors(self), self.connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            if not settled:
                connection.execute("SET LOCAL synchronous_commit = off")
            session = PostgresTransaction(connection)
            try:
                yield session
                session.flush()
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise

    def schema_version(self) -> int:
        with _errors(self), self.connection() as connection:
            return _version(connection)

    def writable(self) -> bool:
        allowed = "has_table_privilege('ledger_journal', 'INSERT')"
        with _errors(self), self.connection() as connection:
            query = f"SELECT current_setting('transaction_read_only') = 'off' AND {allowed}"
            return bool(connection.execute(query).fetchone()[0])

    def migrate(self, remake: Remake) -> None:
        with _errors(self), self.connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            version = _version(connection)
            if version == 0:
                connection.execute("CREATE TABLE ledger_schema (version BIGINT NOT NULL)")
            for statement in self.migrations(version):
                connection.execute(statement)
            if version < REMADE:
                session = PostgresTransaction(connection)
                remake(session, version)
                session.flush()
            connection.execute("DELETE FROM ledger_schema")
            connection.execute("INSERT INTO ledger_schema (version) VALUES (%s)", (len(MIGRATIONS),))

    def check(self) -> None:
        with _errors(self), self.connection() as connection:
            made = tables_as_made()
            found = {name: form for name in made if (form := _form(connection, name)) is not None}
            check_forms(found, made, {"ledger_journal": _GUARDS})


class PostgresTransaction(Transaction):
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


def _version(connection: psycopg.Connection[Any]) -> int:
    names = ("ledger_schema", "ledger_journal")
    tables = [name for name in names if connection.execute(_THERE, (name,)).fetchone() != (None,)]
    there = "ledger_schema" in tables
    return version_in(connection.execute("SELECT version FROM ledger_schema").fetchall() if there else (), tables)


def _form(connection: psycopg.Connection[Any], name: str) -> Form | None:
    """A table as the catalogue describes it; None if there is none."""
    found = connection.execute(_KIND, (name,)).fetchone()
    if found is None:
        return None
    table, kind = found
    columns = connection.execute(_COLUMNS, (table,)).fetchall()
    key = sorted((place, column) for column, _, place in columns if place)
    guards = {guard: " ".join(text.split()) for guard, text in connection.execute(_TRIGGERS, (table,))}
    return Form(kind, {column: must for column, must, _ in columns}, tuple(column for _, column in key), guards)


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
    except psycopg.errors.InsufficientPrivilege as error:
        what = error.diag.message_primary
        raise LedgerError(f"this user of PostgreSQL may not do that ({what}); nothing was written") from None
    except psycopg.errors.SerializationFailure:
        raise LedgerError("the PostgreSQL server broke the reading off, for changes that wait: try again") from None
    except psycopg.OperationalError as error:
        # Its text may repeat the connection URL.
        raise LedgerError(
            f"{store} cannot be reached, or the connection broke ({type(error).__name__}): see that the server runs "
            "and that host, database, user and password are right; if this was a commit, ask again to see whether it "
            "holds"
        ) from None
    except psycopg.Error as error:
        first = str(error).strip().partition("\n")[0]
        raise LedgerError(
            f"{store} cannot be used ({first}); if this was a commit, ask again to see whether it holds"
        ) from None
