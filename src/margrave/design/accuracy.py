"""How accurate any table will be, from the measurements alone. No data is needed, and none is reachable from here.

The residuals of different margins are estimated without correlation, each isotropically with one variance ``σ²_T``
(docs/mathematics.md), so the variance of any linear function of any table is a weighted sum of the ``σ²_T``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod, sqrt

import numpy as np

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import subsets
from margrave.algebra.query import spread
from margrave.algebra.residual import Array, decompose
from margrave.budget.events import Measurement
from margrave.noise.sums import Term, WeightedSum


def effective(domain: Domain, margin: Margin) -> Margin:
    """The attributes of a margin that can vary. One-valued attributes add axes, but nothing to say."""
    return tuple(name for name in margin if domain[name].size > 1)


@dataclass(frozen=True)
class Accuracy:
    """Variances of residuals, cells and linear functions under a list of measurements.

    ``exact``: margins that are published without noise.
    """

    domain: Domain
    measurements: tuple[Measurement, ...]
    exact: tuple[Margin, ...] = ()
    _combined: dict[Margin, tuple[float, tuple[tuple[int, float], ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def _by_margin(self) -> dict[Margin, list[int]]:
        """Measurements that cover one residual only, by its margin."""
        found: dict[Margin, list[int]] = {}
        for index, measurement in enumerate(self.measurements):
            if not measurement.query.cells:
                found.setdefault(measurement.query.margin, []).append(index)
        return found

    @cached_property
    def _wide(self) -> list[int]:
        """Measurements that cover several residuals."""
        return [index for index, measurement in enumerate(self.measurements) if measurement.query.cells]

    def is_exact(self, below: Margin) -> bool:
        """Whether the residual is known without noise."""
        return any(set(below) <= set(margin) for margin in self.exact)

    def combination(self, below: Margin) -> tuple[float, tuple[tuple[int, float], ...]]:
        """``σ²_T`` of the best combination, and the weight in it of each measurement, by number."""
        if below not in self._combined:
            self._combined[below] = self._combine(below)
        return self._combined[below]

    def _combine(self, below: Margin) -> tuple[float, tuple[tuple[int, float], ...]]:
        if self.is_exact(below):
            return 0.0, ()
        covering = list(self._by_margin.get(below, ()))
        covering += [index for index in self._wide if self.measurements[index].query.covers(below)]
        precisions = [1 / self._alone(index, below) for index in covering]
        total = sum(precisions)
        if not total:
            return inf, ()
        return 1 / total, tuple(
            (index, precision / total) for index, precision in zip(covering, precisions, strict=True)
        )

    def _alone(self, index: int, below: Margin) -> float:
        measurement = self.measurements[index]
        return measurement.noise.variance * float(spread(self.domain, measurement.query, below))

    def variance(self, below: Margin) -> float:
        """``σ²_T``; infinite where no measurement covers the residual."""
        return self.combination(below)[0]

    def covers(self, margin: Margin) -> bool:
        """Whether the table of a margin can be published: every residual below it is known or measured."""
        return all(self.variance(below) < inf for below in subsets(effective(self.domain, margin)))

    def cell_variance(self, margin: Margin) -> float:
        """The variance of one cell of a table, the same for all its cells."""
        margin = effective(self.domain, margin)
        total = 0.0
        for below in subsets(margin):
            inside = prod(1 - 1 / self.domain[name].size for name in below)
            outside = prod(self.domain[name].size for name in margin if name not in below)
            total += self.variance(below) * inside / outside**2
        return total

    def likeness(self, margin: Margin) -> object:
        """Two margins with equal likeness have cells of equal accuracy: the same sizes, measured the same way."""
        margin = effective(self.domain, margin)
        seen: dict[int, int] = {}
        shares = [
            tuple((seen.setdefault(index, len(seen)), round(share, 12)) for index, share in self.combination(below)[1])
            for below in subsets(margin)
        ]
        queries = []
        for index in seen:
            query, noise = self.measurements[index].query, self.measurements[index].noise
            outside = prod(self.domain.shape(tuple(name for name in query.margin if name not in margin)))
            kinds = tuple(
                "contrast" if name in query.contrast else "residual" if name in query.residual else name in query.margin
                for name in margin
            )
            queries.append((noise, outside, kinds))
        return self.domain.shape(margin), tuple(shares), tuple(queries)

    def linear_variance(self, margin: Margin, weights: Array) -> float:
        """The variance of ``Σ weights · cells`` of a table."""
        margin = effective(self.domain, margin)
        shape = self.domain.shape(margin)
        total = 0.0
        for chosen, part in decompose(np.asarray(weights, dtype=float).reshape(shape), len(shape)).items():
            outside = prod(size for axis, size in enumerate(shape) if axis not in chosen)
            length = float((part**2).sum())
            if length:
                total += self.variance(tuple(margin[axis] for axis in chosen)) * length / outside**2
        return total

    def cell_noise(self, margin: Margin) -> WeightedSum:
        """The exact distribution of the error of one cell of a table, the same for all its cells."""
        weights = np.zeros(self.domain.cells(margin))
        weights[0] = 1
        return self.linear_noise(margin, weights)

    def linear_noise(self, margin: Margin, weights: Array) -> WeightedSum:
        """The exact distribution of the error of ``Σ weights · cells`` of a table."""
        margin = effective(self.domain, margin)
        shape = self.domain.shape(margin)
        found = decompose(np.asarray(weights, dtype=float).reshape(shape), len(shape))
        parts: dict[Margin, Array] = {}
        for chosen, part in found.items():
            outside = prod(size for axis, size in enumerate(shape) if axis not in chosen)
            parts[tuple(margin[axis] for axis in chosen)] = part / outside
        collected: dict[int, Array] = {}
        for below, part in parts.items():
            for index, share in self.combination(below)[1]:
                collected[index] = collected.get(index, 0.0) + share * self._transposed(index, below, part)
        return WeightedSum.of(
            [term for index, array in collected.items() for term in self._terms(index, margin, array)]
        )

    def _transposed(self, index: int, below: Margin, part: Array) -> Array:
        """The weight on each output of a measurement when ``part`` weighs the residual of ``below``.

        Attributes of the query outside the table have length 1 here: all their outputs share one weight.
        """
        query = self.measurements[index].query
        values = part
        for axis, name in enumerate(below):
            if name in query.contrast:
                values = (values.take([0], axis=axis) - values.take([1], axis=axis)) / 2
            elif name in query.residual:
                values = values / self.domain[name].size
        shape = iter(values.shape)
        return values.reshape([next(shape) if name in below else 1 for name in query.margin])

    def _terms(self, index: int, margin: Margin, weights: Array) -> list[Term]:
        """Outputs of one measurement with the same weight, counted together."""
        measurement = self.measurements[index]
        full = measurement.query.shape(self.domain)
        shape = [size if name in margin else 1 for name, size in zip(measurement.query.margin, full, strict=True)]
        repeated = prod(full) // prod(shape)
        spread_out = np.broadcast_to(weights, shape)
        scale = float(np.abs(spread_out).max()) or 1.0
        values, counts = np.unique(np.round(np.abs(spread_out) / scale, 12), return_counts=True)
        pairs = zip(values.tolist(), counts.tolist(), strict=True)
        return [Term(value * scale, count * repeated, measurement.noise) for value, count in pairs]


@dataclass(frozen=True)
class TableForecast:
    """What to expect of one table before any data is opened; all for the unbiased table.

    ``std_error``: of one cell. ``half_width``: one cell lies within ± this of the truth with probability 95 %.
    ``all_cells``: all cells of the table do, together (a union bound). ``expected_l1``: of the whole table.
    """

    margin: Margin
    cells: int
    std_error: float
    half_width: float
    all_cells: float
    expected_l1: float


def forecast(accuracy: Accuracy, margins: Sequence[Margin], level: float = 0.95) -> tuple[TableForecast, ...]:
    """The forecast of each margin; margins that are measured alike are computed once."""
    cache: dict[object, tuple[float, float, float, float]] = {}
    rows = []
    for margin in margins:
        cells = accuracy.domain.cells(margin)
        key = (cells, accuracy.likeness(margin))
        if key not in cache:
            error = accuracy.cell_noise(margin)
            together = error.half_width(1 - (1 - level) / cells) if cells > 1 else error.half_width(level)
            deviation = sqrt(accuracy.cell_variance(margin))
            cache[key] = deviation, error.half_width(level), together, error.mean_absolute()
        deviation, half, together, mean = cache[key]
        rows.append(TableForecast(margin, cells, deviation, half, together, cells * mean))
    return tuple(rows)
