"""Residuals shrunk block by block: each towards what the smaller tables alone would make of it.

Without an interaction of all its attributes, a table is the one of largest entropy that has the smaller tables: for
one attribute the even one, for two the product of the one-way tables, for more the limit of proportional fitting. Its
residual b_T is what R_T is expected to be, and R̂_T is drawn towards it, cell by cell:

    b_T + D (R̂_T − b_T),      D(y) = m(y) / (m(y) + κ m̄)

where m is that table and m̄ the mean of its cells: an interaction moves cells in proportion to their size, noise moves
all of them alike. κ is chosen for each block by Stein's estimate of its squared error, from 0, where the residual stays
as it was measured, to ∞, where it is b_T. So weak interactions are left out and strong ones kept, and nothing has to be
said about which are which. It needs no full table, and takes as long as reading all tables a few dozen times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.lattice import downward_closure, subsets
from margrave.algebra.residual import centre
from margrave.reconstruct.estimates import Estimates

_PULLS = np.concatenate([[0.0], 2.0 ** np.arange(-8, 13)])
"""The values of κ that are compared, beside ∞."""
_FITTED = 12
"""How often a table is fitted in turn to each of the smaller ones."""
_LEAST = 0.01
"""No cell of a table that is shrunk to holds less than this part of what it would hold if all were alike."""
_CELLS, _TABLES, _WIDEST = 1 << 24, 1 << 13, 6
"""The most cells to be read, tables, and attributes of one, for which this is done."""


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Shrunk ``estimates``, and for each residual ``kept``: the mean of D, how much of what was measured is left."""

    estimates: Estimates
    kept: Mapping[Margin, float]


def shrinkable(estimates: Estimates) -> bool:
    """Whether this can be done: every residual has noise but perhaps the total, and there are not too many tables."""
    noisy = all(variance > 0 for margin, variance in estimates.variances.items() if margin)
    if not noisy or estimates.total < 1.0 or len(estimates.values) > _TABLES:
        return False
    few = max(map(len, estimates.values)) <= _WIDEST
    return few and sum(estimates.domain.cells(margin) << len(margin) for margin in estimates.values) <= _CELLS


def shrunk(estimates: Estimates) -> Shrunk:
    """The same estimates, each residual drawn towards what the tables below it say."""
    domain, total = estimates.domain, estimates.total
    if total < 1.0:  # nobody to have an interaction: so it can be where known noise was added
        return Shrunk(estimates, dict.fromkeys(estimates.values, 1.0))
    tables: dict[Margin, Floats] = {(): np.array(total)}
    values: dict[Margin, Floats] = {(): estimates.values[()]}
    kept: dict[Margin, float] = {(): 1.0}
    for margin in sorted(downward_closure(estimates.values), key=len):
        if not margin:
            continue
        below = {one: tables[one] for one in subsets(margin) if len(one) == len(margin) - 1}
        without = no_interaction(domain.shape(margin), total, margin, below)
        if margin not in estimates.values:  # nothing is known of this interaction, so there is none
            tables[margin] = without
            continue
        start = residual_of(without)
        pull = _pull(estimates.values[margin] - start, without, estimates.variances[margin])
        values[margin] = start + residual_of(pull * (estimates.values[margin] - start))
        kept[margin] = float(pull.mean())
        tables[margin] = _positive(without - start + values[margin], total)
    return Shrunk(Estimates(domain, values, {one: estimates.variances[one] for one in values}), kept)


def no_interaction(shape: Sequence[int], total: float, margin: Margin, below: Mapping[Margin, Floats]) -> Floats:
    """The positive table of largest entropy with the smaller tables that are given, nearly."""
    table = np.full(shape, total / prod(shape))
    for _ in range(1 if len(margin) <= 2 else _FITTED):
        for one, wanted in below.items():
            axes = tuple(axis for axis, name in enumerate(margin) if name not in one)
            now = table.sum(axis=axes, keepdims=True)
            table = table * (wanted.reshape(now.shape) / now)
    return table


def residual_of(table: Floats) -> Floats:
    """A table centred along each of its axes."""
    for axis in range(table.ndim):
        table = centre(table, axis)
    return table


def _pull(apart: Floats, without: Floats, variance: float) -> Floats:
    """D for the κ of the least estimated error, given how far the residual is from that of no interaction."""
    freedom = prod(size - 1 for size in apart.shape)
    share, mean = freedom / apart.size, float(without.mean())
    best, least = np.zeros_like(apart), float((apart**2).sum())
    for kappa in _PULLS:
        pull = without / (without + kappa * mean)
        risk = float((((1 - pull) * apart) ** 2).sum()) + 2 * variance * share * float(pull.sum())
        if risk < least:
            best, least = pull, risk
    return best


def _positive(table: Floats, total: float) -> Floats:
    """The table with its small cells raised, at the same total."""
    raised = np.maximum(table, _LEAST * total / table.size)
    return np.asarray(raised * (total / raised.sum()))
