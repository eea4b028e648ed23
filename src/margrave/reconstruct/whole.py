"""Whole numbers: rounding that keeps exact counts and moves the wanted tables as little as it can.

``controlled``: first a table over the attributes of the exact counts is found that has them (by default that is the
total). Then each cell goes to one of its two neighbouring whole numbers such that every slice above a cell of that
table sums up to it, and among such roundings one is sought that has a small ``½ Σ_α mean_y (M_α x − M_α w)²`` over
the wanted margins α. In the coordinates of `spectrum` that is ``½ Σ q_T ‖·‖²`` with
``q_T = Σ_{α⊇T} ∏_{j∉α} k_j / cells(α)``. The start is cumulative rounding along each slice; then
units move from a cell to another of the same slice while that helps: one by one in a small table, in batches that are
halved when they stop helping in a large one.

``nearest``: each cell to its nearest whole number, halves to the even one. It can lose most of a sparse table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.algebra.spectrum import Transform
from margrave.errors import UsageError, suggest
from margrave.planning.limits import is_wide
from margrave.reconstruct.estimates import Possible
from margrave.reconstruct.exact import ExactCounts, sliced, slices, whole_core

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
    exact: ExactCounts | None = None,
    possible: Possible | None = None,
) -> Whole:
    """Round a non-negative table; the controlled method keeps ``exact`` counts, by default the rounded sum."""
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
        kept = exact or ExactCounts(domain, {(): np.rint(table.sum()).astype(np.int64)})
        rounded = _controlled(table, domain, wanted, kept, possible)
    return Whole(rounded, {margin: _change(domain, margin, rounded - table) for margin in wanted})


def _change(domain: Domain, margin: Margin, moved: Floats) -> float:
    axes = tuple(axis for axis, name in enumerate(domain.names) if name not in margin)
    return float(np.abs(moved.sum(axis=axes)).max())


def _controlled(
    table: Floats, domain: Domain, wanted: Sequence[Margin], exact: ExactCounts, possible: Possible | None
) -> Integers:
    counts, groups = whole_core(exact, table, possible).ravel(), slices(domain, exact.names)
    table = sliced(table, groups, counts, possible)
    start = _cumulative(table, groups, counts)
    if not counts.any() or len(counts) == table.size:
        return start
    if table.size <= _SMALL:
        return _single(table, start, groups, _pair_matrix(domain, tuple(wanted)))
    return _batches(table, start, groups, Transform(domain.shape()), _weights(domain, wanted))


def _cumulative(table: Floats, groups: Integers, counts: Integers) -> Integers:
    """Each running sum along a slice rounded: every cell moves by less than one, and the counts are met."""
    order = np.argsort(groups, kind="stable") if len(counts) > 1 else np.arange(table.size)
    group, flat = groups[order], table.ravel()[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    last = np.append(first[1:], len(flat)) - 1
    sums = np.cumsum(flat)
    sums = sums - np.repeat(np.append(0.0, sums[last[:-1]]), last - first + 1)
    running = np.floor(sums + 0.5).astype(np.int64)
    running[last] = counts[group[last]]
    running = np.minimum(running, counts[group])
    steps = np.diff(running, prepend=0)
    steps[first] = running[first]
    rounded: Integers = np.empty(table.size, dtype=np.int64)
    rounded[order] = steps
    # Rounding errors of the running sum must not fill a cell that is empty.
    cells = table.ravel()
    for stray in np.flatnonzero((rounded > 0) & (cells <= 0)):
        same = np.flatnonzero((groups == groups[stray]) & (cells > 0))
        rounded[same[int(np.argmax(cells[same] - rounded[same]))]] += rounded[stray]
        rounded[stray] = 0
    return rounded.reshape(table.shape)


def _weights(domain: Domain, wanted: Sequence[Margin]) -> Floats:
    """q_T at the coordinates of T, and a little everywhere so that single cells are kept where nothing else decides."""
    weights = np.full(domain.shape(), 1e-6 / domain.cells())
    if any(is_wide(domain.shape(margin)) for margin in wanted):
        for above in wanted:
            inside = tuple(slice(None) if name in above else slice(0, 1) for name in domain.names)
            weights[inside] += domain.cells() / domain.cells(above) ** 2
        return weights
    for margin in downward_closure(wanted):
        block = tuple(slice(1, None) if name in margin else slice(0, 1) for name in domain.names)
        weights[block] += sum(
            domain.cells() / domain.cells(above) ** 2 for above in wanted if set(margin) <= set(above)
        )
    return weights


def _single(table: Floats, start: Integers, groups: Integers, pairs: Floats) -> Integers:
    """Steepest exchange: the best pair of cells, again and again until no exchange helps."""
    size = table.size
    low = np.floor(table.ravel()).astype(np.int64)
    high = np.ceil(table.ravel()).astype(np.int64)
    rounded = start.ravel().copy()
    alone = float(pairs[0, 0])
    slope = pairs @ (rounded - table.ravel())
    for _ in range(20 * size):
        giving, taking = np.flatnonzero(rounded > low), np.flatnonzero(rounded < high)
        if not giving.size or not taking.size:
            break
        gains = slope[giving][:, None] - slope[taking][None, :] + pairs[np.ix_(giving, taking)]
        gains[groups[giving][:, None] != groups[taking][None, :]] = -np.inf
        best = int(np.argmax(gains))
        if gains.flat[best] <= alone + 1e-12:
            break
        giver, taker = giving[best // taking.size], taking[best % taking.size]
        rounded[giver] -= 1
        rounded[taker] += 1
        slope += pairs[taker] - pairs[giver]
    return rounded.reshape(table.shape)


@lru_cache(maxsize=1)
def _pair_matrix(domain: Domain, wanted: tuple[Margin, ...]) -> Floats:
    """The quadratic form between cells: row i is the form applied to a single unit in cell i."""
    transform, weights, size = Transform(domain.shape()), _weights(domain, wanted), domain.cells()
    rows = np.empty((size, size))
    for cell in range(size):
        unit = np.zeros(size)
        unit[cell] = 1.0
        rows[cell] = transform.backward(weights * transform.forward(unit.reshape(transform.shape))).ravel()
    return rows


def _batches(table: Floats, start: Integers, groups: Integers, transform: Transform, weights: Floats) -> Integers:
    """Exchange many units at once between the cells where that helps most, fewer when it stops helping."""
    flat = table.ravel()
    low, high = np.floor(flat).astype(np.int64), np.ceil(flat).astype(np.int64)
    rounded = start.ravel().copy()
    slope, value = _form(rounded - flat, transform, weights)
    batch = max(1, int((high > low).sum()) // 8)
    for _ in range(max(8, min(600, _WORK // table.size))):
        giving, taking = np.flatnonzero(rounded > low), np.flatnonzero(rounded < high)
        givers, takers = _matched(giving, taking, slope, groups, batch)
        batch = min(batch, givers.size)
        if batch == 0:
            break
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


def _matched(
    giving: Integers, taking: Integers, slope: Floats, groups: Integers, most: int
) -> tuple[Integers, Integers]:
    """Pairs of cells, each in one slice, between which a unit should move first: the steepest of each slice, then the
    second steepest, and of all these the best ``most``.
    """
    most = min(most, giving.size, taking.size)
    if groups[0] == groups[-1]:  # a single slice
        if not most:
            return giving[:0], taking[:0]
        return giving[np.argpartition(-slope[giving], most - 1)[:most]], taking[
            np.argpartition(slope[taking], most - 1)[:most]
        ]
    givers, givers_key = _ranked(giving, -slope[giving], groups)
    takers, takers_key = _ranked(taking, slope[taking], groups)
    _, left, right = np.intersect1d(givers_key, takers_key, assume_unique=True, return_indices=True)
    givers, takers = givers[left], takers[right]
    gains = slope[givers] - slope[takers]
    best = np.argsort(-gains, kind="stable")[:most]
    best = best[gains[best] > 0]
    return givers[best], takers[best]


def _ranked(cells: Integers, steepness: Floats, groups: Integers) -> tuple[Integers, Integers]:
    """The cells slice by slice, the steepest first, each with a number made of its slice and its rank there."""
    order = np.lexsort((steepness, groups[cells]))
    cells = cells[order]
    group = groups[cells]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    rank = np.arange(len(cells)) - np.repeat(first, np.diff(np.append(first, len(cells))))
    return cells, group * len(groups) + rank


def _form(moved: Floats, transform: Transform, weights: Floats) -> tuple[Floats, float]:
    """The slope of the quadratic form at a change of the table, and its value."""
    slope = transform.backward(weights * transform.forward(moved.reshape(transform.shape))).ravel()
    return slope, 0.5 * float(slope @ moved)
