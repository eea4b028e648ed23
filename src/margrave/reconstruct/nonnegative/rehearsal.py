"""Rehearsals: each of two tables plays the truth, and both estimators are tried on noisy estimates of it.

Stein's estimate of risk is unbiased for whatever truth, but its own noise is 2⟨Mg, f₁ − f₂⟩ for two estimators f₁ and
f₂ of tables with noise g. In a small table that is more than their risks differ by. A rehearsal has none of it: what an
estimator gives for noisy estimates of a known table is compared with that table. In return it knows only the two tables
that the estimators themselves made of the answers. The estimator is taken whose largest regret is the smaller one, its
regret being what its mean absolute error exceeds the other's by, as a part of that, with either table as the truth.

So a posterior mean that is better wherever it is right, and hardly worse where it is wrong, is taken; one that cannot
give the empty cells which its rival found is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.residual import decompose
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.stein import draws, tables_of

_DRAWS = 4
"""How many draws of noise are added and, so that their mean is none, taken away. With two, 3 of 60 choices on 70
records were other ones.
"""

Refit = Callable[[Sequence[Estimates]], Sequence[Floats]]
"""An estimator: the full table for each of some noisy estimates."""


def regrets(
    estimates: Estimates, margins: Sequence[Margin], tables: tuple[Floats, Floats], refits: tuple[Refit, Refit]
) -> tuple[float, float]:
    """The largest regret of both estimators, over the ``tables`` that they gave and the wanted ``margins``."""
    every = [one for table in tables for one in _rehearsed(estimates, table)]
    found = [refit(every) for refit in refits]
    each = len(every) // len(tables)
    losses = np.zeros((2, 2))
    for estimator, fitted in enumerate(found):
        for number, table in enumerate(fitted):
            truth = number // each
            apart = tables_of(estimates, table, margins) - tables_of(estimates, tables[truth], margins)
            losses[estimator, truth] += float(np.abs(apart).sum()) / each
    excess = losses / np.maximum(losses.min(axis=0), 1e-300) - 1
    return float(excess[0].max()), float(excess[1].max())


def _rehearsed(estimates: Estimates, table: Floats) -> list[Estimates]:
    """Noisy estimates as they would be if the table were the truth."""
    axes = {margin: tuple(estimates.domain.names.index(name) for name in margin) for margin in estimates.values}
    parts = decompose(table, table.ndim, wanted=set(axes.values()))
    found = []
    for drawn in draws(estimates, _DRAWS, "margrave rehearsal"):
        for sign in (1, -1):
            values = {margin: parts[axes[margin]] + sign * noise for margin, noise in drawn.values.items()}
            found.append(Estimates(estimates.domain, values, estimates.variances))
    return found
