"""The numbers of a view, each with its interval: counts, sums, shares and differences.

The interval of a sum, a share or a difference never follows from those of its cells, whose errors move together. For
unbiased numbers it comes from the exact distribution of the noise, for published ones from simulations of the whole
way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from margrave.algebra.domain import Margin
from margrave.errors import UsageError
from margrave.messages.catalogue import say
from margrave.publish.estimates import half_width
from margrave.publish.explorer.grid import Grid, bases_of, grid_of
from margrave.publish.explorer.view import TableView
from margrave.publish.numbers import rounded
from margrave.publish.report.values import Intervals, written
from margrave.spec.spec import possible_mask

if TYPE_CHECKING:
    from margrave.publish.released import Released

MOST_NUMBERS = 100_000
"""The most numbers of one view."""
MOST_EXACT = 2_000
"""The most unbiased sums, shares and differences of one view: the noise of each is computed by itself."""
_KEPT = 16
"""Tables that are kept for further views of them."""
_HEAVIEST = 3.0
"""The excess kurtosis of a Laplace distribution. Noise that is nearly always zero has more, and no use for it."""

Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Derived:
    """How the numbers of a view follow from sums over its grid: shares along some axes, differences along others.

    ``along``: the axes over which shares add up to one; None for counts. ``base``: axes, each with the group that is
    taken away; none without differences.
    """

    grid: Grid
    along: Places | None = None
    base: tuple[tuple[int, int], ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the numbers are counts of cells as they are, perhaps not all of them."""
        shown = all(axis.single or axis.complete for axis in self.grid.axes)
        return shown and self.along is None and not self.base

    def wholes(self, sums: NDArray[Any]) -> NDArray[Any]:
        """What each sum, in the last axes of an array, is a share of."""
        assert self.along is not None
        before = sums.ndim - len(self.grid.axes)
        axes = tuple(before + place for place in self.along)
        return np.broadcast_to(sums.sum(axis=axes, keepdims=True) if axes else sums, sums.shape)

    def less(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Numbers less that of the group that is taken away."""
        return np.asarray(numbers - self.taken(numbers)) if self.base else numbers

    def taken(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Of numbers, in the last axes of an array, those that are taken away from the others."""
        before = numbers.ndim - len(self.grid.axes)
        for axis, group in self.base:
            numbers = numbers.take([group], axis=before + axis)
        return numbers

    def of(self, sums: NDArray[Any]) -> NDArray[Any]:
        """The numbers that follow from sums; a share of nobody is not a number."""
        if self.along is None:
            return self.less(sums)
        wholes = self.wholes(sums)
        return self.less(np.divide(sums, wholes, out=np.full(sums.shape, np.nan), where=wholes > 0))

    def touched(self, sums: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which numbers have anything to do with the marked sums."""
        found = sums if self.along is None else self.wholes(sums) > 0
        return np.asarray(found | self.taken(found)) if self.base else found

    @property
    def itself(self) -> NDArray[np.bool_]:
        """The numbers that are taken away from themselves: nothing is left of these, without error."""
        found = np.zeros(self.grid.shape, dtype=bool)
        if self.base:
            groups = dict(self.base)
            found[tuple(groups.get(axis, slice(None)) for axis in range(found.ndim))] = True
        return found

    @property
    def ends(self) -> tuple[float, float]:
        """Between which no published number can fail to lie."""
        least = -1.0 if self.base else 0.0
        if self.along is None:
            return (-np.inf if self.base else 0.0), np.inf
        return least, 1.0


@dataclass(frozen=True, eq=False)
class Figures:
    """A view with its numbers: the cells, and the totals of rows, of columns and of all where these make sense."""

    view: TableView
    grid: Grid
    level: float
    cells: Intervals
    rows: Intervals | None = None
    columns: Intervals | None = None
    total: Intervals | None = None


def figures(release: Released, view: TableView) -> Figures:
    """The numbers of a view of a release. Totals are of what is shown."""
    grid = grid_of(release, view)
    if (count := int(np.prod(grid.shape, dtype=object))) > MOST_NUMBERS:
        raise UsageError(
            say(
                "this view has %(count)s numbers, more than %(most)s: filter or collapse values",
                count=written(count),
                most=written(MOST_NUMBERS),
            )
        )
    if view.numbers == "published" and release.publication is None:
        raise UsageError(say("this release publishes its tables unbiased: ask for unbiased numbers"))
    down, across = _halves(grid, view)
    along = {"none": None, "rows": across, "columns": down, "all": (*down, *across)}[view.share]
    base = bases_of(grid, view)
    cells = numbers_of(release, Derived(grid, along, base), view.numbers)
    if view.share != "none" or base:
        return Figures(view, grid, release.level, cells)
    totals = [
        numbers_of(release, Derived(grid.together(places)), view.numbers) if wanted else None
        for places, wanted in (
            (across, view.columns),
            (down, view.rows),
            ((*down, *across), view.rows and view.columns),
        )
    ]
    return Figures(view, grid, release.level, cells, *totals)


def _halves(grid: Grid, view: TableView) -> tuple[Places, Places]:
    """Which axes are down, and which across."""
    return tuple(range(len(view.rows))), tuple(range(len(view.rows), len(view.shown)))


def numbers_of(release: Released, derived: Derived, kind: str) -> Intervals:
    """Numbers with their intervals, in the shape of their grid."""
    if derived.plain:
        return _plain(release, derived.grid, kind)
    return _unbiased(release, derived) if kind == "unbiased" else _published(release, derived)


def simulates(release: Released, view: TableView) -> bool:
    """Whether the numbers of a view need simulations of the published table, and there can be any."""
    if view.numbers != "published" or not release.simulates:
        return False
    grid = grid_of(release, view)
    down, across = _halves(grid, view)
    plain = Derived(grid).plain and view.share == "none" and not view.minus
    grids = (grid, *(grid.together(places) for places in (across, down, (*down, *across))))
    return not plain or any(one.margin not in release.bars for one in grids)


def _plain(release: Released, grid: Grid, kind: str) -> Intervals:
    """Cells as `margrave show` has them."""
    found = _table(release, grid.margin, kind)
    return Intervals(*(rounded(grid.sums(one)) for one in (found.value, found.low, found.high)))


@lru_cache(maxsize=_KEPT)
def _table(release: Released, margin: Margin, kind: str) -> Intervals:
    """A whole table, kept for the next view of it."""
    frame = (release.noisy if kind == "unbiased" else release.table)(*margin)
    shape = release.domain.shape(margin)
    return Intervals(*(np.asarray(frame[name], dtype=np.float64).reshape(shape) for name in ("count", "low", "high")))


def _published(release: Released, derived: Derived) -> Intervals:
    simulated, grid = release.simulated, derived.grid
    if simulated is None:
        raise UsageError(
            say(
                "the published tables of this release are too large to simulate the errors of their sums and shares: "
                "ask for unbiased numbers"
            )
        )
    sums = grid.sums(simulated.counts(grid.margin))
    numbers = derived.of(sums)
    # A share moves by one over its whole where a count moves by one.
    least = np.ones(grid.shape) if derived.along is None else 1 / np.maximum(derived.wholes(sums[0]), 1.0)
    widths = tails(release) * simulated.derived_widths(numbers, least, release.level)[1]
    if simulated.truth.whole:
        # No noise can be so small that a published 0 excludes 1.
        widths = np.where(sums[0] == 0, np.maximum(widths, least), widths)
    open_cells = possible_mask(release.plan.spec, grid.margin) & ~release.plan.certain(grid.margin)
    uncertain = derived.touched(grid.sums(open_cells) > 0) & ~derived.itself
    low, high = derived.ends
    # Where there is nobody to have a share of, in what is published or in a simulation, it can be anything.
    unknown = np.isnan(numbers).any(axis=0)
    value = numbers[0]
    widths = np.where(unknown, np.inf, widths * uncertain)
    ends = np.maximum(value - widths, low), np.minimum(value + widths, high)
    return Intervals(*(rounded(one) for one in (value, *(np.where(np.isnan(value), np.nan, end) for end in ends))))


def tails(release: Released) -> float:
    """By how much published sums, shares and differences have wider intervals than normal errors of their size would.

    The tails of pure noise are heavier than normal ones. That of two equally noisy numbers together, the fewest that
    there can be, has half the excess kurtosis g of one, and by Cornish and Fisher 1 + g/2 · (z² − 3)/24 times the
    quantile z of the normal distribution.
    """
    noises = [one.noise for one in release.plan.measurements if one.noise.variance > 0]
    excess = max((min(one.fourth_cumulant / one.variance**2, _HEAVIEST) for one in noises), default=0.0)
    return 1 + excess / 2 * (float(ndtri((1 + release.level) / 2)) ** 2 - 3) / 24


def _unbiased(release: Released, derived: Derived) -> Intervals:
    grid = derived.grid
    count = int(np.prod(grid.shape))
    if count > MOST_EXACT:
        raise UsageError(
            say(
                "this view has %(count)s unbiased sums, shares or differences, more than %(most)s: filter or collapse "
                "values, or ask for published numbers",
                count=written(count),
                most=written(MOST_EXACT),
            )
        )
    sums = grid.sums(release.unbiased(grid.margin))
    numbers = derived.of(sums)
    widths = np.full(grid.shape, np.nan)
    for place in np.ndindex(*grid.shape):
        if not np.isnan(numbers[place]):
            noise = release.plan.linear_noise(grid.margin, slope(derived, sums, place))
            widths[place] = half_width(noise, release.level) if noise.variance > 0 else 0.0
    return Intervals(*(rounded(one) for one in (numbers, numbers - widths, numbers + widths)))


def slope(derived: Derived, sums: NDArray[np.float64], place: Places) -> NDArray[np.float64]:
    """By how much a number moves when a cell of the margin does: the number is linear, or nearly so for shares."""
    found = _slope(derived, sums, place)
    if not derived.base:
        return found
    groups = dict(derived.base)
    other = tuple(groups.get(at, number) for at, number in enumerate(place))
    return found - _slope(derived, sums, other)


def _slope(derived: Derived, sums: NDArray[np.float64], place: Places) -> NDArray[np.float64]:
    part = derived.grid.weights(place)
    if derived.along is None:
        return part
    whole = float(derived.wholes(sums)[place])
    # A share s of a whole w moves by (part − s · whole) / w: part and whole move together.
    return np.asarray((part - sums[place] / whole * derived.grid.weights(place, derived.along)) / whole)
