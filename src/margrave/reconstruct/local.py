"""From the reports of a local collection to tables: unbiased estimates of residuals, and what is published of them.

What the reports tell arrives here as every other measurement does, as estimates of residuals with known variances; so
the same methods make them non-negative and whole. All errors are against the population that the respondents are a
sample of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import prod

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import subsets
from margrave.algebra.residual import decompose, margin_from
from margrave.crossing import Collected
from margrave.errors import RefusedError, UsageError
from margrave.planning.local.forecast import Precisions, Weighing
from margrave.planning.local.plan import LocalPlan
from margrave.planning.publication.publishing import worth_holding
from margrave.planning.publication.raises import RAISED
from margrave.progress import Progress
from margrave.reconstruct.bars import Compared, Simulated, replicates, understated
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.held import FullTable, Records
from margrave.reconstruct.nonnegative.choice import nonnegative
from margrave.reconstruct.normals import Normals
from margrave.reconstruct.publication import Published
from margrave.reconstruct.records.variables import variables
from margrave.reconstruct.records.zeros import zeros
from margrave.reconstruct.whole import whole
from margrave.spec.spec import possible_mask

Population = Callable[[Margin], Floats]
"""The shares of a population, by attributes."""
_TOGETHER = 256
"""Cells of a table whose variances are computed at a time."""


@dataclass(frozen=True, eq=False)
class LocalFit:
    """The best unbiased estimate of every residual that the reports tell about, in shares of all respondents.

    ``tables``: for each question of the plan what its reports tell, as shares; ``counts``: how many there are.
    """

    plan: LocalPlan
    counts: tuple[int, ...]
    tables: tuple[Floats, ...]

    @classmethod
    def of(cls, plan: LocalPlan, collected: Collected) -> LocalFit:
        """The estimates from what was collected."""
        if len(collected.counts) != len(plan.questions):
            raise UsageError("what was collected is not of this plan: it has another number of questions")
        tables = (
            one.mechanism.shares(tally, count) if count else np.zeros(one.mechanism.shape)
            for one, tally, count in zip(plan.questions, collected.tallies, collected.counts, strict=True)
        )
        return cls(plan, tuple(collected.counts), tuple(tables))

    @property
    def reports(self) -> int:
        return sum(self.counts)

    @cached_property
    def weighing(self) -> Weighing:
        return Weighing(self.plan.spec.encoding, self.plan.questions, self.counts)

    @property
    def precisions(self) -> Precisions:
        """σ²_T of each residual with the reports at hand: at most, as for answers that are spread evenly."""
        return self.weighing.precisions

    @cached_property
    def residuals(self) -> dict[Margin, Floats]:
        """Every residual that some report tells about, by inverse variance over the questions."""
        sums: dict[Margin, Floats] = {}
        for one, count, table in zip(self.plan.questions, self.counts, self.tables, strict=True):
            if not count:
                continue
            axes = len(one.margin)
            wanted = None if one.mechanism.whole else [tuple(range(axes))]
            for chosen, part in decompose(table, axes, wanted=wanted).items():
                below = tuple(one.margin[axis] for axis in chosen)
                if below and one.mechanism.tells(chosen):
                    sums[below] = sums.get(below, 0.0) + count / one.spread(below) * part
        found = {below: total * self.precisions.variances[below] for below, total in sums.items()}
        return {(): np.array(1.0), **found}

    def check(self) -> None:
        """Refuse where nobody reported on something that a wanted table needs."""
        for margin in self.plan.spec.margins:
            for below in subsets(self.plan.spec.encoding.margin(margin)):
                if below not in self.residuals:
                    raise RefusedError(
                        f"{self.reports} reports are too few: none tells about {', '.join(below)}, which the table of "
                        f"{', '.join(margin)} needs; collect more, or ask for less"
                    )

    def covers(self, margin: Margin) -> bool:
        """Whether the reports tell about all attributes of a margin together."""
        return all(below in self.residuals for below in subsets(self.plan.spec.encoding.margin(margin)))

    def shares(self, margin: Margin) -> Floats:
        """The unbiased table of a margin, in shares."""
        encoding = self.plan.spec.encoding
        return encoding.decode(margin, margin_from(encoding.encoded, encoding.margin(margin), self.residuals))

    @cached_property
    def errors(self) -> CellErrors:
        """The variances of cells, the population being taken to be what was estimated."""
        return CellErrors(self, self.believed)

    def believed(self, margin: Margin) -> Floats:
        """The estimated shares of a question's attributes, without negative ones."""
        domain = self.plan.spec.domain
        parts = {below: self.residuals.get(below, np.zeros(domain.shape(below))) for below in subsets(margin)}
        found = np.maximum(margin_from(domain, margin, parts), 0.0)
        return np.asarray(found / found.sum())

    def estimates(self, domain: Domain) -> Estimates:
        """The residuals within a domain in counts of respondents, whose number is known."""
        size, inside = self.reports, set(domain.names)
        values = {below: size * part for below, part in self.residuals.items() if inside.issuperset(below)}
        variances = {below: size**2 * self.precisions.variances.get(below, 0.0) for below in values}
        return Estimates(domain, values, variances)

    def again(self, population: Population, normals: Normals) -> LocalFit:
        """What as many reports would tell about a population with given shares, in large numbers."""
        tables = (
            one.mechanism.again(population(one.margin), max(count, 1), normals(one.mechanism.cells))
            for one, count in zip(self.plan.questions, self.counts, strict=True)
        )
        return LocalFit(self.plan, self.counts, tuple(tables))


class CellErrors:
    """The variance of each cell of unbiased tables, noise and sampling, for a population with given shares.

    A cell is a sum over the tables of the questions (`Weighing`). Within one table the covariances between its cells
    are known (`Mechanism.variances`).
    """

    def __init__(self, fit: LocalFit, population: Population) -> None:
        self._weighing, self._population = fit.weighing, population
        self._parts: dict[tuple[int, Margin], Floats] = {}

    def variances(self, margin: Margin) -> Floats:
        """The variance of each cell's share."""
        encoding = self._weighing.encoding
        measured = encoding.margin(margin)
        found = np.zeros(encoding.encoded.shape(measured))
        for number, shared in self._weighing.parts(measured):
            apart = [axis for axis, name in enumerate(measured) if name not in shared]
            outside = prod(found.shape[axis] for axis in apart)
            found += np.expand_dims(self._part(number, shared), apart) / outside**2
        return encoding.decode(margin, found)

    def _part(self, number: int, shared: Margin) -> Floats:
        """What one question's reports add to the variance of each cell of some of its attributes."""
        if (number, shared) not in self._parts:
            domain = self._weighing.encoding.encoded
            cells, shape = domain.cells(shared), domain.shape(shared)
            starts = range(0, cells, _TOGETHER)
            rows = (np.eye(min(_TOGETHER, cells - start), cells, start).reshape(-1, *shape) for start in starts)
            found = np.concatenate([self._rows(number, shared, some) for some in rows])
            self._parts[number, shared] = found.reshape(shape)
        return self._parts[number, shared]

    def _rows(self, number: int, shared: Margin, rows: Floats) -> Floats:
        """The same for some cells, each given by a table of zeros with a one in it."""
        one, weights = self._weighing.questions[number], self._weighing.weights(number, shared, rows)
        return np.asarray(
            one.mechanism.variances(weights, self._population(one.margin)) / self._weighing.counts[number]
        )


def digest(collected: Collected) -> str:
    """A text made of what was collected, from which everything random afterwards is seeded."""
    return sha256(b"".join(one.tobytes() for one in collected.tallies)).hexdigest()


def unbiased_only(plan: LocalPlan) -> str | None:
    """Why the tables of a plan are published as they are, unbiased; None where they are made non-negative and whole."""
    method = plan.spec.base.nonnegative
    if method == "none":
        return "the spec asks for the unbiased tables"
    if method in ("simple", *RAISED):
        raise RefusedError(f"nonnegative = {method!r} is not possible: the number of reports is known; use 'auto'")
    return None


def publish_local(
    plan: LocalPlan, fit: LocalFit, seed: str, progress: Progress | None = None, like: Published | None = None
) -> Published | None:
    """The published table by the method and rounding of the spec; None where tables are published unbiased."""
    if unbiased_only(plan) is not None:
        return None
    spec = plan.spec.base
    wanted = tuple(margin for margin in spec.margins if margin)
    domain = spec.domain.restrict(spec.domain.margin(name for margin in wanted for name in margin))
    estimates = fit.estimates(domain)
    whole_table = worth_holding(domain, wanted, spec.rounding)
    if spec.nonnegative == "records" or (spec.nonnegative == "auto" and not whole_table):
        return _records(plan, estimates, wanted, seed, progress, like)
    possible = possible_mask(spec, domain.names).reshape(domain.shape())
    found = nonnegative(estimates, spec.nonnegative, wanted=wanted, possible=possible, progress=progress)
    if spec.rounding == "none":
        return Published(domain, FullTable(domain, found.table), found.method, "none", {}, found.notes)
    rounded = whole(found.table, domain, wanted, spec.rounding, possible=possible)
    held = FullTable(domain, rounded.table)
    return Published(domain, held, found.method, spec.rounding, dict(rounded.changes), found.notes)


def _records(
    plan: LocalPlan,
    estimates: Estimates,
    wanted: Sequence[Margin],
    seed: str,
    progress: Progress | None,
    like: Published | None,
) -> Published:
    from margrave.reconstruct.records.fit import fit_records

    spec, domain = plan.spec.base, estimates.domain
    found = variables(domain, spec.codebook)
    fitted = fit_records(
        estimates,
        wanted,
        found,
        zeros(found, spec.structural_zeros, spec.domain),
        seed=seed,
        temperature=None if like is None else like.temperature,
        keep=like is None,
        progress=progress,
    )
    notes = (f"{len(fitted.codes)} records, fitted at temperature {fitted.temperature:.4g}", fitted.summary())
    held = Records(domain, fitted.codes)
    return Published(domain, held, "records", "controlled", {}, notes, fitted.temperature, fitted.misfits())


def simulate_local(plan: LocalPlan, fit: LocalFit, published: Published, seed: str) -> Simulated | None:
    """Published tables of simulated collections from a population that is the published table, for error bars."""
    count = replicates(published)
    if not count:
        return None
    normals = Normals(f"local error bars {seed}")
    fits = [fit.again(shares_of(published, fit.reports), normals) for _ in range(count)]
    again = [publish_local(plan, one, seed, like=published) for one in fits]
    tables = tuple(one for one in again if one is not None)

    def unbiased_again(margin: Margin) -> Floats:
        return np.array([fit.reports * one.shares(margin).ravel() for one in fits])

    factor = understated(_compared(plan, fit, published, unbiased_again, tables))
    return Simulated(published, tables, factor, unbiased_again)


def shares_of(published: Published, reports: int) -> Population:
    """The published table as a population."""

    def shares(margin: Margin) -> Floats:
        return np.asarray(published.margin(margin) / reports)

    return shares


def _compared(
    plan: LocalPlan,
    fit: LocalFit,
    published: Published,
    unbiased_again: Callable[[Margin], Floats],
    again: Sequence[Published],
) -> Iterator[Compared]:
    size = fit.reports
    errors = CellErrors(fit, shares_of(published, size))
    for margin in plan.spec.told:
        yield Compared(
            published.margin(margin).ravel().astype(np.float64),
            size * fit.shares(margin).ravel(),
            np.array([one.margin(margin).ravel() for one in again], dtype=np.float64),
            unbiased_again(margin),
            size**2 * float(errors.variances(margin).mean()),
        )
