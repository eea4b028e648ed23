"""A local collection as it is published: a value of tallies, the table made of them, and every table that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.table import Table
from margrave.crossing import Collected
from margrave.errors import UsageError
from margrave.planning.defaults import LEVEL
from margrave.planning.local.shuffle import Shuffled
from margrave.publish.microdata import frame
from margrave.publish.numbers import rounded
from margrave.reconstruct.apart import Unbiased
from margrave.reconstruct.bars import Bars, Simulated
from margrave.reconstruct.local import LocalFit, digest, simulate_local, unbiased_only
from margrave.reconstruct.publication import Published
from margrave.spec.spec import possible_mask

if TYPE_CHECKING:
    import pandas as pd

    from margrave.planning.local.plan import LocalPlan

Numbers = NDArray[Any]


@dataclass(frozen=True, eq=False)
class LocalAnswers:
    """What may be published of a local collection. It is private as it stands: every report was, by itself.

    ``publication`` is the non-negative table; None where tables are published unbiased. ``bars``: standard errors and
    half-widths of its tables where they were read from a bundle, and are otherwise simulated when first needed.
    Counts are those of the respondents; all errors include that they are a sample of a population.
    """

    plan: LocalPlan
    collected: Collected = field(repr=False)
    publication: Published | None = field(repr=False)
    bars: Mapping[Margin, Bars] = field(default_factory=dict, repr=False)
    ledger: ClassVar[None] = None

    def __repr__(self) -> str:
        return f"LocalRelease({self.reports} reports, likelihood ratio at most {self.plan.odds})"

    @property
    def private(self) -> bool:
        """Always: the noise was drawn on the respondents' devices."""
        return True

    @property
    def reports(self) -> int:
        return self.collected.reports

    @property
    def domain(self) -> Domain:
        return self.plan.spec.domain

    @cached_property
    def fit(self) -> LocalFit:
        return LocalFit.of(self.plan, self.collected)

    @cached_property
    def simulated(self) -> Simulated | None:
        """Simulated collections, for error bars; None where tables are unbiased or too large for that."""
        if self.publication is None:
            return None
        return simulate_local(self.plan, self.fit, self.publication, digest(self.collected))

    @property
    def shuffled(self) -> Shuffled | None:
        """The guarantee of the reports received together, where a shuffler is trusted."""
        return self.plan.shuffled(self.reports)

    def unbiased(self, margin: Margin) -> NDArray[np.float64]:
        """The unbiased counts of any margin that the reports tell about."""
        if not self.fit.covers(margin):
            raise UsageError(
                f"the collection says nothing about {', '.join(margin)} together; its tables are "
                f"{'; '.join(', '.join(table) for table in self.plan.spec.margins)}"
            )
        return np.asarray(self.reports * self.fit.shares(margin))

    def published(self, margin: Margin) -> Numbers:
        """The published counts of a margin."""
        return rounded(self.unbiased(margin) if self.publication is None else self.publication.margin(margin))

    def error_bars(self, margin: Margin, level: float = LEVEL) -> Bars:
        """Errors and half-widths of published cells, sampling included; none where there can be no records."""
        if level == LEVEL and margin in self.bars:
            return self.bars[margin]
        if not self.plan.spec.encoding.margin(margin):  # the number of reports is known
            return np.zeros(self.domain.cells(margin)), np.zeros(self.domain.cells(margin))
        if self.simulated is None:
            return self._unbiased_errors(margin, level)
        possible = possible_mask(self.plan.spec.base, margin).ravel()
        noise = (one * possible for one in self._unbiased_errors(margin, level))
        errors, widths = self.simulated.errors_beside(margin, level, Unbiased(self.unbiased(margin).ravel(), *noise))
        return rounded(errors * possible), rounded(widths * possible)

    def _unbiased_errors(self, margin: Margin, level: float) -> Bars:
        errors = self.reports * np.sqrt(self.fit.errors.variances(margin).ravel())
        return errors, errors * float(ndtri((1 + level) / 2))

    def numbers(self, margin: Margin, level: float = LEVEL) -> dict[str, Numbers]:
        """What is published of each cell: count, share, error and interval, and the unbiased estimate."""
        unbiased = self.unbiased(margin).ravel()
        noise, _ = self._unbiased_errors(margin, level)
        counts, (errors, widths) = self.published(margin).ravel(), self.error_bars(margin, level)
        low = -inf if self.publication is None else 0
        return {
            "count": counts,
            "share": rounded(counts / max(self.reports, 1)),
            "std_error": rounded(errors),
            "low": rounded(np.maximum(counts - widths, low)),
            "high": rounded(counts + widths),
            "half_width": rounded(widths),
            "unbiased": rounded(unbiased),
            "variance": rounded(noise**2),
        }

    def table(self, *names: str, level: float = LEVEL) -> pd.DataFrame:
        """The published table of some attributes: one row a cell, with its standard error and interval."""
        margin = self.domain.margin(names)
        found = self.numbers(margin, level)
        shown = {name: found[name] for name in ("count", "share", "std_error", "low", "high")}
        return Table(self.domain, margin, self.published(margin)).to_pandas().assign(**shown)

    def noisy(self, *names: str, level: float = LEVEL) -> pd.DataFrame:
        """The unbiased table of some attributes: one row a cell, with its standard error and interval."""
        margin = self.domain.margin(names)
        counts, (errors, widths) = self.unbiased(margin), self._unbiased_errors(margin, level)
        found = {"std_error": errors, "low": counts.ravel() - widths, "high": counts.ravel() + widths}
        return Table(self.domain, margin, counts).to_pandas().assign(**found)

    def microdata(self, *, labels: bool = False, fill: bool = False) -> pd.DataFrame:
        """Synthetic records whose tables are the published tables; the words are as for a `Release`."""
        if self.publication is None:
            raise UsageError(f"this release has no microdata: {unbiased_only(self.plan)}")
        seed = sha256(self.publication.held.content()).hexdigest()
        return frame(self.publication, self.plan.spec.base.codebook, labels=labels, fill=fill, seed=seed)
