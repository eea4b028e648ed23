"""The form of the workbench: what it says, and the question that it asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import reduce
from typing import Any

from margrave.budget.numbers import exact_number
from margrave.errors import UsageError
from margrave.planning.questions.data_spec import ColumnSpec, DataSpec, TableSpec
from margrave.planning.questions.kinds import Days, Numbers, Values
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.text import parsed
from margrave.serve.pages.visits import Sight

SIGNS = ("=", "!=", "<", "<=", ">", ">=")
CONDITIONS = 3
"""Conditions that the form has room for; a text has more."""
KEYS = 2
_BINS = 5
UNITS = ("epsilon", "rho")
WHATS: Mapping[str, str] = {
    "count": "how many rows",
    "units": "how many units",
    "sum": "the sum of",
    "average": "the average of",
    "variance": "the variance of",
    "median": "the median of",
    "choose": "the most frequent value of",
}
_PLAIN: Mapping[str, Callable[..., a.Aggregate]] = {"count": a.Count, "units": a.UnitCount}
_VALUED: Mapping[str, Callable[..., a.Aggregate]] = {"sum": a.Sum, "average": a.Average, "variance": a.Variance}


@dataclass(frozen=True)
class KeyChoice:
    """Something to ask by: a column, the bins of a number, or a part of a day."""

    id: str
    label: str
    key: r.Key


@dataclass(frozen=True)
class AskedFor:
    """What the form says, as texts. ``text`` stands for all of it where it is there, ``asked`` for a whole tree."""

    table: str
    what: str = "count"
    value: str = ""
    by: tuple[str, ...] = ()
    conditions: tuple[tuple[str, str, str], ...] = ()
    text: str = ""
    unit: str = "epsilon"
    amount: str = "0.1"

    @classmethod
    def read(cls, look: Sight, data: DataSpec) -> AskedFor:
        """The form that was sent, or an empty one."""
        rows = zip(look.every("column"), look.every("sign"), look.every("member"), strict=False)
        return cls(
            look.said("table") or data.tables[0].name,
            look.said("what", "count"),
            look.said("value"),
            tuple(one for one in look.every("by") if one),
            tuple((column, sign, member.strip()) for column, sign, member in rows if column),
            look.said("text").strip(),
            look.said("unit", "epsilon"),
            look.said("amount", "0.1").strip(),
        )

    @property
    def budget(self) -> dict[str, str]:
        """What to spend, as operations take it."""
        if self.unit not in UNITS:
            raise UsageError("what is spent is in ε or in ρ")
        return {self.unit: self.amount}

    def fields(self) -> list[tuple[str, str]]:
        """The form again, for an address."""
        told = [("table", self.table), ("what", self.what), ("value", self.value)]
        told += [("by", one) for one in self.by]
        for column, sign, member in self.conditions:
            told += [("column", column), ("sign", sign), ("member", member)]
        return [*told, ("text", self.text), ("unit", self.unit), ("amount", self.amount)]

    def spec(self, data: DataSpec) -> TableSpec:
        for one in data.tables:
            if one.name == self.table:
                return one
        raise UsageError("the data set has no table of that name")

    def node(self, data: DataSpec) -> a.Aggregate:
        """The question."""
        if self.text:
            found = parsed(self.text, data)
            if not isinstance(found, a.Aggregate):
                raise UsageError("a partition is opened from Python or over HTTP: ask for its rows here")
            return found
        table = self.spec(data)
        rows: r.Relation = r.Rows(table.name)
        conditions = [_condition(_column(table, column), sign, member) for column, sign, member in self.conditions]
        if conditions:
            rows = r.Where(rows, reduce(lambda one, other: e.AllOf((one, other)), conditions))
        keys = {one.id: one.key for one in key_choices(table)}
        if any(one not in keys for one in self.by) or len(set(self.by)) != len(self.by):
            raise UsageError("choose what to ask by from the list, each once")
        return _aggregate(self.what, rows, self._value(table), tuple(keys[one] for one in self.by))

    def _value(self, table: TableSpec) -> e.Value | None:
        if self.what in _PLAIN:
            return None
        if not self.value:
            raise UsageError("choose the column that it is about")
        return e.Column(_column(table, self.value).name)


def _aggregate(what: str, rows: r.Relation, value: Any, by: tuple[r.Key, ...]) -> a.Aggregate:
    if what in _PLAIN:
        return _PLAIN[what](rows, by=by)
    if what in _VALUED:
        return _VALUED[what](rows, value=value, by=by)
    if what == "median":
        return a.Quantiles(rows, value=value, shares=(e.Numeral(Fraction(1, 2)),), by=by)
    if what != "choose":
        raise UsageError("choose what is asked from the list")
    if by:
        raise UsageError("the most frequent value is asked of all rows together: leave out 'by'")
    return a.Choose(rows, value=value)


def _column(table: TableSpec, name: str) -> ColumnSpec:
    for one in table.columns:
        if one.name == name:
            return one
    raise UsageError("the table has no column of that name")


def _condition(column: ColumnSpec, sign: str, member: str) -> e.Condition:
    if sign not in SIGNS:
        raise UsageError("a condition compares by one of the signs in the list")
    return e.Compare(sign, e.Column(column.name), _constant(column, member))


def _constant(column: ColumnSpec, member: str) -> e.Value:
    match column.kind:
        case Values():
            return e.Text(member)
        case Numbers():
            return e.Numeral(exact_number(member))
        case Days():
            try:
                return e.Day(date.fromisoformat(member))
            except ValueError:
                raise UsageError(f"{column.name} is a day: write it as 2024-12-31") from None


def key_choices(table: TableSpec) -> list[KeyChoice]:
    """What questions about a table can be asked by, in the form."""
    found = []
    for column in table.columns:
        value = e.Column(column.name)
        match column.kind:
            case Values():
                found.append(KeyChoice(column.name, column.name, r.Key(column.name, value)))
            case Numbers() as kind:
                edges = _edges(kind)
                if len(edges) > 2:
                    said = f"{column.name} in {len(edges) - 1} bins"
                    found.append(KeyChoice(f"{column.name}|bins", said, r.Key(column.name, e.Binned(value, edges))))
            case Days():
                for part in ("year", "month", "weekday"):
                    key = r.Key(f"{column.name}_{part}", e.DatePart(part, value))
                    found.append(KeyChoice(f"{column.name}|{part}", f"{part} of {column.name}", key))
    return found


def _edges(kind: Numbers) -> tuple[e.Numeral, ...]:
    """Some equal bins over a range, whose edges are multiples of its step."""
    width = max(1, -(-(kind.high - kind.low) // _BINS))
    codes = [*range(kind.low, kind.high, width), kind.high + 1]
    return tuple(e.Numeral(code * kind.step) for code in codes)


def values_of(table: TableSpec) -> list[str]:
    """What conditions can compare with, to be picked from."""
    return sorted({value for one in table.columns if isinstance(one.kind, Values) for value in one.kind.values})


def numeric(table: TableSpec) -> list[str]:
    return [one.name for one in table.columns if isinstance(one.kind, Numbers)]
