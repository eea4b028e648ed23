"""Tables in databases: what all have in common. Read only, streamed, one table or view each.

They are named in the same way, ``survey.duckdb?table=people`` and ``postgresql://user@host/db?table=people``. A URL can
hold a password, and drivers repeat it in their errors: no URL is ever shown, and no driver's error is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from margrave.errors import UsageError
from margrave.measure.failures import guarded
from margrave.measure.sources.batches import ROWS
from margrave.planning.forecast.engines import Costs

_PART = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))(?:\.|$)')

_COLLATED = (b"text", b"varchar", b"bpchar", b"name")

Run = Callable[[str], pa.RecordBatchReader]
"""Runs one query, as a stream that must end before the next."""
Connect = Callable[[], AbstractContextManager[Run]]
"""A connection of which every query sees the table as it was at the first, and which can change nothing."""


@dataclass(frozen=True)
class DatabaseField:
    """A column in SQL: its quoted ``name``, the ``expression`` that is read, and its type as Arrow has it.

    Types that Arrow does not know are read as text; ``numeric`` are those that hold numbers of any precision. A
    ``collated`` one can have rules of its own by which two texts are the same.
    """

    name: str
    expression: str
    arrow: pa.DataType
    numeric: bool = False
    collated: bool = False

    @property
    def exact(self) -> bool:
        """Whether it holds decimal numbers."""
        return self.numeric or pa.types.is_decimal(self.arrow)

    @property
    def compared(self) -> str:
        """The expression, of which only equal bytes are equal."""
        return f'{self.expression} COLLATE "C"' if self.collated else self.expression


@dataclass(frozen=True)
class Database:
    """One table or view. ``fields`` are its columns by name, ``table`` its own name in SQL.

    Queries are written as PostgreSQL and DuckDB both read them; ``dialect`` is what sqlglot calls the SQL of a database
    that reads them otherwise.
    """

    columns: tuple[str, ...]
    fields: Mapping[str, DatabaseField] = field(repr=False)
    table: str = field(repr=False)
    connect: Connect = field(repr=False)
    trouble: str = field(repr=False)
    costs: Costs = field(repr=False)
    total: int | None = None
    dialect: str = ""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = [self.fields[name] for name in (columns or self.columns[:1])]
        chosen = ", ".join(f"{one.expression} AS {one.name}" for one in wanted)
        with ExitStack() as stack:
            run = guarded(lambda: stack.enter_context(self.connect()), self.trouble)
            yield from self.answers(run, f"SELECT {chosen} FROM {self.table}")

    def answers(self, run: Run, query: str) -> Iterator[pa.RecordBatch]:
        """What a query of a connection gives, in batches; a driver's error says nothing of its own."""
        reader = guarded(lambda: run(in_dialect(query, self.dialect)), self.trouble)
        while (batch := guarded(lambda: next(reader, None), self.trouble)) is not None:
            yield from (batch.slice(start, ROWS) for start in range(0, batch.num_rows, ROWS))


def in_dialect(query: str, dialect: str) -> str:
    """A query in the SQL of another database; names keep their case, since they are quoted."""
    if not dialect:
        return query
    try:
        import sqlglot
    except ImportError:
        raise missing("a database with SQL of its own", "sql") from None
    return str(sqlglot.transpile(query, read="postgres", write=dialect)[0])


def missing(what: str, extra: str) -> UsageError:
    """The drivers are optional, and are loaded only when a source needs them."""
    return UsageError(f"reading {what} needs another package: pip install 'margrave[{extra}]'")


def table_of(query: str, form: str) -> tuple[str, list[str]]:
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


def opened(connect: Connect, table: str, trouble: str, costs: Costs, dialect: str = "") -> Database:
    """A table whose columns alone are asked for."""

    def schema() -> pa.Schema:
        with connect() as run:
            return run(in_dialect(f"SELECT * FROM {table} LIMIT 0", dialect)).schema

    found = guarded(schema, trouble)
    fields = {one.name: _field(one) for one in found}
    return Database(tuple(found.names), fields, table, connect, trouble, costs, dialect=dialect)


def _field(column: pa.Field) -> DatabaseField:
    """A column in SQL: types that Arrow does not know as text, numbers of any precision without trailing zeros."""
    name = _quoted(column.name)
    if not isinstance(column.type, pa.BaseExtensionType):
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        kind = (column.metadata or {}).get(b"POSTGRESQL:type", b"text")
        return DatabaseField(name, name, column.type, collated=text and kind in _COLLATED)
    if getattr(column.type, "type_name", "") == "numeric":
        return DatabaseField(name, f"trim_scale({name})::text", column.type, numeric=True)
    return DatabaseField(name, f"{name}::text", column.type)


def quietly(close: Callable[[], Any]) -> None:
    """Closing in the middle of a stream may fail, and says nothing that matters any more."""
    with suppress(Exception):
        close()
