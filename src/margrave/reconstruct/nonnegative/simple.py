"""Simple non-negativity: the constant raised until no cell is negative, and how much raising suffices by theory."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

import numpy as np
from scipy.special import gammaincinv

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.errors import UsageError
from margrave.progress import Progress
from margrave.reconstruct.estimates import Estimates, Possible
from margrave.reconstruct.nonnegative.solvers import NonNegative, solver


@solver("simple")
def _solve(
    estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None, progress: Progress | None
) -> NonNegative:
    table, growth = raised(estimates)
    return NonNegative.of(estimates, table, "simple", f"total raised by {growth:.6g}")


def raised(estimates: Estimates) -> tuple[Floats, float]:
    """Simple non-negativity: the table of the released coefficients alone, its constant raised until no cell is
    negative; and by how much the total grew. Everything but the total is kept.
    """
    if estimates.exact(()):
        raise UsageError("the method 'simple' changes the total, which is a public fact here: use 'least-squares'")
    domain = estimates.domain
    table = np.zeros(domain.shape())
    for margin, value in estimates.values.items():
        axes = [domain[name].size if name in margin else 1 for name in domain.names]
        table = table + value.reshape(axes) * (domain.cells(margin) / domain.cells())
    lowest = min(float(table.min()), 0.0)
    return np.maximum(table - lowest, 0.0), -lowest * domain.cells()


def sufficient_raise(scale: float, contrasts: int, failure: float) -> float:
    """How much to raise the total so that every margin is non-negative with probability at least 1 − ``failure``.

    For ``contrasts`` Fourier coefficients, each a ±1 contrast with discrete Laplace noise of the given scale: a margin
    sinks by at most the sum of the |noise| over the number of its cells. |noise| is at most an exponential variable
    plus ``scale · log(2/(1 + e^(−1/scale)))`` in distribution, and a sum of exponentials is a gamma variable. Holds for
    margins rebuilt from the released coefficients, whatever the data.
    """
    if not 0 < failure < 1 or contrasts < 1 or scale <= 0:
        raise UsageError("a raise needs a positive scale, at least one contrast and a failure probability in (0, 1)")
    discrete = log(2.0 / (1.0 + exp(-1.0 / scale)))
    return scale * (float(gammaincinv(contrasts, 1.0 - failure)) + contrasts * discrete)
