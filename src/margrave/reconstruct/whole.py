"""Whole numbers: rounding that keeps the total and moves the wanted tables as little as it can.

``controlled``: each cell goes to one of its two neighbouring whole numbers, the sum is kept, and among such roundings
one is sought that has a small ``½ Σ_α mean_y (M_α x − M_α w)²`` over the wanted margins α. In the coordinates of
:mod:`margrave.reconstruct.spectrum` that is ``½ Σ q_T ‖·‖²`` with ``q_T = Σ_{α⊇T} ∏_{j∉α} k_j / cells(α)``. The
start is cumulative rounding along the table; then units move from a cell to another while that helps: one by one in a
small table, in batches that are halved when they stop helping in a large one.

``nearest``: each cell to its nearest whole number, halves to the even one. It can lose most of a sparse table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.errors import UsageError, suggest
from margrave.reconstruct.estimates import Floats, Possible
from margrave.reconstruct.spectrum import Transform

Integers = NDArray[np.int64]

METHODS = ("controlled", "nearest")

_SMALL = 2048
"""Up to this many cells every single exchange is looked at."""
_WORK = 2_000_000_000
"""Cells times batches of exchanges, at most."""


@dataclass(frozen=True, eq=False)
class Whole:
    """A table of whole numbers, and for each wanted margin the largest change of one of its cells by the rounding."""

    table: Integers
    changes: Mapping[Margin, float]


def whole(
    table: Floats,
    domain: Domain,
    wanted: Sequence[Margin],
    method: str = "controlled",
    *,
    total: int | None = None,
    possible: Possible | None = None,
) -> Whole:
    """Round a non-negative table; ``total`` (by default the rounded sum) is kept by the controlled method."""
    if method not in METHODS:
        raise UsageError(f"unknown rounding {method!r}{suggest(method, METHODS)}; there are {', '.join(METHODS)}")
    table = np.asarray(table, dtype=np.float64)
    if table.shape != domain.shape() or not np.isfinite(table).all() or (table < 0).any():
        raise UsageError(f"a table to round must be finite, not negative and of shape {domain.shape()}")
    if possible is not None:
        table = np.where(possible, table, 0.0)
    if method == "nearest":
        rounded = np.rint(table).astype(np.int64)
    else:
        rounded = _controlled(table, domain, wanted, int(np.rint(table.sum())) if total is None else total, possible)
    return Whole(rounded, {margin: _change(domain, margin, rounded - table) for margin in wanted})


def _change(domain: Domain, margin: Margin, moved: Floats) -> float:
    axes = tuple(axis for axis, name in enumerate(domain.names) if name not in margin)
    return float(np.abs(moved.sum(axis=axes)).max())


def _controlled(
    table: Floats, domain: Domain, wanted: Sequence[Margin], total: int, possible: Possible | None
) -> Integers:
    if total < 0:
        raise UsageError(f"a total ({total}) cannot be negative")
    table = _scaled(table, total, possible)
    start = _cumulative(table, total)
    if total == 0 or not len(domain):
        return start
    transform, weights = Transform(domain.shape()), _weights(domain, wanted)
    search = _single if table.size <= _SMALL else _batches
    return search(table, start, transform, weights)


def _scaled(table: Floats, total: int, possible: Possible | None) -> Floats:
    """The table scaled to the total; all possible cells alike if it is empty."""
    mass = float(table.sum())
    if mass > 0:
        return table * (total / mass)
    allowed = np.ones(table.shape) if possible is None else possible.astype(float)
    return np.asarray(allowed * (total / allowed.sum()))


def _cumulative(table: Floats, total: int) -> Integers:
    """Each running sum rounded: every cell moves by less than one, and the total is met."""
    sums = np.floor(np.cumsum(table.ravel()) + 0.5).astype(np.int64)
    sums[-1:] = total
    sums = np.minimum(sums, total)
    rounded = np.diff(sums, prepend=0)
    low = np.floor(table.ravel()).astype(np.int64)
    # Rounding errors of the running sum must not fill a cell that is empty.
    stray = np.flatnonzero((rounded > 0) & (table.ravel() <= 0))
    if stray.size:
        extra = int(rounded[stray].sum())
        rounded[stray] = 0
        rounded[int(np.argmax(table.ravel() - low + (table.ravel() > 0)))] += extra
    return rounded.reshape(table.shape)


def _weights(domain: Domain, wanted: Sequence[Margin]) -> Floats:
    """q_T at the coordinates of T, and a little everywhere so that single cells are kept where nothing else decides."""
    weights = np.full(domain.shape(), 1e-6 / domain.cells())
    for margin in downward_closure(wanted):
        block = tuple(slice(1, None) if name in margin else slice(0, 1) for name in domain.names)
        weights[block] += sum(
            domain.cells() / domain.cells(above) ** 2 for above in wanted if set(margin) <= set(above)
        )
    return weights


def _single(table: Floats, start: Integers, transform: Transform, weights: Floats) -> Integers:
    """Steepest exchange: the best pair of cells, again and again until no exchange helps."""
    size = table.size
    low = np.floor(table.ravel()).astype(np.int64)
    high = np.ceil(table.ravel()).astype(np.int64)
    rounded = start.ravel().copy()
    pairs = _pair_matrix(transform, weights, size)
    alone = float(pairs[0, 0])
    slope = pairs @ (rounded - table.ravel())
    for _ in range(20 * size):
        giving, taking = np.flatnonzero(rounded > low), np.flatnonzero(rounded < high)
        if not giving.size or not taking.size:
            break
        gains = slope[giving][:, None] - slope[taking][None, :] + pairs[np.ix_(giving, taking)]
        best = int(np.argmax(gains))
        if gains.flat[best] <= alone + 1e-12:
            break
        giver, taker = giving[best // taking.size], taking[best % taking.size]
        rounded[giver] -= 1
        rounded[taker] += 1
        slope += pairs[taker] - pairs[giver]
    return rounded.reshape(table.shape)


def _pair_matrix(transform: Transform, weights: Floats, size: int) -> Floats:
    """The quadratic form between cells: row i is the form applied to a single unit in cell i."""
    rows = np.empty((size, size))
    for cell in range(size):
        unit = np.zeros(size)
        unit[cell] = 1.0
        rows[cell] = transform.backward(weights * transform.forward(unit.reshape(transform.shape))).ravel()
    return rows


def _batches(table: Floats, start: Integers, transform: Transform, weights: Floats) -> Integers:
    """Exchange many units at once between the cells where that helps most, fewer when it stops helping."""
    flat = table.ravel()
    low, high = np.floor(flat).astype(np.int64), np.ceil(flat).astype(np.int64)
    rounded = start.ravel().copy()
    slope, value = _form(rounded - flat, transform, weights)
    batch = max(1, int((high > low).sum()) // 8)
    for _ in range(max(8, min(600, _WORK // table.size))):
        giving, taking = np.flatnonzero(rounded > low), np.flatnonzero(rounded < high)
        batch = min(batch, giving.size, taking.size)
        if batch == 0:
            break
        givers = giving[np.argpartition(-slope[giving], batch - 1)[:batch]]
        takers = taking[np.argpartition(slope[taking], batch - 1)[:batch]]
        tried = rounded.copy()
        tried[givers] -= 1
        tried[takers] += 1
        new_slope, new_value = _form(tried - flat, transform, weights)
        if new_value < value - 1e-12:
            rounded, slope, value = tried, new_slope, new_value
        elif batch == 1:
            break
        else:
            batch = max(1, batch // 2)
    return rounded.reshape(table.shape)


def _form(moved: Floats, transform: Transform, weights: Floats) -> tuple[Floats, float]:
    """The slope of the quadratic form at a change of the table, and its value."""
    slope = transform.backward(weights * transform.forward(moved.reshape(transform.shape))).ravel()
    return slope, 0.5 * float(slope @ moved)
