"""A wide table in orthonormal coordinates: all residuals below it at once, where they are too many to be listed.

A measurement says something of a coordinate if its residual T has ``contrast ∪ residual ⊆ T ⊆ margin``, so of a block
of coordinates: all of an axis that it sees as cells, all but the first of one that it sees as a contrast or a residual,
the first of one that it does not see. The precision is the same everywhere in the block (docs/mathematics.md), and the
precisions of measurements add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Array, Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.query import Query
from margrave.algebra.spectrum import Transform, cosines, turned

if TYPE_CHECKING:
    from margrave.budget.events import Measurement

_CONTRAST = np.array([[sqrt(0.5)]])
"""From the difference of two values to their coordinate."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """What measurements, and margins known exactly, say of one table. Each attribute of it has at least two values."""

    domain: Domain
    margin: Margin
    measurements: tuple[Measurement, ...]
    exact: tuple[Margin, ...] = ()

    @cached_property
    def transform(self) -> Transform:
        return Transform(self.domain.shape(self.margin))

    @cached_property
    def precision(self) -> Floats:
        """For each coordinate 1/variance of its estimate: zero where nothing is said of it, infinite where exact."""
        found = np.zeros(self.domain.shape(self.margin))
        for index in self._speaking:
            found[self._block(self.measurements[index].query)] += self._alone(index)
        for margin in self.exact:
            found[self._block(Query(margin))] = np.inf
        return found

    @property
    def covered(self) -> bool:
        """Whether something is said of every coordinate."""
        return bool((self.precision > 0).all())

    @cached_property
    def cell_variance(self) -> float:
        """The variance of one cell, the same for all."""
        with np.errstate(divide="ignore"):
            return float((1 / self.precision).mean())

    def linear_variance(self, weights: Floats) -> float:
        """The variance of ``Σ weights · cells``."""
        parts = self.transform.forward(weights)
        with np.errstate(divide="ignore"):
            variances = np.where(parts == 0, 0.0, 1 / self.precision)
        return float((parts**2 * variances).sum())

    def weights(self, weights: Floats) -> Iterator[tuple[int, Floats]]:
        """``Σ weights · cells`` as a sum over measurements: the number of each and the weight of its outputs.

        Attributes of a query outside the table have length 1 here: all their outputs share one weight.
        """
        parts = self.transform.forward(weights)
        for index, shares in self._shares():
            query = self.measurements[index].query
            shared = shares * parts[self._block(query)]
            if shared.any():
                matrices = [matrix.T for matrix in self._matrices(query)]
                values = turned(shared, matrices) / sqrt(self._outside(query))
                shape = iter(values.shape)
                yield index, values.reshape([next(shape) if name in self.margin else 1 for name in query.margin])

    def estimate(self, answers: Sequence[Array], exact: Mapping[Margin, Array]) -> Floats:
        """The best estimate of each coordinate, from the answers to the measurements and the exact counts."""
        found = np.zeros(self.domain.shape(self.margin))
        for index, shares in self._shares():
            query = self.measurements[index].query
            found[self._block(query)] += shares * self._seen(query, answers[index])
        for margin, counts in exact.items():
            found[self._block(Query(margin))] = self._seen(Query(margin), counts)
        return found

    def _shares(self) -> Iterator[tuple[int, Floats]]:
        """The weight of each measurement in the estimate of each coordinate of its block."""
        for index in self._speaking:
            yield index, self._alone(index) / self.precision[self._block(self.measurements[index].query)]

    @cached_property
    def _speaking(self) -> list[int]:
        """The measurements that say something of the table, by number."""
        inside = set(self.margin)
        queries = (measurement.query for measurement in self.measurements)
        return [i for i, query in enumerate(queries) if inside.issuperset((*query.contrast, *query.residual))]

    def _alone(self, index: int) -> float:
        """The precision that a measurement gives each coordinate of its block."""
        query, noise = self.measurements[index].query, self.measurements[index].noise
        beyond = prod(self.domain[name].size for name in query.margin if name not in self.margin)
        scale = 2 ** len(query.contrast) * self.domain.cells(query.residual) ** 2
        return float(self._outside(query)) * float(scale) / (noise.variance * beyond)

    def _outside(self, query: Query) -> int:
        """The number of cells of the table's attributes that the query does not see."""
        return prod(self.domain[name].size for name in self.margin if name not in query.margin)

    def _block(self, query: Query) -> tuple[slice, ...]:
        fixed = {*query.contrast, *query.residual}
        return tuple(
            slice(0, 1) if name not in query.margin else slice(1, None) if name in fixed else slice(None)
            for name in self.margin
        )

    def _matrices(self, query: Query) -> list[Floats]:
        """From the outputs of a query to coordinates, for each attribute that it shares with the table."""
        found = []
        for name in query.margin:
            size = self.domain[name].size
            if name in query.contrast:
                found.append(_CONTRAST)
            elif name in query.residual:
                found.append(cosines(size)[1:] / size)
            elif name in self.margin:
                found.append(cosines(size))
        return found

    def _seen(self, query: Query, outputs: Array) -> Floats:
        """The coordinates of its block as a query sees them."""
        values = np.asarray(outputs, dtype=float).reshape(query.shape(self.domain))
        values = values.sum(axis=tuple(axis for axis, name in enumerate(query.margin) if name not in self.margin))
        coordinates = turned(values, self._matrices(query)) / sqrt(self._outside(query))
        shape = iter(coordinates.shape)
        return coordinates.reshape([next(shape) if name in query.margin else 1 for name in self.margin])
