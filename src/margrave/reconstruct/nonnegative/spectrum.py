"""The full table in the orthonormal basis of :mod:`margrave.algebra.spectrum`.

The coordinates of a residual are R_T, turned and divided by √∏_{j∉T} k_j. So any quadratic form
``Σ_T ‖R_T(w) − R̂_T‖²/σ²_T`` is a weighted sum of squares of coordinates with weights ``λ_T = ∏_{j∉T} k_j / σ²_T``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Floats
from margrave.algebra.spectrum import Transform
from margrave.reconstruct.estimates import Estimates


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
        centre, weights = estimates.coordinates
        if fix_total:
            centre, weights, corner = centre.copy(), weights.copy(), (0,) * len(shape)
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
