"""Simple non-negativity of a full table: the constant raised until no cell is negative."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
