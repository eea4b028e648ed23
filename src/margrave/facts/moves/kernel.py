"""Integer kernels: all whole-number moves that leave some exact counts as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Integers

_LARGEST = 1 << 40


def kernel_basis(matrix: Integers) -> Integers:
    """A basis, one row for each element, of the whole-number solutions of ``matrix @ move = 0``.

    Unimodular column operations bring the matrix to echelon form; the same operations on the identity leave, below the
    rank, a basis of the whole lattice and not only of a part of finite index.
    """
    rows, columns = matrix.shape
    work = np.concatenate([matrix.T, np.eye(columns, dtype=np.int64)], axis=1).astype(object)
    done = 0
    for position in range(rows):
        done += _clear(work, done, position)
    return _machine(work[done:, rows:])


def _clear(work: NDArray[Any], start: int, position: int) -> int:
    """Euclid on one column, from row ``start`` down: leaves at most one non-zero entry, at ``start``."""
    while True:
        filled = [row for row in range(start, len(work)) if work[row, position]]
        if not filled:
            return 0
        pivot = min(filled, key=lambda row: abs(work[row, position]))
        work[[start, pivot]] = work[[pivot, start]]
        for row in filled:
            if row != start and work[row, position]:
                work[row] -= work[row, position] // work[start, position] * work[start]
        if not any(work[row, position] for row in range(start + 1, len(work))):
            return 1


def unit_pivots(basis: Integers) -> tuple[Integers, tuple[int, ...] | None]:
    """The same lattice, by a basis that is the identity on the returned columns; None where none are found."""
    work = basis.astype(object)
    pivots: list[int] = []
    for step in range(len(work)):
        column = _unit_column(work, step)
        if column is None:
            return basis, None
        _clear(work, step, column)
        if work[step, column] < 0:
            work[step] = -work[step]
        for row in range(step):
            work[row] -= work[row, column] * work[step]
        pivots.append(column)
    return _machine(work), tuple(pivots)


def _unit_column(work: NDArray[Any], start: int) -> int | None:
    """A column whose entries from row ``start`` down have no common divisor, preferably one with few of them."""
    below = work[start:]
    divisors = np.gcd.reduce(below, axis=0)
    candidates = [column for column in range(work.shape[1]) if abs(divisors[column]) == 1]
    return min(candidates, key=lambda column: int(np.count_nonzero(below[:, column])), default=None)


def _machine(work: NDArray[Any]) -> Integers:
    if work.size and max(abs(work.min()), abs(work.max())) >= _LARGEST:
        raise OverflowError("the moves of these facts have entries too large to enumerate")
    return work.astype(np.int64)
