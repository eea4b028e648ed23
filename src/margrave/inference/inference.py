"""Inference about a log-linear model from a release: the noise is part of the likelihood.

Works from the noisy measurements, not from the published table, and costs no budget. docs/inference.md has the
derivation, and how often the intervals hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc, expit

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.table import Table
from margrave.errors import RefusedError, UsageError
from margrave.inference.evidence import evidence
from margrave.inference.intervals import Contrast, LogOdds, interval
from margrave.inference.quasi import FitState, Quantity, Quasi
from margrave.models.model import Model
from margrave.planning.defaults import LEVEL
from margrave.progress import Progress
from margrave.publish.released import Released

if TYPE_CHECKING:
    import pandas as pd

Sought = tuple[Margin, tuple[str, ...], Quantity]
"""Attributes, their values, and the number that is asked about."""


@dataclass(frozen=True)
class FitTest:
    """Whether the model describes the table: the misfit ``x2``, and how probable a larger one is under the model.

    ``df``: measured dimensions minus parameters; zero when nothing beyond the model was measured, so that nothing can
    be tested. ``mean`` and ``variance``: those of ``x2`` under the model, df and 2 df for Gaussian noise and large
    counts; the mean is larger where some parameters belong to cells that are as good as empty, and are hardly fitted.
    """

    x2: float
    df: int
    mean: float
    variance: float

    @property
    def p_value(self) -> float | None:
        """By a multiple of a χ² law with the right mean and variance; None if nothing can be tested."""
        if not self.df:
            return None
        scale = self.variance / (2 * self.mean)
        return float(chdtrc(self.mean / scale, self.x2 / scale))


@dataclass(frozen=True)
class Number:
    """One estimated number: of which attributes, at which of their values, with its interval."""

    margin: Margin
    values: tuple[str, ...]
    estimate: float
    std_error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Inference:
    """A model fitted to what a release measured. Intervals are computed when they are asked for."""

    model: Model
    level: float
    quasi: Quasi
    fitted: FitState

    def __repr__(self) -> str:
        return f"Inference({self.model}, {self.model.rank} parameters, {self.test.df} degrees of freedom)"

    @property
    def expected(self) -> Table:
        """The estimated mean of each cell of the true table."""
        counts = np.zeros(self.model.domain.shape())
        counts[self.quasi.evidence.possible] = np.exp(self.fitted.logs)
        return Table(self.model.domain, self.model.domain.names, counts)

    @cached_property
    def test(self) -> FitTest:
        """The test of the model against everything else that was measured."""
        evidence, state = self.quasi.evidence, self.fitted
        size = len(evidence.values)
        table = np.exp(state.logs)
        covariance = (evidence.matrix * table) @ evidence.matrix.T + np.eye(size)
        # The misfit is a quadratic form of the evidence's distance from its mean: of what the fit leaves of it.
        moved = np.linalg.inv(state.information + np.diag(self.quasi.pull))
        fitted = 2.0 * moved - moved @ state.information @ moved
        form = np.linalg.inv(covariance) - state.weighted @ fitted @ state.weighted.T
        taken = fitted @ state.information
        on_cells = np.einsum("ij,ik,kj->j", evidence.matrix, form, evidence.matrix, optimize=True)
        on_noise = np.einsum("ij,jk,ik->i", evidence.sources, form, evidence.sources, optimize=True)
        fourth = float((table * on_cells**2).sum() + (evidence.excess * on_noise**2).sum())
        mean = size - float(np.trace(taken))
        variance = 2.0 * (2.0 * mean - size + float((taken * taken.T).sum())) + fourth
        return FitTest(state.misfit, size - self.model.rank, mean, variance)

    def contrasts(self, margins: Iterable[Margin] | None = None, progress: Progress | None = None) -> pd.DataFrame:
        """The terms of the model as log odds and log odds ratios against the first values, with their intervals.

        For one attribute: the log odds of a value against the first. For two: the log odds ratio. For more: the
        difference of such. Each is the even mean over the values of all other attributes; where no larger term of the
        model contains the attributes, it is the same at all of them. By default every term is given.
        """
        chosen = [term for term in self.model.terms if term] if margins is None else self._terms(margins)
        return _frame(self._numbers(list(self.contrast_targets(chosen)), progress))

    def shares(self, margins: Iterable[Margin] | None = None, progress: Progress | None = None) -> pd.DataFrame:
        """The probability of each cell of some tables under the model; by default of the generators' tables."""
        chosen = self.model.generators if margins is None else [self.model.domain.margin(one) for one in margins]
        found = self._numbers(list(self.share_targets(chosen)), progress)
        return _frame(_as_share(one) for one in found)

    def _terms(self, margins: Iterable[Margin]) -> list[Margin]:
        found = [self.model.domain.margin(margin) for margin in margins]
        for margin in found:
            if margin not in self.model.terms or not margin:
                raise UsageError(f"({', '.join(margin)}) is not a term of {self.model}: its contrasts are zero there")
        return found

    def contrast_targets(self, terms: Iterable[Margin]) -> Iterator[Sought]:
        """Of each term, the contrasts against the first values."""
        domain, possible = self.model.domain, self.quasi.evidence.possible
        if not possible.all():
            raise RefusedError("log odds ratios need every cell to be possible: ask for shares instead")
        for term in terms:
            for codes in product(*(range(1, domain[name].size) for name in term)):
                chosen = dict(zip(term, codes, strict=True))
                weights: Floats = np.ones(1)
                for attribute in domain:
                    part = np.full(attribute.size, 1.0 / attribute.size)
                    if attribute.name in chosen:
                        part[:] = 0.0
                        part[0], part[chosen[attribute.name]] = -1.0, 1.0
                    weights = np.asarray(np.kron(weights, part))
                values = tuple(domain[name].values[code] for name, code in chosen.items())
                yield term, values, Contrast(weights)

    def share_targets(self, margins: Iterable[Margin]) -> Iterator[Sought]:
        """Of each table, the log odds of falling into each of its cells."""
        domain, possible = self.model.domain, self.quasi.evidence.possible
        for margin in margins:
            for codes in product(*(range(domain[name].size) for name in margin)):
                inside = np.zeros(domain.shape())
                place = dict(zip(margin, codes, strict=True))
                inside[tuple(place.get(name, slice(None)) for name in domain.names)] = 1.0
                chosen = inside[possible]
                # A cell that is empty by declaration, or that holds everything, has nothing to be estimated.
                if 0 < chosen.sum() < chosen.size:
                    values = tuple(domain[name].values[code] for name, code in place.items())
                    yield margin, values, LogOdds(chosen)

    def _numbers(self, targets: list[Sought], progress: Progress | None) -> Iterator[Number]:
        for done, (margin, values, target) in enumerate(targets):
            if progress is not None:
                progress(done, len(targets))
            low, high = interval(self.quasi, self.fitted, target, self.level)
            error = self.quasi.direction(self.fitted, target)[1]
            yield Number(margin, values, target.value(self.fitted.logs), error, low, high)


def infer(release: Released, model: str | Model, *, level: float = LEVEL) -> Inference:
    """Fit a log-linear model to what a release measured, with the noise in the likelihood.

    ``model``: generators such as ``[smoke,mental][pressure]``. The model is about the attributes that it names; the
    measurements are summed down to these. Every generator must be a table that the release says something about.
    """
    if not 0 < level < 1:
        raise UsageError(f"level ({level}) must lie between 0 and 1")
    asked = Model.parse(model, release.domain) if isinstance(model, str) else model
    named = release.domain.margin(name for margin in asked.generators for name in margin)
    if not named:
        raise UsageError("the model names no attribute, so there is nothing to infer")
    for margin in asked.generators:
        release.unbiased(margin)  # Refuses a generator about which the release says nothing.
    found = Model(release.domain.restrict(named), asked.generators)
    seen = evidence(release, named)
    basis = found.basis(seen.possible)
    if np.linalg.matrix_rank(basis) < found.rank:
        raise RefusedError(
            f"impossible cells leave some parameters of {found} without meaning: use a model with fewer terms"
        )
    quasi = Quasi(seen, basis)
    total = float(release.unbiased(()))
    if total < release.plan.linear_noise((), np.ones(1)).half_width(LEVEL):
        raise RefusedError(
            "the noise of this release is as large as its number of records, so nothing can be inferred from it"
        )
    fitted = quasi.solve(quasi.start(total))
    if not quasi.settled(fitted):
        raise RefusedError(f"the fit of {found} did not settle: the noise is too large for it; use fewer terms")
    return Inference(found, level, quasi, fitted)


def _as_share(number: Number) -> Number:
    """A log odds as a probability; its standard error by the delta method."""
    share = float(expit(number.estimate))
    error = number.std_error * share * (1 - share)
    return Number(number.margin, number.values, share, error, float(expit(number.low)), float(expit(number.high)))


def _frame(numbers: Iterable[Number]) -> pd.DataFrame:
    import pandas as pd

    rows = [
        (",".join(one.margin), ",".join(one.values), one.estimate, one.std_error, one.low, one.high) for one in numbers
    ]
    return pd.DataFrame(rows, columns=["attributes", "values", "estimate", "std_error", "low", "high"])
