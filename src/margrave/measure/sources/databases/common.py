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

_PART = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))(?:\.|$)')

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


def opened(run: Run, table: str, trouble: str) -> Database:
    """A table whose columns alone are asked for."""

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


def quietly(close: Callable[[], Any]) -> None:
    """Closing in the middle of a stream may fail, and says nothing that matters any more."""
    with suppress(Exception):
        close()
