"""Relations become rows programs, each with its columns and with how many rows one unit can have in it at most.

Every operator works on the rows of each unit by themselves. So it is enough to know what one unit can have: rows, and
different values in each column (its spread). The bounds multiply in joins, add up in unions and are kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from margrave.errors import RefusedError, UsageError, suggest
from margrave.planning.questions.kinds import Kind, Numbers, Values, size_of
from margrave.planning.questions.language.expressions import Column
from margrave.planning.questions.language.parts import Part, Partition
from margrave.planning.questions.language.public import Lookup
from margrave.planning.questions.language.relations import (
    Distinct,
    Except,
    Intersect,
    Join,
    PerUnit,
    Reduction,
    Relation,
    Rows,
    Select,
    Union,
    Where,
    check_names,
)
from margrave.planning.questions.programs.axes import Axis, axis_of, within
from margrave.planning.questions.programs.lowering import (
    ColumnShape,
    Lowered,
    constant_code,
    lower,
    lower_test,
    need_numbers,
)
from margrave.planning.questions.programs.programs import (
    AllTests,
    Combine,
    KeepRows,
    Match,
    Once,
    Portion,
    Project,
    Reduce,
    RowField,
    RowsProgram,
    Scan,
    Test,
    Whole,
)
from margrave.planning.questions.public import attached, table_of

if TYPE_CHECKING:
    from margrave.planning.questions.data_spec import DataSpec

MOST_UNIT_ROWS = 1 << 20
"""Rows that one unit may have after joins. What a question may take follows from it before anything is reserved."""


@dataclass(frozen=True)
class RowsShape:
    """What is known of rows before any data is opened: their program, their columns, and the most rows of a unit."""

    program: RowsProgram
    columns: tuple[ColumnShape, ...]
    most: int

    def spread(self, lowered: Lowered) -> int:
        """How many different values, missing included, an expression can have in the rows of one unit."""
        return self.together([lowered])

    def together(self, several: Iterable[Lowered]) -> int:
        """How many different combinations of values several expressions can have in the rows of one unit."""
        used = frozenset[int]().union(*(one.used for one in several))
        return min(self.most, prod(self.columns[at].spread for at in used))


def rows_of(relation: Relation, data: DataSpec) -> RowsShape:
    """The program of a relation over a data set, with what one unit can have in it."""
    match relation:
        case Rows(name):
            return _scan(name, data)
        case Where(rows, condition):
            inner = rows_of(rows, data)
            return replace(inner, program=KeepRows(inner.program, lower_test(condition, inner.columns)))
        case Select():
            return _select(relation, rows_of(relation.rows, data))
        case Join(left, right, how):
            return _join(rows_of(left, data), rows_of(right, data), how)
        case PerUnit():
            return _per_unit(relation, rows_of(relation.rows, data))
        case Distinct(rows):
            inner = rows_of(rows, data)
            return RowsShape(Once(inner.program), inner.columns, _different(inner))
        case Union(left, right) | Intersect(left, right) | Except(left, right):
            return _combine(relation.kind, rows_of(left, data), rows_of(right, data))
        case Lookup():
            return _lookup(relation, rows_of(relation.rows, data), data)
        case Part():
            return _part(relation, rows_of(relation.rows, data))
    raise UsageError(f"a {relation.kind!r} cannot stand here")


def _scan(name: str, data: DataSpec) -> RowsShape:
    names = [table.name for table in data.tables]
    if name not in names:
        hint = suggest(name, names) or f"; there are {', '.join(names)}"
        raise UsageError(f"the data set has no table {name!r}{hint}")
    table = data.tables[names.index(name)]
    columns = tuple(_column(one.name, one.kind, table.max_records, table.max_records) for one in table.columns)
    return RowsShape(Scan(names.index(name)), columns, table.max_records)


def _column(name: str, kind: Kind, spread: int, most: int) -> ColumnShape:
    return ColumnShape(name, kind, max(1, min(spread, most, size_of(kind) + 1)))


def _different(rows: RowsShape) -> int:
    """How many different rows a unit can have."""
    return min(rows.most, prod(column.spread for column in rows.columns))


def _select(relation: Select, inner: RowsShape) -> RowsShape:
    fields: list[Whole] = [RowField(at) for at in range(len(inner.columns))] if relation.add else []
    columns = list(inner.columns) if relation.add else []
    for one in relation.columns:
        lowered = lower(one.value, inner.columns)
        if lowered.kind is None:
            raise UsageError(f"the column {one.name!r} would always be missing")
        fields.append(lowered.program)
        columns.append(_column(one.name, lowered.kind, inner.spread(lowered), inner.most))
    check_names([column.name for column in columns])
    return RowsShape(Project(inner.program, tuple(fields)), tuple(columns), inner.most)


def _join(left: RowsShape, right: RowsShape, how: str) -> RowsShape:
    program = Match(left.program, right.program, how)
    if how in ("semi", "anti"):
        return RowsShape(program, left.columns, left.most)
    most = _checked(left.most * (right.most if how == "inner" else max(1, right.most)))
    extra = 1 if how == "left" else 0
    right_columns = tuple(_column(one.name, one.kind, one.spread + extra, most) for one in right.columns)
    _check_apart(left.columns, right.columns)
    return RowsShape(program, (*left.columns, *right_columns), most)


def _checked(most: int) -> int:
    if most > MOST_UNIT_ROWS:
        raise RefusedError(
            f"one unit may have {most:,} rows after this join, at most {MOST_UNIT_ROWS:,} are possible: reduce one "
            "side to a row for each unit first (per unit), or join less"
        )
    return most


def _check_apart(left: Sequence[ColumnShape], right: Sequence[ColumnShape]) -> None:
    twice = sorted({one.name for one in left} & {one.name for one in right})
    if twice:
        raise UsageError(f"both sides of the join have a column {twice[0]!r}: select it under another name first")


def _lookup(relation: Lookup, inner: RowsShape, data: DataSpec) -> RowsShape:
    """Each row meets at most as many public rows as one key has, and a value of the row as many different ones."""
    table = table_of(relation.table, data)
    on = lower(relation.on, inner.columns)
    program, kinds = attached(inner.program, on, table, relation.how)
    fanout = max(table.fanout, 1 if relation.how == "left" else 0)
    most, spread = _checked(inner.most * fanout), inner.spread(on) * fanout
    added = tuple(_column(one.name, kind, spread, most) for one, kind in zip(table.columns[1:], kinds, strict=True))
    _check_apart(inner.columns, added)
    return RowsShape(program, (*inner.columns, *added), most)


def parts_of(partition: Partition, inner: RowsShape) -> tuple[Axis, Lowered, int]:
    """The parts of a partition, the program of its key, and how many parts one unit can be in."""
    lowered = lower(partition.by.value, inner.columns)
    axis = axis_of(partition.by, lowered)
    return axis, lowered, min(inner.spread(lowered), len(axis.codes))


def _part(relation: Part, inner: RowsShape) -> RowsShape:
    axis, lowered, natural = parts_of(relation.partition, inner)
    code = constant_code(axis.kind, relation.value)
    if code is None or code not in axis.codes:
        raise UsageError(f"the partition by {relation.by.name!r} has no such part")
    most = relation.most_parts
    kept = most if most is not None and most < natural else None
    program = Portion(inner.program, lowered.program, within(lowered.program, axis), code, kept)
    single = relation.by.value
    columns = tuple(replace(one, spread=1) if single == Column(one.name) else one for one in inner.columns)
    return RowsShape(program, columns, inner.most)


def _per_unit(relation: PerUnit, inner: RowsShape) -> RowsShape:
    fields: list[tuple[str, Whole | Test]] = []
    columns = []
    for one in relation.columns:
        program, kind = _reduced(one, inner)
        fields.append((one.how, program))
        columns.append(ColumnShape(one.name, kind, 1))
    return RowsShape(Reduce(inner.program, tuple(fields)), tuple(columns), 1)


def _reduced(one: Reduction, inner: RowsShape) -> tuple[Whole | Test, Kind]:
    if one.value is None:
        test: Test = AllTests(()) if one.condition is None else lower_test(one.condition, inner.columns)
        return test, Numbers(0, 1 if one.how == "any" else inner.most)
    lowered = lower(one.value, inner.columns)
    if lowered.kind is None:
        raise UsageError(f"the column {one.name!r} would always be missing")
    if one.how == "sum":
        kind = need_numbers(lowered, "a sum")
        low, high = min(kind.low, kind.low * inner.most), max(kind.high, kind.high * inner.most)
        return lowered.program, Numbers(low, high, kind.step)
    if isinstance(lowered.kind, Values):
        raise UsageError("texts have no least or greatest one")
    return lowered.program, lowered.kind


def _combine(how: str, left: RowsShape, right: RowsShape) -> RowsShape:
    _check_same(how, left.columns, right.columns)
    program = Combine(how, left.program, right.program)
    if how == "union":
        most = left.most + right.most
        pairs = zip(left.columns, right.columns, strict=True)
        columns = tuple(_column(one.name, one.kind, one.spread + other.spread, most) for one, other in pairs)
        return RowsShape(program, columns, most)
    if how == "except":
        return RowsShape(program, left.columns, _different(left))
    most = min(_different(left), _different(right))
    pairs = zip(left.columns, right.columns, strict=True)
    columns = tuple(_column(one.name, one.kind, min(one.spread, other.spread), most) for one, other in pairs)
    return RowsShape(program, columns, most)


def _check_same(how: str, left: Sequence[ColumnShape], right: Sequence[ColumnShape]) -> None:
    if [(one.name, one.kind) for one in left] != [(one.name, one.kind) for one in right]:
        raise UsageError(f"both sides of {how!r} must have the same columns in the same order: select them first")
