"""From noisy answers to unbiased tables: inverse-variance combination, residual by residual.

Tables rebuilt from the same residuals agree with each other by construction.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Margin
from margrave.algebra.lattice import subsets
from margrave.algebra.query import estimates
from margrave.algebra.residual import margin_from, residuals
from margrave.algebra.words import in_words
from margrave.crossing import Measured
from margrave.errors import UsageError
from margrave.planning.forecast.accuracy import Accuracy
from margrave.planning.forecast.coordinates import Coordinates


@dataclass(frozen=True, eq=False)
class Fit:
    """The best unbiased estimate of every residual, computed when it is first needed."""

    accuracy: Accuracy
    measured: Measured
    _known: dict[Margin, Array] = field(default_factory=dict, init=False, repr=False)

    def prepare(self, wanted: Collection[Margin]) -> None:
        """Estimate all residuals wanted that are not estimated yet, and keep them."""
        self._known.update(self._estimate([below for below in dict.fromkeys(wanted) if below not in self._known]))

    def _estimate(self, wanted: Collection[Margin]) -> dict[Margin, Array]:
        """The residuals wanted, with what single known cells say about them."""
        found = self._combined(wanted)
        if self.accuracy.conditions[0]:
            for below in found:
                if below in self._shifts:
                    found[below] = found[below] - self._shifts[below]
        return found

    @cached_property
    def _shifts(self) -> dict[Margin, Array]:
        """``ΣCᵀ(CΣCᵀ)⁺(Cu − c)``, residual by residual, for the known cells C with counts c and the estimates u."""
        accuracy = self.accuracy
        rows, inverse = accuracy.conditions
        plain = self._combined({below for row in rows for below in row})
        missed = [
            sum(float((part * plain[below]).sum()) for below, part in row.items())
            - self.measured.cells[accuracy.cells[index]]
            for index, row in zip(accuracy.known, rows, strict=True)
        ]
        shifts: dict[Margin, Array] = {}
        for row, factor in zip(rows, (inverse @ np.array(missed)).tolist(), strict=True):
            for below, part in row.items():
                shifts[below] = shifts.get(below, 0.0) + accuracy.variance(below) * factor * part
        return shifts

    def _combined(self, wanted: Collection[Margin]) -> dict[Margin, Array]:
        """The residuals wanted by inverse variance, each answer being read once."""
        sums: dict[Margin, Array] = {}
        shares: dict[int, dict[Margin, float]] = {}
        for below in wanted:
            if self.accuracy.is_exact(below):
                sums[below] = self._exact(below)
                continue
            combined = self.accuracy.combination(below)[1]
            if not combined:
                raise UsageError(f"the release says nothing about {in_words(below)}")
            for index, share in combined:
                shares.setdefault(index, {})[below] = share
        for index, parts in shares.items():
            answer = self.measured.answers[index]
            found = estimates(self.accuracy.domain, answer.measurement.query, answer.outputs, parts.keys())
            for below, share in parts.items():
                sums[below] = sums.get(below, 0.0) + share * found[below]
        return sums

    def _exact(self, below: Margin) -> Array:
        margin = next(margin for margin in self.accuracy.exact if set(below) <= set(margin))
        axes = tuple(axis for axis, name in enumerate(margin) if name not in below)
        counts = self.measured.exact[margin].reshape(self.accuracy.domain.shape(margin)).sum(axis=axes)
        return residuals(self.accuracy.domain, below, counts)[below]

    def residual(self, below: Margin) -> Array:
        """The estimate of one residual."""
        self.prepare([below])
        return self._known[below]

    def margin(self, margin: Margin) -> NDArray[np.float64]:
        """The unbiased table of any margin below a measured one.

        The residual of the margin itself is as large as the table and of no use to other margins of its size, so it is
        not kept: memory grows with the smaller margins only.
        """
        if (wide := self.accuracy.wide(margin)) is not None:
            if not wide.covered:
                raise UsageError(f"the release says nothing about {', '.join(wide.margin)} together")
            rebuilt = wide.transform.backward(self.coordinates(wide))
            return rebuilt.reshape(self.accuracy.domain.shape(margin))
        *smaller, _ = subsets(margin)
        self.prepare(smaller)
        parts = {below: self._known[below] for below in smaller}
        parts[margin] = self._known[margin] if margin in self._known else self._estimate([margin])[margin]
        rebuilt = margin_from(self.accuracy.domain, margin, parts)
        return rebuilt.reshape(self.accuracy.domain.shape(margin))

    def coordinates(self, wide: Coordinates) -> NDArray[np.float64]:
        """The best unbiased estimate of a table in its coordinates, zero where the measurements say nothing."""
        answers = [answer.outputs for answer in self.measured.answers]
        return wide.estimate(answers, {margin: self.measured.exact[margin] for margin in self.accuracy.exact})
