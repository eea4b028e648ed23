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

from margrave.algebra.domain import Margin
from margrave.reconstruct.estimates import Estimates, Floats

_GROUP = 16
"""Neighbouring axes are transformed by one matrix up to this size: fewer passes over the table."""


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
        self._matrices: list[Floats] = []
        for size in shape:
            basis = cosines(size)
            if self._matrices and len(self._matrices[-1]) * size <= _GROUP:
                self._matrices[-1] = np.kron(self._matrices[-1], basis)
            else:
                self._matrices.append(basis)

    def forward(self, table: Floats) -> Floats:
        """Coordinates of a table. Each step turns the first axes and moves them last, so that all come round."""
        for matrix in self._matrices:
            table = (matrix @ table.reshape(len(matrix), -1)).T
        return np.ascontiguousarray(table).reshape(self.shape)

    def backward(self, coordinates: Floats) -> Floats:
        """The table with the given coordinates."""
        for matrix in self._matrices:
            coordinates = (matrix.T @ coordinates.reshape(len(matrix), -1)).T
        return np.ascontiguousarray(coordinates).reshape(self.shape)


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
    def exact(self) -> Floats:
        """True where the coordinate is known."""
        return np.isinf(self.weights)

    @cached_property
    def finite(self) -> Floats:
        """The weights, zero where the coordinate is exact."""
        return np.where(self.exact, 0.0, self.weights)

    def misfit(self, coordinates: Floats) -> float:
        """½ Σ λ (coordinates − centre)² over what is measured with noise: half a χ² of the measured dimension."""
        return 0.5 * float((self.finite * (coordinates - self.centre) ** 2).sum())

    def violation(self, coordinates: Floats) -> float:
        """The largest error of an exactly known coordinate."""
        return float(np.abs(np.where(self.exact, coordinates - self.centre, 0.0)).max())


def _turned(value: Floats) -> Floats:
    """A residual in its own coordinates: along each axis, everything but the constant."""
    for axis, size in enumerate(value.shape):
        value = np.moveaxis(np.tensordot(cosines(size)[1:], value, axes=(1, axis)), 0, axis)
    return value


def positions(estimates: Estimates, margin: Margin) -> tuple[slice, ...]:
    """Where the coordinates of a residual lie."""
    return tuple(slice(1, None) if name in margin else slice(0, 1) for name in estimates.domain.names)
