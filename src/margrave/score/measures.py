"""How far released tables are from the true ones: by margins, by fitted models, by the models one would choose.

Everything here compares a release with the truth, so it is for data that is not confidential. Distances between
probabilities divide each table by its own total: L1 lies between 0 and 2, and is twice the total variation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.table import Table
from margrave.errors import UsageError
from margrave.models.loglinear import ModelFit, fit
from margrave.models.model import Model


@dataclass(frozen=True)
class MarginErrors:
    """The L1 distance between the true and the released counts of each margin."""

    l1: Mapping[Margin, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "l1", MappingProxyType(dict(self.l1)))
        if not self.l1:
            raise UsageError("there is no margin to compare")

    @property
    def largest(self) -> float:
        return max(self.l1.values())

    @property
    def mean(self) -> float:
        return sum(self.l1.values()) / len(self.l1)


def margin_errors(truth: Iterable[Table], released: Iterable[Table]) -> MarginErrors:
    """Compare two sets of tables over the same margins, in any order."""
    true, seen = _by_margin(truth), _by_margin(released)
    if set(true) != set(seen):
        odd = sorted(set(true) ^ set(seen))
        raise UsageError(f"the margin {','.join(odd[0]) or '()'} is in one of the two sets of tables only")
    return MarginErrors({margin: float(np.abs(_difference(true[margin], seen[margin])).sum()) for margin in true})


def _by_margin(tables: Iterable[Table]) -> dict[Margin, Table]:
    found: dict[Margin, Table] = {}
    for table in tables:
        if table.margin in found:
            raise UsageError(f"the margin {','.join(table.margin) or '()'} is given twice")
        found[table.margin] = table
    return found


def _difference(truth: Table, released: Table) -> Floats:
    check_same_cells(truth, released)
    difference: Floats = truth.counts.astype(float) - released.counts.astype(float)
    return difference


def check_same_cells(truth: Table, released: Table) -> None:
    """Refuse to compare tables whose attributes or values differ."""
    if truth.domain.restrict(truth.margin) != released.domain.restrict(released.margin):
        raise UsageError("the two tables are not over the same attributes and values; Table.align puts them in order")


def l1_distance(first: Table, second: Table) -> float:
    """``Σ |p − q|`` between two tables as probabilities."""
    return float(np.abs(_shift(first, second)).sum())


def total_variation(first: Table, second: Table) -> float:
    """Half the L1 distance: the largest difference in the probability of any set of cells."""
    return l1_distance(first, second) / 2


def l2_distance(first: Table, second: Table) -> float:
    """``√Σ (p − q)²`` between two tables as probabilities."""
    return float(np.sqrt((_shift(first, second) ** 2).sum()))


def _shift(first: Table, second: Table) -> Floats:
    check_same_cells(first, second)
    if first.total <= 0 or second.total <= 0:
        raise UsageError("a table needs a positive total to be read as probabilities")
    shift: Floats = first.counts / first.total - second.counts / second.total
    return shift


@dataclass(frozen=True)
class ModelAgreement:
    """One model fitted to the truth and to a release.

    ``l1``, ``total_variation`` and ``l2`` are between the two fits as probabilities. ``g2_carried`` is the
    likelihood-ratio statistic of the true table against the released fit, scaled to the true total: infinite when
    the released fit excludes a cell that is not empty.
    """

    true: ModelFit
    released: ModelFit

    def __post_init__(self) -> None:
        if self.true.model != self.released.model:
            raise UsageError("the two fits are of different models")

    @property
    def l1(self) -> float:
        return l1_distance(self.true.fitted, self.released.fitted)

    @property
    def total_variation(self) -> float:
        return total_variation(self.true.fitted, self.released.fitted)

    @property
    def l2(self) -> float:
        return l2_distance(self.true.fitted, self.released.fitted)

    @property
    def g2_difference(self) -> float:
        """The released table's G² minus the true one's."""
        return self.released.g2 - self.true.g2

    @property
    def g2_carried(self) -> float:
        n = self.true.observed.counts.astype(float)
        m = self.released.probabilities.counts * self.true.observed.total
        filled = n > 0
        if (m[filled] <= 0).any():
            return float("inf")
        return max(0.0, 2.0 * float((n[filled] * np.log(n[filled] / m[filled])).sum()))

    @property
    def sample_sizes(self) -> tuple[float, float]:
        """The true and the released total."""
        return float(self.true.observed.total), float(self.released.observed.total)

    def still_fits(self, level: float = 0.05) -> bool | None:
        """Whether a model that the truth does not reject is not rejected by the release; None if the truth does."""
        if not 0 < level < 1:
            raise UsageError(f"level ({level}) must lie strictly between 0 and 1")
        return self.released.p_value >= level if self.true.p_value >= level else None


def agreement(model: Model, truth: Table, released: Table) -> ModelAgreement:
    """Fit one model to both tables."""
    return ModelAgreement(fit(model, truth), fit(model, released))


@dataclass(frozen=True)
class Ranking:
    """Models fitted to one table, the best first by BIC; ties keep the order in which they were given."""

    fits: tuple[ModelFit, ...]

    @property
    def best(self) -> Model:
        return self.fits[0].model

    @property
    def lead(self) -> float:
        """By how much the second model's BIC exceeds the best one's; infinite when there is no second."""
        return self.fits[1].bic - self.fits[0].bic if len(self.fits) > 1 else float("inf")


def choose(models: Sequence[Model], table: Table) -> Ranking:
    """Fit the models to a table and sort them by BIC."""
    if not models:
        raise UsageError("there is no model to choose from")
    return Ranking(tuple(sorted((fit(model, table) for model in models), key=lambda one: one.bic)))


def misleads(models: Sequence[Model], truth: Table, released: Table) -> bool:
    """Whether BIC chooses another model from the release than from the truth."""
    return choose(models, truth).best != choose(models, released).best
