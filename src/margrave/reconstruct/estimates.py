"""What the noise left us: an unbiased estimate of each measured residual, with its variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.spectrum import cosines
from margrave.errors import UsageError

_KEPT_CELLS = 1 << 14

LEAST_VARIANCE = 1e-6
"""No noise counts as less than this variance, a thousandth of a record: at ε = 500 it is 1e-217, which nobody could
tell from none and whose inverse nobody could reckon with.
"""

Possible = NDArray[np.bool_]
"""Which cells of the full table may hold records."""


@dataclass(frozen=True)
class Estimates:
    """Unbiased estimates of residuals: ``values[T]`` estimates R_T with covariance ``variances[T]`` × the projector
    that centres along each axis of T. A variance of zero says that the residual is known exactly; a margin that is not
    listed was not measured. The grand total ``()`` is always listed.
    """

    domain: Domain
    values: Mapping[Margin, Floats]
    variances: Mapping[Margin, float]

    def __post_init__(self) -> None:
        if set(self.values) != set(self.variances):
            raise UsageError("each estimated residual needs one variance, and each variance an estimate")
        if () not in self.values:
            raise UsageError("the estimates must include the grand total, the residual of ()")
        values = {margin: np.asarray(value, dtype=np.float64) for margin, value in self.values.items()}
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "variances", {margin: float(one) for margin, one in self.variances.items()})
        for margin, value in values.items():
            self._check(margin, value)

    def _check(self, margin: Margin, value: Floats) -> None:
        if self.domain.margin(margin) != margin:
            raise UsageError(f"margin {margin!r} must be written in the order of the domain")
        if value.shape != self.domain.shape(margin):
            raise UsageError(f"residual {margin!r} must have shape {self.domain.shape(margin)}, not {value.shape}")
        variance = self.variances[margin]
        if not np.isfinite(value).all() or not 0.0 <= variance < np.inf:
            raise UsageError(f"residual {margin!r} must be finite, with a finite variance that is not negative")

    @property
    def total(self) -> float:
        """The estimated number of records, zero where the noise made it negative."""
        return max(float(self.values[()]), 0.0)

    @property
    def coordinates(self) -> tuple[Floats, Floats]:
        """All of them in the orthonormal basis of the full table, and the weights of these coordinates in a misfit.

        A small table is asked for them several times, and a large one takes too much memory to keep them.
        """
        return self._kept if self.domain.cells() <= _KEPT_CELLS else self._coordinates()

    @cached_property
    def _kept(self) -> tuple[Floats, Floats]:
        return self._coordinates()

    def _coordinates(self) -> tuple[Floats, Floats]:
        shape = self.domain.shape()
        centre, weights = np.zeros(shape), np.zeros(shape)
        for margin, value in self.values.items():
            block = tuple(slice(1, None) if name in margin else slice(0, 1) for name in self.domain.names)
            outside = self.domain.cells() // self.domain.cells(margin)
            variance = self.variances[margin]
            weights[block] = outside / variance if variance > 0 else np.inf
            centre[block] = _turned(value).reshape(centre[block].shape) / sqrt(outside)
        return centre, weights

    def exact(self, margin: Margin) -> bool:
        """Whether a residual is known without noise."""
        return self.variances.get(margin) == 0.0

    def independent(self) -> Floats:
        """The product of the one-way tables, each made positive: what is believed where nothing was measured."""
        alone = [self.values.get((one.name,), np.zeros(one.size)) + self.total / one.size for one in self.domain]
        return independent(self.total, alone)


def independent(total: float, alone: Sequence[Floats]) -> Floats:
    """The table of a given total that is the product of one-way tables, each made positive."""
    shape = [len(counts) for counts in alone]
    table = np.full(shape, max(total, 1e-9))
    for axis, counts in enumerate(alone):
        mean = total / len(counts)
        counts = np.maximum(counts, 0.01 * mean + 1e-12)
        table *= (counts / counts.sum()).reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return table


def _turned(value: Floats) -> Floats:
    """A residual in its own coordinates: along each axis, everything but the constant."""
    for axis, size in enumerate(value.shape):
        value = np.moveaxis(np.tensordot(cosines(size)[1:], value, axes=(1, axis)), 0, axis)
    return value
