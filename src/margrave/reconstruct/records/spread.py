"""How far published counts are from the truth, as a part of the error of the unbiased ones, told by known noise.

With p published and u unbiased, of variance σ², E(p − t)² = E(p − u)² − σ² + 2 Cov(p, u) for whatever truth t: the bias
of leaning on a model is in the first term, whether or not the model holds. The covariance is how far p follows a known
noise (:mod:`margrave.reconstruct.records.risk`). One cell tells next to nothing of it, so the mean is taken over all
cells of all wanted tables whose counts are about as large, in units of their σ. The larger a count, the more of σ it is
off by: where means say otherwise, neighbouring ones are taken together until they rise.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from math import sqrt

import numpy as np

from margrave.algebra.arrays import Array, Floats
from margrave.algebra.domain import Margin
from margrave.algebra.lattice import subsets
from margrave.algebra.residual import margin_from
from margrave.planning.strategies.demand import coefficient
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.records.layout import TableCells

Spreads = tuple[tuple[float, float], ...]
"""Errors of published counts as a part of σ: for counts from so many σ on, this part. None where nothing is told."""

_EDGES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_FEWEST = 50
"""Fewer cells do not tell: counts are taken together with smaller ones until there are so many."""
_SURELY = 1.0
"""The mean square is taken to be larger than it comes out by so many of its standard errors: without, half of all
intervals would be too narrow, with two of them nearly all too wide (docs/adaptive.md).
"""
_LEAST, _MOST = 0.2, 1e6
"""No published count is said to be nearer, or farther off, than these parts of σ."""
_DIGITS = 4
"""As they are published."""


def is_predicted(margin: Margin, selected: Container[Margin]) -> bool:
    """Whether a model predicts a table of which it does not follow the answers, as it does those of single attributes
    and of selected tables.
    """
    return len(margin) > 1 and margin not in selected


def spreads(
    estimates: Estimates,
    wanted: Sequence[Margin],
    tables: TableCells,
    published: Floats,
    followed: Floats,
    noise: Floats,
) -> Spreads:
    """What the published counts tell. ``followed``: how they change with the known ``noise`` of the residuals."""
    place = {margin: index for index, margin in enumerate(tables.margins)}
    moved = {margin: tables.part(noise, at).reshape(estimates.values[margin].shape) for margin, at in place.items()}
    sizes, squares = [np.zeros(0)], [np.zeros(0)]
    for margin in wanted:
        if margin not in place:
            continue
        variance = _variance(estimates, margin)
        counts, change = (tables.part(one, place[margin]) for one in (published, followed))
        unbiased, known = (_table(estimates, margin, values) for values in (estimates.values, moved))
        sizes.append(counts / sqrt(variance))
        squares.append(((unbiased - counts) ** 2 + 2 * change * known) / variance - 1)
    return _by_size(np.concatenate(sizes), np.concatenate(squares))


def _variance(estimates: Estimates, margin: Margin) -> float:
    """That of an unbiased cell."""
    shape = estimates.domain.shape
    return sum(coefficient(shape(margin), shape(below)) * estimates.variances[below] for below in subsets(margin))


def _table(estimates: Estimates, margin: Margin, values: Mapping[Margin, Array]) -> Floats:
    """A table of residuals, those that are not given being zero."""
    shape = estimates.domain.shape
    parts = {below: values.get(below, np.zeros(shape(below))) for below in subsets(margin)}
    return np.asarray(margin_from(estimates.domain, margin, parts), dtype=float).ravel()


def _by_size(sizes: Floats, squares: Floats) -> Spreads:
    """The root of the mean square, rather too large than too small, from each edge to the next with cells enough."""
    runs: list[tuple[list[float], Floats]] = []
    for edge, inside in _slices(sizes, squares):
        runs.append(([edge], inside))
        while len(runs) > 1 and runs[-2][1].mean() > runs[-1][1].mean():
            (one, few), (other, more) = runs.pop(-2), runs.pop()
            runs.append((one + other, np.concatenate([few, more])))
    found, least = list[tuple[float, float]](), _LEAST
    for edges, inside in runs:
        mean = float(inside.mean() + _SURELY * inside.std() / sqrt(len(inside)))
        least = min(max(least, sqrt(max(mean, 0.0))), _MOST)
        found += [(edge, round(least, _DIGITS)) for edge in edges]
    return tuple(found)


def _slices(sizes: Floats, squares: Floats) -> list[tuple[float, Floats]]:
    """The squares from each edge to the next, as far as there are enough of them; the smallest counts first."""
    found, left = list[tuple[float, Floats]](), np.inf
    for edge in reversed(_EDGES):
        inside = squares[(sizes >= edge) & (sizes < left)]
        if len(inside) >= _FEWEST:
            found.append((edge, inside))
            left = edge
    return found[::-1]


def checked(found: Spreads) -> Spreads:
    """What was read, if it can have come out so; a ValueError otherwise."""
    edges, parts = [edge for edge, _ in found], [part for _, part in found]
    rising = edges == sorted({*edges} & {*_EDGES}) and parts == sorted(parts)
    if not rising or not all(_LEAST <= part <= _MOST for part in parts):
        raise ValueError
    return found


def spread_at(found: Spreads, sizes: Floats) -> Floats:
    """The part of σ that published counts of so many σ are off by; 1 below what is told."""
    parts = np.ones(sizes.shape)
    for edge, part in found:
        parts[sizes >= edge] = part
    return parts
