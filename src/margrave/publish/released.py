"""A release: what was measured, and every table that follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import inf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.table import Table
from margrave.crossing import Measured
from margrave.errors import UsageError
from margrave.planning.defaults import LEVEL
from margrave.planning.plan import Plan
from margrave.planning.promise.guarantee import approximate
from margrave.progress import Progress
from margrave.publish.bundle.forms import FORMS
from margrave.publish.estimates import Estimate, Where, half_width, indicator, margin_of, ratio
from margrave.publish.later import Later
from margrave.publish.microdata import frame
from margrave.publish.numbers import rounded
from margrave.reconstruct.apart import Unbiased
from margrave.reconstruct.bars import (
    UNSIMULATED,
    Bars,
    Origin,
    Shares,
    Simulated,
    is_simulated,
    seed_of,
    simulated_bars,
)
from margrave.reconstruct.publication import Published
from margrave.reconstruct.publishable import publishable
from margrave.reconstruct.records.spread import is_predicted, spread_at
from margrave.reconstruct.unbiased import Fit
from margrave.spec.spec import possible_mask

if TYPE_CHECKING:
    import pandas as pd

    from margrave.files.content import Content

_LEAST_FITTED = 0.5
"""The least standard error of a count of fitted records: whole, and some off by one with next to no noise."""


@dataclass(frozen=True, eq=False)
class Released:
    """A finished release. It holds nothing confidential: only the plan without [data], and noisy whole numbers.

    ``ledger`` says where the release was charged, if anywhere: the ledger's ``id``, the ``dataset``, the ``entry`` and
    its ``hash`` and ``time``. ``stored`` is the bundle, as an archive, that a ledger keeps of it: what is saved is this
    one. ``kept`` is the published table, ``bars`` the standard errors and half-widths of its tables, and ``shares`` the
    half-widths of shares, where they were read from a bundle, where ``origin`` says how they came about; otherwise they
    are made when first needed.
    ``level`` is the probability with which its intervals hold the truth, unless another is asked for.
    """

    plan: Plan
    measured: Measured
    ledger: Mapping[str, Any] | None = None
    stored: Content | None = None
    kept: Published | None = None
    bars: Mapping[Margin, Bars] = field(default_factory=dict)
    shares: Shares = field(default_factory=dict)
    origin: Origin | None = None
    level: float = LEVEL

    def __post_init__(self) -> None:
        grown = self.plan.grown(one.measurement for one in self.measured.answers)
        object.__setattr__(self, "plan", replace(grown, spec=grown.spec.without_data()))

    def __repr__(self) -> str:
        private = "private" if self.private else "NOT PRIVATE: the noise comes from a seed"
        return f"Release({len(self.plan.spec.margins)} tables, {approximate(self.plan.guarantee)}, {private})"

    @property
    def created(self) -> str | None:
        """When a release was charged to a ledger; None without one."""
        return None if self.ledger is None else str(self.ledger["time"])

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
        return self.plan.encoding.decode(margin, counts)

    @cached_property
    def _publication(self) -> Later[Published | None]:
        return Later(lambda progress: self._publish(progress) if self.kept is None else self.kept)

    def _publish(self, progress: Progress | None) -> Published | None:
        from margrave.reconstruct.published import publish

        return publish(self.plan, self.fit, progress)

    @property
    def publication(self) -> Published | None:
        """The counts that are published; None where tables are published as they are measured, unbiased."""
        return self._publication.get()

    @property
    def simulates(self) -> bool:
        """Whether error bars are simulated: not where tables are published unbiased, or are too large for that."""
        return is_simulated(self.publication)

    @cached_property
    def _simulated(self) -> Later[Simulated | None]:
        return Later(lambda told: simulated_bars(self.plan, self.fit, self.publication, self.bars_seed, told))

    @property
    def simulated(self) -> Simulated | None:
        """Simulations of the published table, for its error bars; None where it is too large to be simulated."""
        return self._simulated.get()

    @cached_property
    def bars_seed(self) -> str:
        """The seed of simulated error bars, which is published with them."""
        return seed_of(self.measured, self.origin)

    @property
    def bars_form(self) -> int:
        """The form of the error bars: that of this Margrave, unless they were read from a bundle."""
        return FORMS.bars if self.origin is None else self.origin.form

    def prepare_tables(self, progress: Progress | None = None) -> None:
        """Make now what is published, and otherwise made when first needed; ``progress`` is told how near it is."""
        self._publication.get(progress)

    def prepare(self, progress: Progress | None = None) -> None:
        """Do now what takes a while and would otherwise be done when first needed: the simulations of error bars."""
        if not self.bars:
            self._simulated.get(progress)

    def simulate(self, progress: Progress | None = None) -> None:
        """Simulate now the errors of the published table, which sums, shares and differences of it need."""
        self._simulated.get(progress)

    def published(self, margin: Margin) -> NDArray[np.float64] | NDArray[np.int64]:
        """The published counts of a margin: of any attributes together where there is a published table."""
        return self.unbiased(margin) if self.publication is None else rounded(self.publication.margin(margin))

    def table(self, *names: str, level: float | None = None) -> pd.DataFrame:
        """The published table of some attributes: one row a cell, with its standard error and interval."""
        margin = self.domain.margin(names)
        if self.publication is None:
            return self.noisy(*names, level=level)
        self.unbiased(margin)  # Refuses attributes about which the release says nothing.
        counts = self.published(margin)
        found = _interval(counts.ravel(), *self.error_bars(margin, level), 0)
        return Table(self.domain, margin, counts).to_pandas().assign(**found)

    def tables(self, *, level: float | None = None) -> Iterator[tuple[Margin, pd.DataFrame]]:
        """Every wanted table with its margin, one after the other: each is rebuilt in its turn, and none is kept."""
        for margin in self.plan.spec.margins:
            yield margin, self.table(*margin, level=level)

    def numbers(self, margin: Margin) -> dict[str, NDArray[Any]]:
        """What is published of each cell of a table: its count, error and interval, and the unbiased estimate."""
        noise, width = self._cell_errors(margin, self.level)
        unbiased = self.unbiased(margin).ravel()
        if self.publication is None:
            found = {**_interval(unbiased, noise, width), "half_width": width}
        else:
            error, width = self.error_bars(margin)
            found = {**_interval(self.published(margin).ravel(), error, width, 0), "half_width": width}
        return {**found, "unbiased": unbiased, "variance": noise**2}

    def error_bars(self, margin: Margin, level: float | None = None) -> Bars:
        """Errors and half-widths of published cells: none where counts are exact or there can be no records."""
        uncertain = self._uncertain(margin)
        errors, widths = self._published_errors(margin, self.level if level is None else level)
        return errors * uncertain, widths * uncertain

    def _uncertain(self, margin: Margin) -> NDArray[np.bool_]:
        """Which cells can have records and are not published without noise."""
        return (possible_mask(self.plan.spec, margin) & ~self.plan.certain(margin)).ravel()

    def _published_errors(self, margin: Margin, level: float) -> Bars:
        """Root mean squared error and half-width of each published cell; without simulation, of the unbiased one."""
        if level == self.level and margin in self.bars:
            return self.bars[margin]
        if self.simulated is None:
            return self._shifted_errors(margin, level)
        noise = (one * self._uncertain(margin) for one in self._cell_errors(margin, level))
        errors, widths = self.simulated.errors_beside(margin, level, Unbiased(self.unbiased(margin).ravel(), *noise))
        return rounded(errors), rounded(widths)

    def _shifted_errors(self, margin: Margin, level: float) -> Bars:
        """Those of unbiased cells: the same where a model follows the answers, and as much of them as known noise has
        told where it predicts; otherwise, where a total was raised or a model fitted, with how far off the others are.
        """
        errors, widths = self._cell_errors(margin, level)
        if self.publication is None or self.publication.method not in UNSIMULATED:
            return errors, widths
        counts, told = self.published(margin).ravel(), self.publication.spreads
        if told and margin in self._wanted:
            part = np.ones(counts.shape)
            if is_predicted(margin, self.plan.selected):
                part = spread_at(told, counts / np.maximum(errors, 1e-9))
            return np.maximum(part * errors, _LEAST_FITTED), np.maximum(part * widths, 1.0)
        added = np.abs(counts - self.unbiased(margin).ravel())
        return np.hypot(errors, added), widths + added

    def share_widths(self, margin: Margin, whole: Margin) -> NDArray[np.float64] | None:
        """The half-widths of the shares that a table's cells have of the totals of ``whole``; 1 for shares of nobody.

        None where they are not known: error bars are not simulated, or a bundle of an older form has none.
        """
        if not self.simulates or self.simulated_elsewhere:
            return self.shares.get((margin, whole))
        assert self.simulated is not None
        return rounded(self.simulated.share_widths(margin, whole, self.level))

    @property
    def simulated_elsewhere(self) -> bool:
        """Whether simulated error bars were read from a bundle, which states what there is of them."""
        return self.origin is not None

    def microdata(self, *, labels: bool = False, fill: bool = False) -> pd.DataFrame:
        """Synthetic records whose tables are the published tables.

        ``labels``: words for people in place of values. ``fill``: a further column ``<name>_drawn`` for each attribute
        in bins, with numbers drawn evenly inside the bin.
        """
        if self.publication is None:
            reason = publishable(self.plan) or "no table was found that has all the exact counts"
            raise UsageError(f"this release has no microdata: {reason}")
        seed = sha256(self.publication.held.content()).hexdigest()
        return frame(self.publication, self.plan.spec.codebook, labels=labels, fill=fill, seed=seed)

    def noisy(self, *names: str, level: float | None = None) -> pd.DataFrame:
        """The unbiased table of some attributes: one row a cell, with its standard error and interval."""
        margin = self.domain.margin(names)
        counts = self.unbiased(margin)
        found = _interval(counts.ravel(), *self._cell_errors(margin, self.level if level is None else level))
        return Table(self.domain, margin, counts).to_pandas().assign(**found)

    @cached_property
    def _wanted(self) -> frozenset[Margin]:
        return frozenset(self.plan.spec.margins)

    def _cell_errors(self, margin: Margin, level: float) -> Bars:
        """The standard error and half-width of each cell; all alike unless attributes are encoded or cells known."""
        cells, alike = self.domain.cells(margin), self.plan.alike(margin)
        if alike and level == self.level and margin in self._wanted:
            row = self.plan.forecast_of(margin, level)
            return np.full(cells, row.std_error), np.full(cells, row.half_width)
        units = np.eye(1, cells) if alike else np.eye(cells)
        errors = [self.plan.linear_noise(margin, unit) for unit in units]
        std_errors = np.array([sqrt(error.variance) for error in errors])
        widths = np.array([half_width(error, level) for error in errors])
        return np.broadcast_to(std_errors, cells).copy(), np.broadcast_to(widths, cells).copy()

    def query(self, where: Where, *, minus: Where | None = None, among: Where | None = None) -> Estimate:
        """How many records are meant by ``where``; how many more than by ``minus``; or which share of ``among``.

        >>> out.query({"smoke": "yes"})                                     # a count
        >>> out.query({"smoke": "yes"}, minus={"smoke": "no"})              # a difference
        >>> out.query({"smoke": "yes"}, among={"pressure": "high"})         # a share: of those, how many smoke
        """
        if minus is not None and among is not None:
            raise UsageError("a question is either a difference (minus) or a share (among), not both")
        margin = margin_of(self.domain, where, minus, among)
        counts = self.unbiased(margin)
        weights = indicator(self.domain, margin, where)
        if among is None:
            if minus is not None:
                weights = weights - indicator(self.domain, margin, minus)
            error = self.plan.linear_noise(margin, weights)
            value, width = float((weights * counts).sum()), error.half_width(self.level)
            return Estimate(value, sqrt(error.variance), value - width, value + width, self.level)
        base = indicator(self.domain, margin, among)
        part, whole = float((weights * base * counts).sum()), float((base * counts).sum())
        slack = self.plan.linear_noise(margin, weights * base - (part / whole if whole > 0 else 0.0) * base)
        return ratio(part, whole, slack.variance, slack.half_width(self.level), self.level)


def _interval(
    counts: NDArray[Any], errors: NDArray[np.float64], widths: NDArray[np.float64], least: float = -inf
) -> dict[str, NDArray[Any]]:
    """Counts with their errors and intervals, which begin at ``least`` or above."""
    return {"count": counts, "std_error": errors, "low": np.maximum(counts - widths, least), "high": counts + widths}
