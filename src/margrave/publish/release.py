"""A release: what was measured, and every table that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.table import Table
from margrave.crossing import Measured
from margrave.design.plan import Plan
from margrave.errors import UsageError
from margrave.publish.estimates import Estimate, Where, indicator, margin_of, ratio
from margrave.reconstruct.fit import Fit

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Release:
    """A finished release. It holds nothing confidential: only the plan without [data], and noisy whole numbers."""

    plan: Plan
    measured: Measured

    def __post_init__(self) -> None:
        object.__setattr__(self, "plan", replace(self.plan, spec=self.plan.spec.without_data()))

    @property
    def domain(self) -> Domain:
        return self.plan.spec.domain

    @property
    def private(self) -> bool:
        """False when the noise came from a seed."""
        return self.measured.private

    @cached_property
    def fit(self) -> Fit:
        return Fit(self.plan.accuracy, self.measured)

    def unbiased(self, margin: Margin) -> NDArray[np.float64]:
        """The unbiased counts of any margin that the measurements cover."""
        measured = self.plan.measured_margin(margin)
        if not self.plan.accuracy.covers(measured):
            raise UsageError(
                f"the release says nothing about {', '.join(margin)} together; "
                f"its tables are {'; '.join(', '.join(table) for table in self.plan.spec.margins)}"
            )
        counts = self.fit.margin(measured)
        return counts if self.plan.encoding is None else self.plan.encoding.decode(margin, counts)

    def published(self, margin: Margin) -> NDArray[np.float64] | NDArray[np.int64]:
        """The published counts of a margin."""
        return self.unbiased(margin)

    def table(self, *names: str, level: float = 0.95) -> pd.DataFrame:
        """The published table of some attributes: one row a cell, with its standard error and interval."""
        return self.noisy(*names, level=level)

    def noisy(self, *names: str, level: float = 0.95) -> pd.DataFrame:
        """The unbiased table of some attributes: one row a cell, with its standard error and interval."""
        margin = self.domain.margin(names)
        frame = Table(self.domain, margin, self.unbiased(margin)).to_pandas()
        errors, widths = self._cell_errors(margin, level)
        counts = frame["count"]
        return frame.assign(std_error=errors, low=counts - widths, high=counts + widths)

    def _cell_errors(self, margin: Margin, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The standard error and half-width of each cell; all alike unless the plan encodes its attributes."""
        cells = self.domain.cells(margin)
        units = np.eye(cells) if self.plan.encoding is not None else np.eye(1, cells)
        errors = [self.plan.linear_noise(margin, unit) for unit in units]
        std_errors = np.array([sqrt(error.variance) for error in errors])
        widths = np.array([error.half_width(level) for error in errors])
        return np.broadcast_to(std_errors, cells).copy(), np.broadcast_to(widths, cells).copy()

    def query(self, where: Where, *, minus: Where | None = None, among: Where | None = None) -> Estimate:
        """How many records are meant by ``where``; how many more than by ``minus``; or which share of ``among``.

        >>> out.query({"smoke": "yes"})                                     # a count
        >>> out.query({"smoke": "yes"}, minus={"smoke": "no"})              # a difference
        >>> out.query({"smoke": "yes"}, among={"pressure": "high"})         # a share: of those, how many smoke
        """
        if minus is not None and among is not None:
            raise UsageError("a question is either a difference (minus) or a share (among), not both")
        level = 0.95
        margin = margin_of(self.domain, where, minus, among)
        counts = self.unbiased(margin)
        weights = indicator(self.domain, margin, where)
        if among is None:
            if minus is not None:
                weights = weights - indicator(self.domain, margin, minus)
            error = self.plan.linear_noise(margin, weights)
            value, width = float((weights * counts).sum()), error.half_width(level)
            return Estimate(value, sqrt(error.variance), value - width, value + width, level)
        base = indicator(self.domain, margin, among)
        part, whole = float((weights * base * counts).sum()), float((base * counts).sum())
        slack = self.plan.linear_noise(margin, weights * base - (part / whole if whole > 0 else 0.0) * base)
        return ratio(part, whole, slack.variance, slack.half_width(level), level)
