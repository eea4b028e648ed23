"""Public tables: their declaration with a data set, the kinds of their columns, and joins with them as programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from margrave.budget.numbers import exact_text
from margrave.errors import UsageError, suggest
from margrave.planning.questions.kinds import EPOCH, Days, Kind, Numbers, Values, common_step
from margrave.planning.questions.language.expressions import Day, Missing, Numeral, Text, Value
from margrave.planning.questions.language.public import PublicColumn, PublicName, PublicTable
from margrave.planning.questions.programs.lowering import Lowered
from margrave.planning.questions.programs.programs import Attach, RowsProgram
from margrave.spec.document import load_document, read_document
from margrave.spec.reader import Node

if TYPE_CHECKING:
    from margrave.planning.questions.data_spec import DataSpec

MOST_CELLS = 10_000
"""Cells of a public table that is declared with a data set; one that is part of a question is bounded with it."""


def constant_of(thing: Any) -> Value:
    """A text, number or day as a node of the language; None is missing."""
    if thing is None:
        return Missing()
    if isinstance(thing, str):
        return Text(thing)
    if isinstance(thing, date) and not isinstance(thing, datetime):
        return Day(thing)
    if isinstance(thing, bool) or not isinstance(thing, int | float | Decimal | Fraction):
        raise UsageError(f"a {type(thing).__name__} is no value of a question: give a number, a text or a day")
    if isinstance(thing, float | Decimal) and not Decimal(thing).is_finite():
        raise UsageError("a number must be finite")
    return Numeral(Fraction(Decimal(str(thing))) if isinstance(thing, float | Decimal) else Fraction(thing))


def public_table(columns: Mapping[str, Sequence[Any]], key: str) -> PublicTable:
    """A public table from columns by name, one of which is the key."""
    if key not in columns:
        raise UsageError(f"the public table has no column {key!r} to be its key{suggest(key, list(columns))}")
    ordered = [key, *(name for name in columns if name != key)]
    return PublicTable(tuple(PublicColumn(n, tuple(constant_of(one) for one in columns[n])) for n in ordered))


def table_of(table: PublicTable | PublicName, data: DataSpec) -> PublicTable:
    """The table itself, where a name stands for it."""
    if isinstance(table, PublicTable):
        return table
    if table.name not in data.public:
        raise UsageError(f"the data set has no public table {table.name!r}{suggest(table.name, list(data.public))}")
    return data.public[table.name]


def kind_of_column(column: PublicColumn) -> Kind:
    """The kind of a public column: exactly what is in it."""
    given = [one for one in column.values if not isinstance(one, Missing)]
    if isinstance(given[0], Text):
        return Values(tuple(dict.fromkeys(cast(Text, one).value for one in given)))
    if isinstance(given[0], Day):
        days = [cast(Day, one).value for one in given]
        return Days.between(min(days), max(days))
    numbers = [cast(Numeral, one).value for one in given]
    step = Fraction(0)
    for one in numbers:
        step = abs(one) if not step else common_step(step, abs(one)) if one else step
    step = step or Fraction(1)
    return Numbers(int(min(numbers) / step), int(max(numbers) / step), step)


def _code(kind: Kind, value: Value) -> int | None:
    """The whole number of a constant in a column of this kind; None where no row can have it, or it is missing."""
    match value:
        case Missing():
            return None
        case Text(text) if isinstance(kind, Values):
            return kind.code(text)
        case Day(day) if isinstance(kind, Days):
            return (day - EPOCH).days
        case Numeral(number) if isinstance(kind, Numbers):
            exact = number / kind.step
            return exact.numerator if exact.denominator == 1 and kind.low <= exact <= kind.high else None
    raise UsageError(f"the key of the public table is a {value.kind!r}, and what it is joined on is {kind.said()}")


def attached(program: RowsProgram, on: Lowered, table: PublicTable, how: str) -> tuple[Attach, list[Kind]]:
    """The program of a join with a public table, and the kinds of the columns that it adds."""
    if on.kind is None:
        raise UsageError("what is joined with a public table is always missing")
    kinds = [kind_of_column(column) for column in table.columns[1:]]
    rows = []
    for values in zip(*(column.values for column in table.columns), strict=True):
        key = _code(on.kind, values[0])
        if key is not None:
            others = zip(kinds, values[1:], strict=True)
            rows.append((key, *(_code(kind, value) for kind, value in others)))
    return Attach(program, on.program, tuple(rows), len(kinds), how), kinds


def read_public(node: Node, taken: Sequence[str]) -> dict[str, PublicTable]:
    """The section ``[public]`` of a declaration: tables by name, each with its key and its columns."""
    found = {}
    for name, one in node.pairs("a table for each public table").items():
        keys = one.table(("key", "columns"))
        if name in taken:
            one.problem("is the name of another table")
        if not {"key", "columns"} <= set(keys):
            one.needs(keys, "key, the column that is joined on, and columns")
            continue
        key = keys["key"].text() or ""
        columns = keys["columns"].pairs("a list of values for each column")
        if not all(isinstance(column.value, list | tuple) for column in columns.values()):
            keys["columns"].problem("must have a list of values for each column")
        elif sum(len(cast(list[Any], column.value)) for column in columns.values()) > MOST_CELLS:
            keys["columns"].problem(f"has more than {MOST_CELLS:,} values")
        else:
            try:
                found[name] = _in_order(
                    {n: [_plain(one) for one in cast(list[Any], c.value)] for n, c in columns.items()}, key
                )
            except UsageError as error:
                one.problem(str(error))
            except (ValueError, ZeroDivisionError):
                one.problem("has a number or a day that cannot be read")
    return found


def load_public(source: str | Path | Mapping[str, object]) -> dict[str, PublicTable]:
    """Public tables from a file with a section ``[public]``, as in a declaration; or from TOML text, or a mapping."""
    return load_document(source, lambda document, _, name, text: read_document(Node(document), _read_all, name, text))


def _read_all(root: Node) -> dict[str, PublicTable] | None:
    keys = root.table(("public",))
    if "public" not in keys:
        root.problem("the section [public] is missing; a public table is declared as [public.places]")
        return None
    return read_public(keys["public"], ())


def _plain(value: Any) -> Any:
    """Numbers and days as JSON writes them are texts in an object."""
    if isinstance(value, Mapping) and set(value) == {"number"}:
        return Fraction(str(value["number"]))
    if isinstance(value, Mapping) and set(value) == {"day"}:
        return date.fromisoformat(str(value["day"]))
    return None if isinstance(value, Mapping) and not value else value


def _in_order(columns: dict[str, list[Any]], key: str) -> PublicTable:
    """Columns by name, so that a declaration is the same whatever file or JSON it was read from."""
    return public_table({name: columns[name] for name in sorted(columns)}, key)


def public_dict(table: PublicTable) -> dict[str, Any]:
    """A public table in the shape of the TOML file; `read_public` reads it back."""
    columns = {one.name: [_written(value) for value in one.values] for one in table.columns}
    return {"key": table.keys.name, "columns": columns}


def _written(value: Value) -> Any:
    match value:
        case Numeral(number):
            return {"number": exact_text(number)}
        case Day(day):
            return {"day": day.isoformat()}
        case Text(text):
            return text
    return {}
