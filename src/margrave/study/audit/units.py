"""Made-up units of a data set for questions, and the neighbouring data sets that they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING

from margrave.budget.numbers import exact_text
from margrave.noise import Generator
from margrave.planning.questions.data_spec import ColumnSpec, DataSpec, TableSpec
from margrave.planning.questions.kinds import Kind, Numbers, Values, size_of
from margrave.spec.codebook import Categories, CodebookEntry

if TYPE_CHECKING:
    import pandas as pd

CORNERS = 8
MIXED = 6
_MOST_BEYOND = 100
"""Rows beyond its bound that the audited unit brings, at most."""

Codes = tuple[int | None, ...]
Unit = Mapping[str, Sequence[Codes]]
"""The rows of a unit in each table: a whole number, or nothing, for each column."""


def as_declared(spec: DataSpec) -> DataSpec:
    """The same columns, with values that are written as they are declared: recoding is not audited."""
    return replace(spec, tables=tuple(map(_plain, spec.tables)))


def _plain(table: TableSpec) -> TableSpec:
    columns = tuple(
        replace(one, entry=CodebookEntry(one.name, Categories(one.kind.values)))
        if isinstance(one.kind, Values)
        else replace(one, entry=None)
        for one in table.columns
    )
    return replace(table, columns=columns, source=None)


def units(spec: DataSpec, generator: Generator) -> Iterator[Unit]:
    """Units with all rows in one corner, with rows that are as different as can be, and with any rows.

    Each brings more rows than it may have.
    """
    ends = sum(len(table.columns) for table in spec.tables)
    corners = product((False, True), repeat=ends) if 1 << ends <= CORNERS else _ends(ends, generator)
    for corner in islice(corners, CORNERS):
        highest = iter(corner)
        yield {
            table.name: [tuple(_end(one.kind, next(highest)) for one in table.columns)] * _many(table)
            for table in spec.tables
        }
    for turn in range(MIXED):
        yield {table.name: [_row(table, at, turn, generator) for at in range(_many(table))] for table in spec.tables}
    for absent in spec.tables if len(spec.tables) > 1 else ():
        yield {
            table.name: [_row(table, at, 0, generator) for at in range(_many(table))] if table != absent else []
            for table in spec.tables
        }


def within(spec: DataSpec, unit: Unit) -> Unit:
    """A unit with no more rows than it may have."""
    return {table.name: unit[table.name][: table.max_records] for table in spec.tables}


def _ends(count: int, generator: Generator) -> Iterator[tuple[bool, ...]]:
    yield (False,) * count
    yield (True,) * count
    while True:
        yield tuple(bool(bit) for bit in generator.below(2, count))


def _many(table: TableSpec) -> int:
    return 1 if table.unit is None else table.max_records + min(3 * table.max_records, _MOST_BEYOND)


def _end(kind: Kind, high: bool) -> int:
    return kind.high if high else kind.low


def _row(table: TableSpec, at: int, turn: int, generator: Generator) -> Codes:
    """In even turns row by row another value; in odd ones any values, or none."""
    if turn % 2 == 0:
        return tuple(one.kind.low + (at + turn) % size_of(one.kind) for one in table.columns)
    return tuple(_any(one, int(generator.below(6, 1)[0]), generator) for one in table.columns)


def _any(column: ColumnSpec, die: int, generator: Generator) -> int | None:
    if die == 0:
        return None
    return (
        _end(column.kind, die == 1) if die < 3 else column.kind.low + int(generator.below(size_of(column.kind), 1)[0])
    )


def frames(spec: DataSpec, people: Sequence[Unit]) -> dict[str, pd.DataFrame]:
    """The rows of several units, as a curator would give them."""
    import pandas as pd

    found = {}
    for table in spec.tables:
        rows = [(f"u{number}", codes) for number, unit in enumerate(people) for codes in unit[table.name]]
        columns: dict[str, list[str | None]] = {} if table.unit is None else {table.unit: [name for name, _ in rows]}
        for at, one in enumerate(table.columns):
            columns[one.name] = [_written(one.kind, codes[at]) for _, codes in rows]
        found[table.name] = pd.DataFrame(columns, dtype="string")
    return found


def _written(kind: Kind, code: int | None) -> str | None:
    if code is None:
        return None
    return exact_text(code * kind.step) if isinstance(kind, Numbers) else str(kind.show(code))
