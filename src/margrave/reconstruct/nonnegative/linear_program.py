"""The min–max program of Barak et al. and Yang et al.

    minimise b   over w ≥ 0, w = 0 where impossible, |f^T(w) − f̂^T| ≤ b for every measured T

in the coordinates ``f^T(x_T) = R_T(x_T) / ∏_{j∉T} k_j``; for binary attributes these are Fourier coefficients times
2^(−k/2), so the program is Barak's. A vertex is returned: it has at most as many non-empty cells as there are
independent coordinates, on which the papers' rounding bound rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.errors import MargraveError, RefusedError
from margrave.planning.limits import PROGRAM_CELLS
from margrave.progress import Progress
from margrave.reconstruct.estimates import Estimates, Possible
from margrave.reconstruct.nonnegative.solvers import NonNegative, solver


@dataclass(frozen=True)
class LinearProgram:
    """A non-negative table, and the largest error ``bound`` of its coordinates f^T."""

    table: Floats
    bound: float


def linear_program(estimates: Estimates, possible: Possible | None = None) -> LinearProgram:
    """Solve by the dual simplex method. Variables: the cells w, the errors e of the coordinates, the bound b."""
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array

    cells = estimates.domain.cells()
    if cells > PROGRAM_CELLS:
        raise RefusedError(
            f"the linear program is for tables of up to {PROGRAM_CELLS} cells, and this one has {cells}: "
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


@solver("linear-program")
def _solve(
    estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None, progress: Progress | None
) -> NonNegative:
    program = linear_program(estimates, possible)
    note = f"largest coefficient error b = {program.bound:.6g}"
    return NonNegative.of(estimates, program.table, "linear-program", note)


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
