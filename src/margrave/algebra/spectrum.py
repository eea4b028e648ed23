"""Tables in an orthonormal basis where every residual is a block of coordinates.

Along each axis of length ``k`` the first basis vector is constant and the others sum to zero (the orthonormal cosine
basis; for two values it is the Hadamard basis). The coordinates of a table whose index is zero exactly off T are the
residual R_T, turned and divided by √∏_{j∉T} k_j. One transform costs a few passes over the table, however many
residuals it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np

from margrave.algebra.arrays import Floats

FAST_SIZE = 256
"""Longer axes are turned by a fast cosine transform, shorter ones by a product with their matrix, which is faster."""


def cosines(size: int) -> Floats:
    """The orthonormal cosine basis of a given length; row 0 is constant, the other rows sum to zero."""
    row, column = np.arange(size)[:, None], np.arange(size)[None, :]
    basis = np.cos(np.pi * row * (2 * column + 1) / (2 * size)) * sqrt(2 / size)
    basis[0] = 1 / sqrt(size)
    return np.ascontiguousarray(basis)


class Transform:
    """To the coordinates of the orthonormal basis and back, for tables of one shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._matrices = [None if size > FAST_SIZE else cosines(size) for size in shape]

    def forward(self, table: Floats) -> Floats:
        """Coordinates of a table."""
        return self._round(table, self._matrices, "dct")

    def backward(self, coordinates: Floats) -> Floats:
        """The table with the given coordinates."""
        return self._round(coordinates, [None if one is None else one.T for one in self._matrices], "idct")

    def _round(self, values: Floats, matrices: list[Floats | None], fast: str) -> Floats:
        """Each step turns the first axis and moves it last, so that all come round."""
        scale = 1.0
        for size, matrix in zip(self.shape, matrices, strict=True):
            values = values.reshape(size, -1)
            if matrix is None:
                values = np.ascontiguousarray(_fast(fast)(values, norm="ortho", axis=0).T)
            elif size == 2:  # additions alone are faster than a product with so small a matrix
                turned = np.empty((values.shape[1], 2))
                np.add(values[0], values[1], out=turned[:, 0])
                np.subtract(values[0], values[1], out=turned[:, 1])
                values, scale = turned, scale * sqrt(0.5)
            else:
                values = np.ascontiguousarray((matrix @ values).T)
        return values.reshape(self.shape) * scale


def _fast(name: str) -> Callable[..., Floats]:
    """A fast cosine transform, or its inverse."""
    from scipy import fft

    found: Callable[..., Floats] = getattr(fft, name)
    return found


def turned(values: Floats, matrices: Sequence[Floats]) -> Floats:
    """Each axis multiplied by its matrix, which may change its length."""
    for matrix in matrices:
        values = np.ascontiguousarray((matrix @ values.reshape(matrix.shape[1], -1)).T)
    return values.reshape([len(matrix) for matrix in matrices])
