"""What is sought of the rows, ready to be run: which rows are used, which numbers of them are summed in which cells,
which bounds are enforced on the way, and how far one unit can move the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, prod

from margrave.errors import RefusedError, UsageError
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.kinds import MOST_WHOLE, Kind, Numbers, Values
from margrave.planning.questions.language.aggregates import (
    Aggregate,
    Average,
    Choose,
    Count,
    Cumulative,
    Quantiles,
    Sum,
    UnitCount,
    Variance,
)
from margrave.planning.questions.language.expressions import Missing, Numeral, Value
from margrave.planning.questions.language.relations import Key
from margrave.planning.questions.price.price import Neighbours, UnitBounds, UnitMove, rows_move, totals_move
from margrave.planning.questions.programs.axes import MOST_ANSWERS, Axis, axis_of, within
from margrave.planning.questions.programs.lowering import lower, need_numbers
from margrave.planning.questions.programs.programs import (
    Absent,
    AllTests,
    Fixed,
    Opposite,
    Order,
    Pick,
    Reckon,
    Test,
    Whole,
)
from margrave.planning.questions.programs.rows import RowsShape, rows_of

MOST_GROUPS = 1 << 16
"""Groups of one answer."""


@dataclass(frozen=True)
class Sought:
    """What is sought.

    ``keys`` are the programs of the axes; ``grid`` is a further one, over the values of what is asked about, where
    their distribution is sought. ``parts``: the numbers of each row that are summed. ``used``: which rows are used.
    Enforced, in this order, where not None: ``keep_rows`` rows of a unit, ``keep_per_group`` rows of a unit in a group,
    ``clamp`` of the sum of the first part over the rows of a unit in a group, ``keep_groups`` groups of a unit.
    ``once``: a unit counts once in a group. ``value``: the kind of what is asked about; ``low`` and ``high``: the
    whole numbers between which it is clamped.
    """

    rows: RowsShape
    axes: tuple[Axis, ...]
    keys: tuple[Whole, ...]
    parts: tuple[Whole, ...]
    used: Test
    bounds: UnitBounds
    move: UnitMove
    reason: str
    grid: Axis | None = None
    grid_key: Whole | None = None
    keep_rows: int | None = None
    keep_per_group: int | None = None
    clamp: tuple[int, int] | None = None
    keep_groups: int | None = None
    once: bool = False
    value: Kind | None = None
    low: int = 0
    high: int = 0

    @cached_property
    def cells(self) -> int:
        """How many groups there are."""
        return prod(len(axis.codes) for axis in self.axes)

    @property
    def grid_size(self) -> int:
        return 1 if self.grid is None else len(self.grid.codes)


def sought_of(aggregate: Aggregate, data: DataSpec) -> Sought:
    """What an aggregate seeks of a data set, or why it cannot be asked."""
    rows = rows_of(aggregate.rows, data)
    lowered = [lower(key.value, rows.columns) for key in aggregate.keys]
    axes = tuple(axis_of(key, one) for key, one in zip(aggregate.keys, lowered, strict=True))
    cells = prod(len(axis.codes) for axis in axes)
    if cells > MOST_GROUPS:
        raise RefusedError(
            f"there would be {cells:,} groups, at most {MOST_GROUPS:,} are possible: use bins, or 'only'"
        )
    asked = _Asked(rows, axes, tuple(one.program for one in lowered), cells, rows.together(lowered), data.neighbours)
    match aggregate:
        case Count():
            return _count(aggregate, asked)
        case UnitCount():
            return _units(aggregate, asked)
        case Sum():
            return _sum(aggregate, asked)
        case Average() | Variance():
            return _moments(aggregate, asked)
        case Quantiles() | Cumulative() | Choose():
            return _distribution(aggregate, asked)
    raise UsageError(f"a {aggregate.kind!r} cannot be asked")


@dataclass(frozen=True)
class _Asked:
    """The rows and groups that every kind of aggregate has; ``groups`` is how many one unit can be in."""

    rows: RowsShape
    axes: tuple[Axis, ...]
    keys: tuple[Whole, ...]
    cells: int
    groups: int
    neighbours: Neighbours

    @property
    def used(self) -> list[Test]:
        """Rows are used whose keys are among those of the axes."""
        found: list[Test] = []
        for axis, key in zip(self.axes, self.keys, strict=True):
            found.append(within(key, axis))
        return found

    def bounds(self, most_rows: int | None, most_groups: int | None, per_group: int | None) -> UnitBounds:
        rows = _least(self.rows.most, most_rows)
        return UnitBounds.of(rows, _least(self.groups, most_groups), _least(rows, per_group), self.cells)

    def sought(
        self, parts: tuple[Whole, ...], used: list[Test], bounds: UnitBounds, move: UnitMove, reason: str
    ) -> Sought:
        return Sought(self.rows, self.axes, self.keys, parts, AllTests(tuple(used)), bounds, move, reason)


def _least(one: int, other: int | None) -> int:
    return one if other is None else min(one, other)


def _count(aggregate: Count, asked: _Asked) -> Sought:
    bounds = asked.bounds(aggregate.most_rows, aggregate.most_groups, aggregate.most_per_group)
    move = rows_move(bounds, 1, 1, asked.neighbours)
    found = asked.sought((Fixed(1),), asked.used, bounds, move, _rows_reason(bounds, asked, "each counts once"))
    keep = aggregate.most_rows if _narrower(aggregate.most_rows, asked.rows.most) else None
    limit = aggregate.most_per_group if _narrower(aggregate.most_per_group, asked.rows.most) else None
    if not asked.axes:
        keep, limit = None, min((one for one in (keep, limit) if one is not None), default=None)
    return replace(
        found,
        keep_rows=keep,
        clamp=None if limit is None else (0, limit),
        keep_groups=_kept_groups(aggregate.most_groups, asked),
    )


def _narrower(bound: int | None, most: int) -> bool:
    return bound is not None and bound < most


def _kept_groups(bound: int | None, asked: _Asked) -> int | None:
    return bound if bound is not None and bound < min(asked.groups, asked.cells) else None


def _units(aggregate: UnitCount, asked: _Asked) -> Sought:
    groups = min(_least(asked.groups, aggregate.most_groups), asked.cells)
    bounds = UnitBounds.of(groups, groups, 1, asked.cells)
    move = rows_move(bounds, 1, 1, asked.neighbours)
    where = "" if not asked.axes else f" in at most {_times(groups, 'group')}"
    found = asked.sought((Fixed(1),), asked.used, bounds, move, f"a unit counts once{where}")
    keep = _kept_groups(aggregate.most_groups, asked)
    return replace(found, once=True, keep_groups=keep, reason=_replaced(found.reason, asked))


def _sum(aggregate: Sum, asked: _Asked) -> Sought:
    lowered = lower(aggregate.value, asked.rows.columns)
    kind = need_numbers(lowered, "a sum")
    most = asked.rows.most
    natural = min(kind.low, kind.low * most), max(kind.high, kind.high * most)
    low, high = _ends(aggregate.low, aggregate.high, natural, kind.step, "a sum")
    groups = min(_least(asked.groups, aggregate.most_groups), asked.cells)
    bounds = UnitBounds.of(most, groups, most, asked.cells)
    move = totals_move(low, high, groups, asked.cells, asked.neighbours)
    if not move.l1:
        raise UsageError("the sum is always 0: there is nothing to ask")
    where = "" if not asked.axes else f" in each of at most {_times(groups, 'group')}"
    total = f"a unit's total lies between {kind.show(low)} and {kind.show(high)}{where}"
    used = [*asked.used, Opposite(Absent(lowered.program))]
    found = asked.sought((lowered.program,), used, bounds, move, _replaced(total, asked))
    narrower = low > natural[0] or high < natural[1]
    return replace(
        found,
        clamp=(low, high) if narrower else None,
        keep_groups=_kept_groups(aggregate.most_groups, asked),
        value=kind,
        low=low,
        high=high,
    )


def _ends(
    low: Numeral | None, high: Numeral | None, natural: tuple[int, int], step: Fraction, what: str
) -> tuple[int, int]:
    """The whole numbers between which something is clamped: the given ends, rounded inwards to the step."""
    first = natural[0] if low is None else max(natural[0], ceil(low.value / step))
    last = natural[1] if high is None else min(natural[1], floor(high.value / step))
    if first > last:
        raise UsageError(f"'low' and 'high' of {what} leave no number between them")
    return first, last


def _moments(aggregate: Average | Variance, asked: _Asked) -> Sought:
    """Average: Σ(v − lo) and Σ(hi − v). Variance: Σ(v − lo)², Σ2(v − lo)(hi − v) and Σ(hi − v)²."""
    lowered = lower(aggregate.value, asked.rows.columns)
    what = f"the {aggregate.kind}"
    kind = need_numbers(lowered, what)
    low, high = _ends(aggregate.low, aggregate.high, (kind.low, kind.high), kind.step, what)
    if low == high:
        why = (
            f"every value is {kind.show(low)}, so {what} is {0 if isinstance(aggregate, Variance) else kind.show(low)}"
        )
        raise UsageError(f"{why}: there is nothing to ask")
    value = _clamped(lowered.program, kind, low, high)
    above, below = Reckon("-", value, Fixed(low)), Reckon("-", Fixed(high), value)
    parts: tuple[Whole, ...] = (above, below)
    weight = high - low
    if isinstance(aggregate, Variance):
        weight = _square(weight)
        crossed = Reckon("*", Fixed(2), Reckon("*", above, below))
        parts = (Reckon("*", above, above), crossed, Reckon("*", below, below))
    bounds = asked.bounds(aggregate.most_rows, aggregate.most_groups, aggregate.most_per_group)
    move = rows_move(bounds, weight, len(parts), asked.neighbours)
    used = [*asked.used, Opposite(Absent(lowered.program))]
    shared = f"each adds {weight} steps to {'two' if len(parts) == 2 else 'three'} sums together"
    found = asked.sought(parts, used, bounds, move, _rows_reason(bounds, asked, shared))
    return replace(
        found,
        keep_rows=aggregate.most_rows if _narrower(aggregate.most_rows, asked.rows.most) else None,
        keep_per_group=aggregate.most_per_group if _narrower(aggregate.most_per_group, asked.rows.most) else None,
        keep_groups=_kept_groups(aggregate.most_groups, asked),
        value=kind,
        low=low,
        high=high,
    )


def _square(weight: int) -> int:
    if weight**2 >= MOST_WHOLE:
        raise RefusedError("the squares of this number are too large: ask about a coarser one, such as income // 100")
    return weight**2


def _clamped(program: Whole, kind: Numbers, low: int, high: int) -> Whole:
    branches: list[tuple[Test, Whole]] = []
    if low > kind.low:
        branches.append((Order("<", program, Fixed(low)), Fixed(low)))
    if high < kind.high:
        branches.append((Order(">", program, Fixed(high)), Fixed(high)))
    return Pick(tuple(branches), program) if branches else program


def _distribution(aggregate: Quantiles | Cumulative | Choose, asked: _Asked) -> Sought:
    """How many rows have each value of a grid, in each group."""
    lowered = lower(aggregate.value, asked.rows.columns)
    kind = lowered.kind
    what = f"{aggregate.kind!r}"
    if kind is None or isinstance(aggregate.value, Missing):
        raise UsageError(f"{what} is asked of something that is always missing")
    if isinstance(kind, Values) and not isinstance(aggregate, Choose):
        raise UsageError(f"{what} needs a number or a day, and has {kind.said()}")
    grid = axis_of(Key("value", aggregate.value, _given(aggregate)), lowered)
    if len(grid.codes) * asked.cells > MOST_ANSWERS:
        raise RefusedError(
            f"{len(grid.codes):,} values in {asked.cells:,} groups are more than {MOST_ANSWERS:,}: ask about a coarser "
            "value, such as income // 100 * 100"
        )
    if len(grid.codes) < 2:
        raise UsageError(f"{what} has one value to choose from: there is nothing to ask")
    groups, per_group = getattr(aggregate, "most_groups", None), getattr(aggregate, "most_per_group", None)
    bounds = asked.bounds(aggregate.most_rows, groups, per_group)
    move = rows_move(bounds, 1, 2, asked.neighbours)
    used = [*asked.used, within(lowered.program, grid)]
    found = asked.sought((Fixed(1),), used, bounds, move, _rows_reason(bounds, asked, "each counts once"))
    return replace(
        found,
        grid=grid,
        grid_key=lowered.program,
        keep_rows=aggregate.most_rows if _narrower(aggregate.most_rows, asked.rows.most) else None,
        keep_per_group=per_group if _narrower(per_group, asked.rows.most) else None,
        keep_groups=_kept_groups(groups, asked),
        value=kind,
        low=kind.low,
        high=kind.high,
    )


def _given(aggregate: Aggregate) -> tuple[Value, ...]:
    return aggregate.only if isinstance(aggregate, Choose) else ()


def _times(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _rows_reason(bounds: UnitBounds, asked: _Asked, each: str) -> str:
    used = "is used" if bounds.rows == 1 else "are used"
    where = "" if not asked.axes or bounds.groups >= bounds.rows else f", in at most {_times(bounds.groups, 'group')}"
    return _replaced(f"at most {_times(bounds.rows, 'row')} of each unit {used}{where}, and {each}", asked)


def _replaced(reason: str, asked: _Asked) -> str:
    return (
        reason if asked.neighbours == "add-remove" else f"{reason}; a replaced unit takes its own away and adds others"
    )
