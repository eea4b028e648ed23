"""What a release reveals about small cells, counted directly: a second look beside the privacy budget.

Symbols: ``n`` the true table, ``A n`` its margins over a model's generators, ``L ≤ n ≤ U`` the bounds on a cell that
follow from those margins alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.junctions import frechet_least, frechet_most
from margrave.algebra.table import Table
from margrave.errors import RefusedError, UsageError
from margrave.models.model import Mask, Model
from margrave.score.measures import check_same_cells

LARGEST_SHARP = 1024
"""The most cells for which sharp bounds are found by linear programming, two programs a cell."""


@dataclass(frozen=True)
class SmallCells:
    """The true cells with counts from 1 to ``at_most``, and what the release says of them.

    ``true``: how many there are. ``shown``: cells that the release gives such a count, rightly or wrongly.
    ``located``: cells in both sets. ``matched``: true small cells whose released count is the true one.
    """

    at_most: int
    true: int
    shown: int
    located: int
    matched: int

    @property
    def recall(self) -> float:
        """The share of small cells that the release gives exactly; 0 when there are none."""
        return self.matched / self.true if self.true else 0.0

    @property
    def precision(self) -> float:
        """The share of cells shown as small whose count is right; 0 when none is shown."""
        return self.matched / self.shown if self.shown else 0.0


def small_cells(truth: Table, released: Table, at_most: int = 1) -> SmallCells:
    """Match small counts cell by cell, by default the sample uniques; released counts are rounded first."""
    check_same_cells(truth, released)
    if at_most < 1:
        raise UsageError(f"at_most ({at_most}) must be at least 1: a small cell has somebody in it")
    if truth.counts.dtype.kind == "f" and (truth.counts != np.rint(truth.counts)).any():
        raise UsageError("the true table must have whole counts")
    true, seen = np.rint(truth.counts), np.rint(released.counts)
    small, shown = _between(true, at_most), _between(seen, at_most)
    counts = (small, shown, small & shown, small & (true == seen))
    return SmallCells(at_most, *(int(cells.sum()) for cells in counts))


def _between(counts: Floats, at_most: int) -> Mask:
    chosen: Mask = (counts >= 1) & (counts <= at_most)
    return chosen


@dataclass(frozen=True, eq=False)
class Bounds:
    """The least and the largest count of every cell that the published margins allow.

    ``sharp``: some non-negative table with the margins attains each bound (each bound before rounding, if rounded).
    """

    low: Floats
    high: Floats
    sharp: bool

    def exposed(self, truth: Table, at_most: int = 3, width: float = 0.0) -> int:
        """How many true cells with counts from 1 to ``at_most`` are known to within ``width``."""
        if truth.counts.shape != self.low.shape:
            raise UsageError("the bounds are not of this table")
        known = self.high - self.low <= width + 1e-6
        return int((known & _between(np.rint(truth.counts), at_most)).sum())


def bounds(model: Model, table: Table) -> Bounds:
    """Sharp bounds on each cell given the margins of the model's generators: a formula if decomposable, else programs.

    A table of whole counts gets whole bounds. For decomposable models these are attained by whole tables; otherwise
    they are rounded inwards from the real ones, and whole tables may be bounded more tightly still.
    """
    return frechet_bounds(model, table) if model.sequence is not None else sharp_bounds(model, table)


def frechet_bounds(model: Model, table: Table) -> Bounds:
    """``max(0, Σ generators − Σ separators) ≤ n ≤ min generators``, sharp for decomposable models.

    A model that is not decomposable gets the upper bound and 0, which hold but are not sharp.
    """
    counts = _checked(model, table)

    def margin(names: Margin) -> Floats:
        return np.asarray(counts.sum(axis=model.axes_outside(names), keepdims=True))

    high = np.broadcast_to(frechet_most(map(margin, model.generators)), counts.shape).copy()
    low = np.zeros(counts.shape)
    if model.sequence is not None and not any(model.domain[name].size > 1 for name in model.free):
        (first, _), *rest = model.sequence
        joined = [(margin(first), None), *((margin(one), margin(separator)) for one, separator in rest)]
        low = np.broadcast_to(frechet_least(joined), counts.shape).copy()
    return Bounds(low, high, model.sequence is not None)


def sharp_bounds(model: Model, table: Table) -> Bounds:
    """The least and the largest value of each cell over all non-negative tables with the margins, by linear program."""
    cells = table.counts.size
    if cells > LARGEST_SHARP:
        raise RefusedError(
            f"sharp bounds on {cells} cells need {2 * cells} linear programs, over the limit of {LARGEST_SHARP} cells; "
            "frechet_bounds has no such limit"
        )
    counts = _checked(model, table).ravel()
    matrix = model.incidence()
    margins = matrix @ counts
    # A cell below an empty generator cell is known to be zero, and one pair of programs serves each of the others.
    open_cells = np.flatnonzero(matrix.T @ (margins == 0) == 0)
    matrix = matrix[:, open_cells]
    low, high = np.zeros(cells), np.zeros(cells)
    for place, cell in enumerate(open_cells):
        goal = np.zeros(len(open_cells))
        goal[place] = 1.0
        for sign, side in ((1.0, low), (-1.0, high)):
            answer = linprog(sign * goal, A_eq=matrix, b_eq=margins, bounds=(0, None), method="highs")
            if answer.status != 0:
                raise RefusedError(f"a linear program for the bounds under {model} was not solved: {answer.message}")
            side[cell] = sign * answer.fun
    low, high = np.minimum(low, counts), np.maximum(high, counts)
    if (counts == np.rint(counts)).all():
        low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
    return Bounds(low.reshape(table.counts.shape), high.reshape(table.counts.shape), True)


def _checked(model: Model, table: Table) -> Floats:
    """The counts as reals, when they are counts over the model's domain."""
    if table.margin != model.domain.names or table.domain.restrict(table.margin) != model.domain:
        raise UsageError("the table is not over the attributes and values of the model's domain")
    counts = table.counts.astype(float)
    if not (counts >= 0).all() or not np.isfinite(counts).all():
        raise UsageError("the table has cells that are negative or not finite; bounds need counts")
    return counts
