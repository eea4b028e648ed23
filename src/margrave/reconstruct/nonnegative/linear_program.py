"""The min–max program of Barak et al. and Yang et al., and their simple raise of the total.

    minimise b   over w ≥ 0, w = 0 where impossible, |f^T(w) − f̂^T| ≤ b for every measured T

in the coordinates ``f^T(x_T) = R_T(x_T) / ∏_{j∉T} k_j``; for binary attributes these are Fourier coefficients times
2^(−k/2), so the program is Barak's. A vertex is returned: it has at most as many non-empty cells as there are
independent coordinates, on which the papers' rounding bound rests.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array, eye_array
from scipy.special import gammaincinv

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.errors import MargraveError, RefusedError, UsageError
from margrave.reconstruct.estimates import Estimates, Possible

LARGEST = 1 << 16
"""The most cells for which the program is solved."""


@dataclass(frozen=True)
class LinearProgram:
    """A non-negative table, and the largest error ``bound`` of its coordinates f^T."""

    table: Floats
    bound: float


def linear_program(estimates: Estimates, possible: Possible | None = None) -> LinearProgram:
    """Solve by the dual simplex method. Variables: the cells w, the errors e of the coordinates, the bound b."""
    cells = estimates.domain.cells()
    if cells > LARGEST:
        raise RefusedError(
            f"the linear program is for tables of up to {LARGEST} cells, and this one has {cells}: "
            "use the method 'least-squares'"
        )
    blocks = [_coordinates(estimates, margin) for margin in estimates.values]
    rows = np.concatenate([block for block, _ in blocks])
    targets = np.concatenate([target for _, target in blocks])
    known = np.repeat([estimates.exact(margin) for margin in estimates.values], [len(block) for block, _ in blocks])
    count = len(rows)
    identity, bound = eye_array(count), csr_array(np.ones((count, 1)))
    sides = block_array([[csr_array((count, cells)), identity, -bound], [csr_array((count, cells)), -identity, -bound]])
    allowed = np.ones(cells, dtype=bool) if possible is None else possible.ravel()
    limits: list[tuple[float | None, float | None]] = [(0.0, None if one else 0.0) for one in allowed]
    limits += [(0.0, 0.0) if one else (None, None) for one in known]
    solved = linprog(
        np.r_[np.zeros(cells + count), 1.0],
        A_ub=sides.tocsc(),
        b_ub=np.zeros(2 * count),
        A_eq=block_array([[csr_array(rows), -identity, csr_array((count, 1))]]).tocsc(),
        b_eq=targets,
        bounds=[*limits, (0.0, None)],
        method="highs-ds",
    )
    if solved.status != 0:
        raise MargraveError(f"the linear program was not solved ({solved.message}): use the method 'least-squares'")
    table = np.maximum(solved.x[:cells], 0.0).reshape(estimates.domain.shape())
    return LinearProgram(table, float(solved.x[-1]))


def _coordinates(estimates: Estimates, margin: Margin) -> tuple[Floats, Floats]:
    """The rows that take f^T from the cells, and the estimates. Of two opposite coordinates one is enough."""
    domain = estimates.domain
    rows: Floats = np.ones((1, 1))
    keep = []
    for attribute in domain:
        size = attribute.size
        if attribute.name in margin:
            centred = np.eye(size) - 1.0 / size
            rows = np.asarray(np.kron(rows, centred[:1] if size == 2 else centred), dtype=np.float64)
            keep.append(slice(0, 1) if size == 2 else slice(None))
        else:
            rows = np.asarray(np.kron(rows, np.full((1, size), 1.0 / size)), dtype=np.float64)
    target = estimates.values[margin][tuple(keep)] * (domain.cells(margin) / domain.cells())
    return rows, np.ravel(target)


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
