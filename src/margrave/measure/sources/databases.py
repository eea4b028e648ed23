"""Tables in databases: a DuckDB file, or PostgreSQL by URL. Read only, streamed, one table or view each.

Both are named in the same way, ``survey.duckdb?table=people`` and ``postgresql://user@host/db?table=people``. A URL can
hold a password, and drivers repeat it in their errors: no URL is ever shown, and no driver's error is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from margrave.errors import DataError, UsageError
from margrave.measure.failures import guarded
from margrave.measure.sources.files import ROWS

DUCKDB = (".duckdb", ".ddb")
SCHEMES = ("postgresql://", "postgres://")

_PART = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))(?:\.|$)')
_BATCH_BYTES = str(1 << 22)
_READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_PLAIN_DUCKDB = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}

Run = Callable[[str], AbstractContextManager[pa.RecordBatchReader]]
"""Runs one query in a read-only transaction of its own, as a stream that ends with the context."""


@dataclass(frozen=True)
class Database:
    """One table or view. ``expressions`` are its columns in SQL."""

    columns: tuple[str, ...]
    expressions: Mapping[str, str] = field(repr=False)
    table: str = field(repr=False)
    run: Run = field(repr=False)
    trouble: str = field(repr=False)
    total: int | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = list(columns) or list(self.columns[:1])
        query = f"SELECT {', '.join(self.expressions[name] for name in wanted)} FROM {self.table}"
        with ExitStack() as stack:
            reader = guarded(lambda: stack.enter_context(self.run(query)), self.trouble)
            while (batch := guarded(lambda: next(reader, None), self.trouble)) is not None:
                yield from (batch.slice(start, ROWS) for start in range(0, batch.num_rows, ROWS))


def is_duckdb(data: str) -> bool:
    """Whether a source names a DuckDB file, with or without its table."""
    return Path(data.partition("?")[0]).suffix.lower() in DUCKDB


def open_duckdb(data: str, base: Path) -> Database:
    """The table of a DuckDB file; reads its columns alone."""
    name, _, query = data.partition("?")
    path = base / name
    table, others = _table(query, "survey.duckdb?table=people")
    if others:
        raise UsageError("a DuckDB file takes ?table= and nothing else, as in survey.duckdb?table=people")
    if not path.is_file():
        raise DataError(f"{path} does not exist")
    _check_driver("duckdb", "a DuckDB file")
    trouble = (
        f"{path} cannot be read as DuckDB: check the name of the table, that no other program has the file open for "
        "writing, and that it was written by a version no newer than the installed one"
    )
    return _opened(lambda sql: _run_duckdb(path, sql), table, trouble)


def open_postgres(url: str) -> Database:
    """The table behind a PostgreSQL URL; asks for its columns alone."""
    place, _, query = url.partition("?")
    table, others = _table(query, "postgresql://user@host/db?table=people")
    _check_driver("adbc_driver_postgresql", "PostgreSQL")
    trouble = (
        "PostgreSQL cannot be read: check host, database, user and table in the URL of the data source, that the user "
        "may read the table, and the password (better in a password file or PGPASSWORD than in the URL)"
    )
    address = "?".join(filter(None, [place, "&".join(others)]))
    return _opened(lambda sql: _run_postgres(address, sql), table, trouble)


def _check_driver(module: str, what: str) -> None:
    """The drivers are optional, and are loaded only when a source needs them."""
    try:
        if module == "duckdb":
            import duckdb  # noqa: F401
        else:
            import adbc_driver_postgresql.dbapi  # noqa: F401
    except ImportError:
        extra = "duckdb" if module == "duckdb" else "postgres"
        raise UsageError(f"reading {what} needs another package: pip install 'margrave[{extra}]'") from None


def _table(query: str, form: str) -> tuple[str, list[str]]:
    """The table as quoted SQL, and the other parameters of the query part as they are."""
    given = [part for part in query.split("&") if part]
    names = [unquote(part.removeprefix("table=")) for part in given if part.startswith("table=")]
    if len(names) != 1:
        raise UsageError(f"a database needs one table (or view): name it as in {form}")
    parts = [quoted.replace('""', '"') or plain for quoted, plain in _PART.findall(names[0])]
    if not parts or not re.fullmatch(f"(?:{_PART.pattern})+", names[0]) or names[0].endswith("."):
        raise UsageError('the table of a database is written people, schema.people or "My schema"."People"')
    return ".".join(map(_quoted, parts)), [part for part in given if not part.startswith("table=")]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _opened(run: Run, table: str, trouble: str) -> Database:
    def schema() -> pa.Schema:
        with run(f"SELECT * FROM {table} LIMIT 0") as reader:
            return reader.schema

    fields = guarded(schema, trouble)
    return Database(tuple(fields.names), {one.name: _expression(one) for one in fields}, table, run, trouble)


def _expression(column: pa.Field) -> str:
    """A column in SQL: types that Arrow does not know as text, numbers of any precision without trailing zeros."""
    name = _quoted(column.name)
    if not isinstance(column.type, pa.BaseExtensionType):
        return name
    if getattr(column.type, "type_name", "") == "numeric":
        return f"trim_scale({name})::text AS {name}"
    return f"{name}::text AS {name}"


@contextmanager
def _run_duckdb(path: Path, query: str) -> Iterator[pa.RecordBatchReader]:
    import duckdb

    connection = duckdb.connect(str(path), read_only=True, config=dict(_PLAIN_DUCKDB))
    with ExitStack() as stack:
        stack.callback(_quietly, connection.close)
        yield pa.RecordBatchReader.from_stream(connection.sql(query))


@contextmanager
def _run_postgres(url: str, query: str) -> Iterator[pa.RecordBatchReader]:
    from adbc_driver_postgresql import StatementOptions, dbapi

    with ExitStack() as stack:
        connection = dbapi.connect(url)
        stack.callback(_quietly, connection.close)
        with connection.cursor() as first:
            first.executescript(_READ_ONLY)
        options = {StatementOptions.BATCH_SIZE_HINT_BYTES.value: _BATCH_BYTES}
        cursor = connection.cursor(adbc_stmt_kwargs=options)
        stack.callback(_quietly, cursor.close)
        cursor.execute(query)
        yield cursor.fetch_record_batch()


def _quietly(close: Callable[[], Any]) -> None:
    """Closing in the middle of a stream may fail, and says nothing that matters any more."""
    with suppress(Exception):
        close()
