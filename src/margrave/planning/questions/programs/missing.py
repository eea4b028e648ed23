"""Which columns of rows are never missing, whatever the data is: then groups by them hold every row once."""

from __future__ import annotations

from collections.abc import Iterable

from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.expressions import (
    AllOf,
    Among,
    AnyOf,
    Column,
    Compare,
    Condition,
    IsMissing,
    Negation,
)
from margrave.planning.questions.language.parts import Part
from margrave.planning.questions.language.public import Lookup
from margrave.planning.questions.language.relations import (
    Distinct,
    Except,
    Intersect,
    Join,
    PerUnit,
    Relation,
    Rows,
    Select,
    Union,
    Where,
)


def is_never_missing(name: str, relation: Relation, data: DataSpec) -> bool:
    """Whether a column has a value in every row: false also where that cannot be shown."""
    match relation:
        case Rows(table):
            return _declared(name, table, data)
        case Where(rows, condition):
            return _excludes(condition, name) or is_never_missing(name, rows, data)
        case Distinct(rows) | Part(rows, _, _, _) | Lookup(rows, _, _, _):
            return is_never_missing(name, rows, data)
        case Select():
            given = {one.name: one.value for one in relation.columns}
            source = given.get(name, Column(name) if relation.add else None)
            return isinstance(source, Column) and is_never_missing(source.name, relation.rows, data)
        case Join(left, right, how):
            sides = (left, right) if how == "inner" else (left,)
            return any(is_never_missing(name, one, data) for one in sides)
        case PerUnit():
            return any(one.name == name and one.how in ("count", "any") for one in relation.columns)
        case Union(left, right):
            return is_never_missing(name, left, data) and is_never_missing(name, right, data)
        case Intersect(left, _) | Except(left, _):
            return is_never_missing(name, left, data)
    return False


def with_all(names: Iterable[str], rows: Relation, data: DataSpec) -> Relation:
    """The rows in which none of some columns is missing: those themselves, where that is so already."""
    loose = [name for name in sorted(names) if not is_never_missing(name, rows, data)]
    tests: tuple[Condition, ...] = tuple(Negation(IsMissing(Column(name))) for name in loose)
    return rows if not tests else Where(rows, tests[0] if len(tests) == 1 else AllOf(tests))


def _excludes(condition: Condition, name: str) -> bool:
    """Whether rows in which a column is missing do not pass a condition: it is false or unknown for them."""
    match condition:
        case AllOf(several):
            return any(_excludes(one, name) for one in several)
        case AnyOf(several):
            return all(_excludes(one, name) for one in several)
        case Compare(_, left, right):
            return Column(name) in (left, right)
        case Among(value, _):
            return value == Column(name)
    return condition == Negation(IsMissing(Column(name)))


def _declared(name: str, table: str, data: DataSpec) -> bool:
    """A declared column has a value for what is missing."""
    columns = next((one.columns for one in data.tables if one.name == table), ())
    entries = [column.entry for column in columns if column.name == name and column.entry is not None]
    return any(entry.missing is not None or entry.other is not None for entry in entries)
