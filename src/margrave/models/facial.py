"""The facial set of a table under a log-linear model: the cells where the extended maximum likelihood fit is positive.

Let ``A`` map a table to its generator margins and ``n`` be the observed table. The *face* is the largest set of cells
that some non-negative table with the margins ``A n`` makes positive all at once. The maximum likelihood estimate
exists exactly when the face is the whole table (docs/loglinear.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_array, hstack

from margrave.algebra.arrays import Floats
from margrave.errors import RefusedError
from margrave.models.model import Mask, Model

LARGEST_PROGRAM = 4_000_000
"""The most non-zero entries of the linear program that finds a face."""


@dataclass(frozen=True, eq=False)
class Face:
    """The facial set, and the proof that nothing outside it can be positive.

    ``cells`` marks the face in the shape of the table. ``normal`` is a sum of functions of the generators' cells
    that is zero on the face and at least one outside: every table with the observed margins has the same, zero, sum
    of ``normal`` times count, so its cells outside the face are zero.
    """

    cells: Mask
    normal: Floats

    @property
    def whole(self) -> bool:
        """Whether the face is the whole table, so that the maximum likelihood estimate exists."""
        return bool(self.cells.all())


def face(model: Model, counts: NDArray[np.float64]) -> Face:
    """The facial set of a table of non-negative counts, in the shape of the model's domain."""
    empty = _empty_margins(model, counts)
    possible = empty == 0
    undecided = possible & (counts == 0)
    if model.sequence is not None or not undecided.any():
        return Face(possible, empty)
    cells, normal = _largest_support(model, counts.ravel() > 0, possible.ravel())
    cells, normal = cells.reshape(counts.shape), normal.reshape(counts.shape)
    # A cell over an empty generator cell is outside whatever the program's normal says there: weigh it up.
    normal = normal + empty * (1.0 + max(0.0, -float(normal.min())))
    return Face(cells, normal)


def _empty_margins(model: Model, counts: Floats) -> Floats:
    """For each cell, how many of the generators' tables have a zero above it."""
    empty = np.zeros(counts.shape)
    for margin in model.generators:
        empty += counts.sum(axis=model.axes_outside(margin), keepdims=True) == 0
    return empty


def _largest_support(model: Model, support: Mask, possible: Mask) -> tuple[Mask, Floats]:
    """The face and its normal, by one linear program over the possible cells.

    A move ``z`` with ``A z = 0`` that is non-negative outside the support, added to a large multiple of ``n``, is a
    table with proportional margins. Maximise ``Σ s`` over the empty cells, with ``z = s + u``, ``0 ≤ s ≤ 1`` and
    ``u ≥ 0``: moves can be scaled up, so at the optimum each ``s`` is 0 or 1, and 1 exactly on the face. The dual
    solution is the normal.
    """
    matrix = csc_array(model.incidence())
    zeros = np.flatnonzero(possible & ~support)
    known = np.flatnonzero(support)
    program = hstack([matrix[:, zeros], matrix[:, zeros], matrix[:, known]], format="csc")
    if program.nnz > LARGEST_PROGRAM:
        raise RefusedError(
            f"finding where {model} is positive needs a linear program of {program.nnz} entries, over the limit of "
            f"{LARGEST_PROGRAM}; use a smaller table or a decomposable model"
        )
    cost = np.concatenate([-np.ones(len(zeros)), np.zeros(len(zeros) + len(known))])
    bounds = np.zeros((len(cost), 2))
    bounds[: len(zeros), 1] = 1.0
    bounds[len(zeros) :, 1] = np.inf
    bounds[2 * len(zeros) :, 0] = -np.inf
    answer = linprog(cost, A_eq=program, b_eq=np.zeros(program.shape[0]), bounds=bounds, method="highs")
    if answer.status != 0:
        raise RefusedError(f"the linear program for the face of {model} was not solved: {answer.message}")
    cells = support.copy()
    cells[zeros] = answer.x[: len(zeros)] > 0.5
    normal = -np.asarray(answer.eqlin.marginals) @ matrix
    _certify(model, normal, cells, possible)
    return cells, np.where(cells, 0.0, normal)


def _certify(model: Model, normal: Floats, cells: Mask, possible: Mask) -> None:
    """Refuse a face whose proof does not hold up to rounding."""
    outside = normal[possible & ~cells]
    if np.abs(normal[cells]).max(initial=0.0) > 1e-6 or outside.min(initial=1.0) < 1.0 - 1e-6:
        raise RefusedError(f"the face of {model} could not be certified; the table may be too large for the solver")
