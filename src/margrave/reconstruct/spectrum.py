"""The full table in an orthonormal basis where every residual is a block of coordinates.

Along each axis of length ``k`` the first basis vector is constant and the others sum to zero (the orthonormal cosine
basis; for two values it is the Hadamard basis). The coordinates of a table whose index is zero exactly off T are the
residual R_T, turned and divided by √∏_{j∉T} k_j. So any quadratic form ``Σ_T ‖R_T(w) − R̂_T‖²/σ²_T`` is a weighted
sum of squares of coordinates with weights ``λ_T = ∏_{j∉T} k_j / σ²_T``, and one transform costs a few passes over the
table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from margrave.reconstruct.estimates import Estimates, Floats


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
        self._matrices = [cosines(size) for size in shape]

    def forward(self, table: Floats) -> Floats:
        """Coordinates of a table. Each step turns the first axis and moves it last, so that all come round."""
        return self._round(table, self._matrices)

    def backward(self, coordinates: Floats) -> Floats:
        """The table with the given coordinates."""
        return self._round(coordinates, [matrix.T for matrix in self._matrices])

    def _round(self, values: Floats, matrices: list[Floats]) -> Floats:
        scale = 1.0
        for matrix in matrices:
            values = values.reshape(len(matrix), -1)
            if len(matrix) == 2:  # additions alone are faster than a product with so small a matrix
                turned = np.empty((values.shape[1], 2))
                np.add(values[0], values[1], out=turned[:, 0])
                np.subtract(values[0], values[1], out=turned[:, 1])
                values, scale = turned, scale * sqrt(0.5)
            else:
                values = np.ascontiguousarray((matrix @ values).T)
        return values.reshape(self.shape) * scale


@dataclass(frozen=True)
class Spectrum:
    """Estimates as coordinates of the full table: the misfit of w is ½ Σ weights · (coordinates of w − centre)².

    ``weights`` is λ, zero where nothing was measured and infinite where the residual is exact.
    """

    transform: Transform
    centre: Floats
    weights: Floats

    @classmethod
    def of(cls, estimates: Estimates, *, fix_total: bool = False) -> Spectrum:
        """The spectrum of estimates; ``fix_total`` makes the total exact, at its estimate or zero if that is less."""
        shape = estimates.domain.shape()
        centre, weights = np.zeros(shape), np.zeros(shape)
        for margin, value in estimates.values.items():
            block = tuple(slice(1, None) if name in margin else slice(0, 1) for name in estimates.domain.names)
            outside = estimates.domain.cells() // estimates.domain.cells(margin)
            variance = estimates.variances[margin]
            weights[block] = outside / variance if variance > 0 else np.inf
            centre[block] = _turned(value).reshape(centre[block].shape) / sqrt(outside)
        if fix_total:
            corner = (0,) * len(shape)
            weights[corner] = np.inf
            centre[corner] = estimates.total / sqrt(prod(shape))
        return cls(Transform(shape), centre, weights)

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        """Where the coordinate is known."""
        return np.isinf(self.weights)

    @cached_property
    def finite(self) -> Floats:
        """The weights, zero where the coordinate is exact."""
        return np.where(self.exact, 0.0, self.weights)

    def misfit(self, coordinates: Floats) -> float:
        """½ Σ λ (coordinates − centre)² over what is measured with noise: half a χ² of the measured dimension."""
        return 0.5 * float((self.finite * (coordinates - self.centre) ** 2).sum())

    def slope(self, table: Floats) -> Floats:
        """The gradient of the misfit at a table."""
        return self.transform.backward(self.finite * (self.transform.forward(table) - self.centre))

    def violation(self, coordinates: Floats) -> float:
        """The largest error of an exactly known coordinate."""
        return float(np.abs(np.where(self.exact, coordinates - self.centre, 0.0)).max())


def _turned(value: Floats) -> Floats:
    """A residual in its own coordinates: along each axis, everything but the constant."""
    for axis, size in enumerate(value.shape):
        value = np.moveaxis(np.tensordot(cosines(size)[1:], value, axes=(1, axis)), 0, axis)
    return value
