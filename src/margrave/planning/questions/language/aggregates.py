"""What is asked of rows: one number, or one for each group.

Bounds belong to what is asked: ``most_rows`` rows of a unit are used, in ``most_groups`` groups, ``most_per_group`` in
each. Left out, they follow from the rows themselves. Rows whose value or key is missing are not used.
"""

from __future__ import annotations

from dataclasses import dataclass

from margrave.errors import UsageError
from margrave.planning.questions.language.expressions import Column, Numeral, Value
from margrave.planning.questions.language.form import LanguageNode
from margrave.planning.questions.language.relations import Key, Relation, check_names

MOST_SHARES = 1_000


@dataclass(frozen=True)
class Aggregate(LanguageNode):
    """What is asked of rows, for all of them or for each group."""

    rows: Relation

    @property
    def keys(self) -> tuple[Key, ...]:
        return getattr(self, "by", ())

    def _check_common(self) -> None:
        self._check("rows", Relation)
        if hasattr(self, "by"):
            self._check_list("by", Key, 0)
            check_names([key.name for key in self.keys])
        for name in ("most_rows", "most_groups", "most_per_group"):
            if hasattr(self, name):
                self._check_bound(name)

    def _check_ends(self, low: Numeral | None, high: Numeral | None) -> None:
        if any(end is not None and not isinstance(end, Numeral) for end in (low, high)):
            raise UsageError(f"'low' and 'high' of {self.kind!r} must be numbers")
        if low is not None and high is not None and low.value >= high.value:
            raise UsageError(f"'low' of {self.kind!r} must be less than 'high'")


@dataclass(frozen=True)
class Count(Aggregate, kind="count"):
    """The number of rows."""

    by: tuple[Key, ...] = ()
    most_rows: int | None = None
    most_groups: int | None = None
    most_per_group: int | None = None

    def __post_init__(self) -> None:
        self._check_common()


@dataclass(frozen=True)
class UnitCount(Aggregate, kind="units"):
    """The number of different units that have rows."""

    by: tuple[Key, ...] = ()
    most_groups: int | None = None

    def __post_init__(self) -> None:
        self._check_common()


@dataclass(frozen=True)
class Sum(Aggregate, kind="sum"):
    """The sum of a number: each unit's total, in each group, is clamped to ``low`` … ``high`` first."""

    value: Value
    by: tuple[Key, ...] = ()
    low: Numeral | None = None
    high: Numeral | None = None
    most_groups: int | None = None

    def __post_init__(self) -> None:
        self._check_common()
        self._check("value", Value)
        self._check_ends(self.low, self.high)


@dataclass(frozen=True)
class Average(Aggregate, kind="average"):
    """The average of a number, each row's clamped to ``low`` … ``high`` first."""

    value: Value
    by: tuple[Key, ...] = ()
    low: Numeral | None = None
    high: Numeral | None = None
    most_rows: int | None = None
    most_groups: int | None = None
    most_per_group: int | None = None

    def __post_init__(self) -> None:
        self._check_common()
        self._check("value", Value)
        self._check_ends(self.low, self.high)


@dataclass(frozen=True)
class Variance(Aggregate, kind="variance"):
    """The variance of a number, over all rows, each row's number clamped to ``low`` … ``high`` first."""

    value: Value
    by: tuple[Key, ...] = ()
    low: Numeral | None = None
    high: Numeral | None = None
    most_rows: int | None = None
    most_groups: int | None = None
    most_per_group: int | None = None

    def __post_init__(self) -> None:
        self._check_common()
        self._check("value", Value)
        self._check_ends(self.low, self.high)


@dataclass(frozen=True)
class Quantiles(Aggregate, kind="quantiles"):
    """The numbers, or days, below which the given shares of the rows lie.

    ``interval``: the share of the budget that is spent on the ends of an interval around each.
    """

    value: Value
    shares: tuple[Numeral, ...]
    by: tuple[Key, ...] = ()
    most_rows: int | None = None
    most_groups: int | None = None
    most_per_group: int | None = None
    interval: Numeral | None = None

    def __post_init__(self) -> None:
        self._check_common()
        self._check("value", Value)
        self._check_list("shares", Numeral)
        shares = [share.value for share in self.shares]
        if len(shares) > MOST_SHARES or len(set(shares)) < len(shares) or not all(0 < one < 1 for one in shares):
            raise UsageError(f"quantiles are asked for by different shares between 0 and 1, at most {MOST_SHARES:,}")
        if any(one.denominator > 1 << 20 for one in shares):
            raise UsageError("a share of quantiles must be a short number, such as 0.95")
        if self.interval is not None and not (isinstance(self.interval, Numeral) and 0 < self.interval.value < 1):
            raise UsageError("'interval' is the share of the budget for intervals, between 0 and 1, such as 0.5")


@dataclass(frozen=True)
class Cumulative(Aggregate, kind="cumulative"):
    """For each value of a number or day, how many rows are not above it."""

    value: Value
    most_rows: int | None = None

    def __post_init__(self) -> None:
        self._check_common()
        self._check("value", Value)


@dataclass(frozen=True)
class Choose(Aggregate, kind="choose"):
    """The value that most rows have, of all the declared ones, or of those given."""

    value: Value
    only: tuple[Value, ...] = ()
    most_rows: int | None = None

    def __post_init__(self) -> None:
        self._check_common()
        self._check("value", Value)
        self._check_list("only", Value, 0)


@dataclass(frozen=True)
class TableOf(LanguageNode, kind="margin"):
    """A table of counts over some columns; without any it is the number of rows."""

    columns: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        self._check_list("columns", Column, 0)
        check_names([column.name for column in self.columns])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True)
class Tables(Aggregate, kind="tables"):
    """Tables of counts that agree with each other, planned together as a release.

    Rows in which one of all their columns is missing are in none of them.
    """

    tables: tuple[TableOf, ...]
    most_rows: int | None = None

    def __post_init__(self) -> None:
        self._check_common()
        self._check_list("tables", TableOf)
        wanted = [frozenset(table.names) for table in self.tables]
        if len(set(wanted)) < len(wanted):
            raise UsageError("the tables that are asked for must be different")

    @property
    def names(self) -> tuple[str, ...]:
        """Every column of a table, once, in the order in which they are named."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.names))
