"""How accurate any table will be, from the measurements alone. No data is needed, and none is reachable from here.

The residuals of different margins are estimated without correlation, each isotropically with one variance ``σ²_T``
(docs/mathematics.md), so the variance of any linear function of any table is a weighted sum of the ``σ²_T``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod, sqrt

import numpy as np

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import subsets
from margrave.algebra.query import spread
from margrave.algebra.residual import decompose, margin_from
from margrave.budget.events import Measurement
from margrave.errors import RefusedError
from margrave.noise.family import Noise
from margrave.noise.sums import Term, WeightedSum
from margrave.planning.defaults import LEVEL
from margrave.planning.forecast.coordinates import Coordinates
from margrave.planning.limits import is_wide

"""The probability with which an interval holds the truth, where nobody names another."""

Parts = dict[Margin, Array]
"""Weights on residuals, by margin; those of a residual sum to zero along each axis."""


@dataclass(frozen=True)
class Accuracy:
    """Variances of residuals, cells and linear functions under a list of measurements.

    All attributes of the domain can vary: those of one value add axes, but nothing to say (`algebra.encoding`).
    ``exact``: margins that are published without noise. ``cells``: single cells that are, by their codes. With these
    the best estimate is no longer residual by residual: with C the known cells, c their counts and Σ the covariance of
    the residuals' estimates u, it is ``u − ΣCᵀ(CΣCᵀ)⁺(Cu − c)``. What is said of σ²_T is about u.
    """

    domain: Domain
    measurements: tuple[Measurement, ...]
    exact: tuple[Margin, ...] = ()
    cells: tuple[tuple[Margin, tuple[int, ...]], ...] = ()
    _combined: dict[Margin, tuple[float, tuple[tuple[int, float], ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _wide_tables: dict[Margin, Coordinates] = field(default_factory=dict, init=False, repr=False, compare=False)

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

    @cached_property
    def _by_name(self) -> dict[str, set[int]]:
        """Measurements that cover several residuals, by each of their attributes."""
        found: dict[str, set[int]] = {}
        for index in self._wide:
            for name in self.measurements[index].query.margin:
                found.setdefault(name, set()).add(index)
        return found

    def _around(self, below: Margin) -> Iterable[int]:
        """Measurements that cover several residuals and have all attributes of a margin, in their order."""
        found = [self._by_name.get(name, set()) for name in below]
        return sorted(set.intersection(*found)) if found else self._wide

    def is_exact(self, below: Margin) -> bool:
        """Whether the residual is known without noise."""
        return any(set(below) <= set(margin) for margin in self.exact)

    @cached_property
    def forecasts(self) -> dict[object, tuple[float, float, float, float]]:
        """What was forecast already, by what margins must have in common to have it in common."""
        return {}

    def combination(self, below: Margin) -> tuple[float, tuple[tuple[int, float], ...]]:
        """``σ²_T`` of the best combination, and the weight in it of each measurement, by number."""
        if below not in self._combined:
            self._combined[below] = self._combine(below)
        return self._combined[below]

    def _combine(self, below: Margin) -> tuple[float, tuple[tuple[int, float], ...]]:
        if self.is_exact(below):
            return 0.0, ()
        covering = list(self._by_margin.get(below, ()))
        covering += [index for index in self._around(below) if self.measurements[index].query.covers(below)]
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

    def wide(self, margin: Margin) -> Coordinates | None:
        """The table of a margin in coordinates where its residuals are too many to be listed; None where not."""
        if not is_wide(self.domain.shape(margin)):
            return None
        if self.cells:
            raise RefusedError(f"single public cells are not reckoned with in a table of {len(margin)} attributes")
        return self.coordinates(margin)

    def coordinates(self, margin: Margin) -> Coordinates:
        """The table of a margin in coordinates."""
        if margin not in self._wide_tables:
            self._wide_tables[margin] = Coordinates(self.domain, margin, self.measurements, self.exact)
        return self._wide_tables[margin]

    def covers(self, margin: Margin) -> bool:
        """Whether the table of a margin can be published: every residual below it is known or measured."""
        if (wide := self.wide(margin)) is not None:
            return wide.covered
        return all(self.variance(below) < inf for below in subsets(margin))

    def parts(self, margin: Margin, weights: Array) -> Parts:
        """``Σ weights · cells`` of a table as weights on the residuals below it."""
        shape = self.domain.shape(margin)
        found: Parts = {}
        for chosen, part in decompose(np.asarray(weights, dtype=float).reshape(shape), len(shape)).items():
            outside = prod(size for axis, size in enumerate(shape) if axis not in chosen)
            if part.any():
                found[tuple(margin[axis] for axis in chosen)] = part / outside
        return found

    def _covariance(self, one: Parts, other: Parts) -> float:
        return sum(
            self.variance(below) * float((part * other[below]).sum()) for below, part in one.items() if below in other
        )

    @cached_property
    def known(self) -> tuple[int, ...]:
        """The numbers of the cells in ``cells`` about which the measurements say something in full."""
        return tuple(index for index, (margin, _) in enumerate(self.cells) if self.covers(margin))

    @cached_property
    def conditions(self) -> tuple[tuple[Parts, ...], Array]:
        """For each known cell its weights on the residuals, C; and ``(CΣCᵀ)⁺``."""
        rows = []
        for margin, codes in (self.cells[index] for index in self.known):
            unit = np.zeros(self.domain.shape(margin))
            unit[codes] = 1.0
            rows.append(self.parts(margin, unit))
        matrix = np.array([[self._covariance(one, other) for other in rows] for one in rows]).reshape(
            len(rows), len(rows)
        )
        return tuple(rows), np.linalg.pinv(matrix, rcond=1e-10, hermitian=True) if rows else matrix

    def _adjusted(self, parts: Parts) -> Parts:
        """The weights on the residuals' estimates u that the best estimate has, once the known cells are used."""
        rows, inverse = self.conditions
        if not rows:
            return parts
        used = inverse @ np.array([self._covariance(parts, row) for row in rows])
        found = dict(parts)
        for row, factor in zip(rows, used.tolist(), strict=True):
            for below, part in row.items() if factor else ():
                found[below] = found.get(below, 0.0) - factor * part
        return found

    def is_uniform(self, margin: Margin) -> bool:
        """Whether all cells of a table are equally accurate: no known cell has to do with it."""
        inside = set(margin)
        return not any(self.variance(below) and inside.issuperset(below) for row in self.conditions[0] for below in row)

    def cell_variances(self, margin: Margin) -> Array:
        """The variance of each cell of a table, in the order of its cells."""
        cells = self.domain.cells(margin)
        found = np.full(cells, self._cell_variance(margin))
        if not self.is_uniform(margin):
            rows, inverse = self.conditions
            shared = np.array([self._rebuilt(margin, row) for row in rows])
            found -= np.einsum("ky,kl,ly->y", shared, inverse, shared)
        return np.asarray(np.maximum(found, 0.0))

    def _rebuilt(self, margin: Margin, row: Parts) -> Array:
        """The covariance of each cell of a table with one known cell."""
        inside = {
            below: self.variance(below) * row[below] if below in row else np.zeros(self.domain.shape(below))
            for below in subsets(margin)
        }
        return margin_from(self.domain, margin, inside).ravel()

    def cell_variance(self, margin: Margin) -> float:
        """The variance of one cell of a table, in the mean over its cells; without known cells all are the same."""
        return self._cell_variance(margin) if self.is_uniform(margin) else float(self.cell_variances(margin).mean())

    def _cell_variance(self, margin: Margin) -> float:
        if (wide := self.wide(margin)) is not None:
            return wide.cell_variance
        total = 0.0
        for below in subsets(margin):
            inside = prod(1 - 1 / self.domain[name].size for name in below)
            outside = prod(self.domain[name].size for name in margin if name not in below)
            total += self.variance(below) * inside / outside**2
        return total

    @cached_property
    def _of_total(self) -> dict[int, float]:
        """The weight of each measurement in the estimate of the total, by number."""
        return dict(self.combination(())[1])

    def likeness(self, margin: Margin) -> object:
        """Two margins with equal likeness have cells of equal accuracy: the same sizes, measured the same way.

        Measurements without an attribute of the margin speak of the total only, so what the others say of it tells
        what is left for these.
        """
        if self.wide(margin) is not None:
            return margin
        rows: dict[int, list[tuple[int, float]]] = {}
        for place, below in enumerate(subsets(margin)):
            for index, share in self.combination(below)[1] if below else ():
                rows.setdefault(index, []).append((place, round(share, 12)))
        seen: Counter[object] = Counter()
        for index, row in rows.items():
            query, noise = self.measurements[index].query, self.measurements[index].noise
            outside = prod(self.domain.shape(tuple(name for name in query.margin if name not in margin)))
            kinds = tuple(
                "contrast" if name in query.contrast else "residual" if name in query.residual else name in query.margin
                for name in margin
            )
            seen[round(self._of_total.get(index, 0.0), 12), tuple(row), noise, outside, kinds] += 1
        return self.domain.shape(margin), frozenset(seen.items())

    def linear_variance(self, margin: Margin, weights: Array) -> float:
        """The variance of ``Σ weights · cells`` of a table."""
        if (wide := self.wide(margin)) is not None:
            return wide.linear_variance(np.asarray(weights, dtype=float).reshape(wide.transform.shape))
        parts = self._adjusted(self.parts(margin, weights))
        return sum(self.variance(below) * float((part**2).sum()) for below, part in parts.items())

    def cell_noise(self, margin: Margin) -> WeightedSum:
        """The exact distribution of the error of the first cell of a table, the same for all where it is uniform."""
        weights = np.zeros(self.domain.cells(margin))
        weights[0] = 1
        return self.linear_noise(margin, weights)

    def linear_noise(self, margin: Margin, weights: Array) -> WeightedSum:
        """The exact distribution of the error of ``Σ weights · cells`` of a table."""
        return WeightedSum.of([term for one in self.outputs_of(margin, weights) for term in one.terms()])

    def outputs_of(self, margin: Margin, weights: Array) -> list[Outputs]:
        """What ``Σ weights · cells`` of a table takes from the outputs of each measurement."""
        if (wide := self.wide(margin)) is not None:
            shared = wide.weights(np.asarray(weights, dtype=float).reshape(wide.transform.shape))
            return [self._outputs(index, wide.margin, array) for index, array in shared]
        parts = self._adjusted(self.parts(margin, weights))
        collected: dict[int, Array] = {}
        for below, part in parts.items():
            for index, share in self.combination(below)[1]:
                collected[index] = collected.get(index, 0.0) + share * self._transposed(index, below, part)
        seen = {name for below in parts for name in below}
        return [self._outputs(index, seen, array) for index, array in collected.items()]

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

    def _outputs(self, index: int, seen: Collection[str], weights: Array) -> Outputs:
        """Outputs of one measurement: those that differ in attributes that are not seen share a weight."""
        measurement = self.measurements[index]
        full = measurement.query.shape(self.domain)
        shape = [size if name in seen else 1 for name, size in zip(measurement.query.margin, full, strict=True)]
        return Outputs(index, measurement.noise, prod(full) // prod(shape), np.broadcast_to(weights, shape))


@dataclass(frozen=True, eq=False)
class Outputs:
    """Weights of the outputs of the measurement of a number; each stands for ``repeated`` outputs with this noise."""

    index: int
    noise: Noise
    repeated: int
    weights: Array

    def terms(self) -> list[Term]:
        """Outputs with the same weight, counted together."""
        scale = float(np.abs(self.weights).max()) or 1.0
        values, counts = np.unique(np.round(np.abs(self.weights) / scale, 12), return_counts=True)
        pairs = zip(values.tolist(), counts.tolist(), strict=True)
        return [Term(value * scale, count * self.repeated, self.noise) for value, count in pairs]


@dataclass(frozen=True)
class TableForecast:
    """What to expect of one table before any data is opened; all for the unbiased table.

    ``std_error``: of one cell. ``half_width``: one cell lies within ± this of the truth with the probability of the
    level. ``all_cells``: all cells of the table do, together (a union bound). ``expected_l1``: of the whole table.
    """

    margin: Margin
    cells: int
    std_error: float
    half_width: float
    all_cells: float
    expected_l1: float


def forecast(accuracy: Accuracy, margins: Sequence[Margin], level: float = LEVEL) -> tuple[TableForecast, ...]:
    """The forecast of each margin; margins that are measured alike are computed once, whenever they are asked for."""
    cache = accuracy.forecasts
    rows = []
    for margin in margins:
        cells = accuracy.domain.cells(margin)
        key = (level, cells, accuracy.likeness(margin))
        if key not in cache:
            error = accuracy.cell_noise(margin)
            together = error.half_width(1 - (1 - level) / cells) if cells > 1 else error.half_width(level)
            deviation = sqrt(accuracy.cell_variance(margin))
            cache[key] = deviation, error.half_width(level), together, error.mean_absolute()
        deviation, half, together, mean = cache[key]
        rows.append(TableForecast(margin, cells, deviation, half, together, cells * mean))
    return tuple(rows)
