"""What is published: non-negative whole counts, as one full table or as records, from which every table is summed.

It is computed from the noisy estimates alone. Its cells are counts of synthetic records, so that all published tables
agree with each other, hold no negative and no fractional number, and are the cross-tabulations of the microdata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Counts, Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import maximal
from margrave.crossing import Measured
from margrave.facts.declared import facts_of, given_cells, given_table, is_given, loose_cells
from margrave.planning.limits import KEPT_CELLS
from margrave.planning.publication.publishing import covered_margins, is_wide_plan, unkept, used_domain
from margrave.planning.publication.raises import table_raise
from margrave.progress import Progress
from margrave.reconstruct.estimates import Estimates, Possible
from margrave.reconstruct.exact import Codes, ExactCounts, NotKept, check_feasible, keep
from margrave.reconstruct.held import FullTable, Held, Records
from margrave.reconstruct.nonnegative.choice import solved
from margrave.reconstruct.nonnegative.solvers import NonNegative
from margrave.reconstruct.raised import raised_margins
from margrave.reconstruct.records.possible import check_records
from margrave.reconstruct.records.variables import variables
from margrave.reconstruct.records.zeros import zeros
from margrave.reconstruct.unbiased import Fit
from margrave.reconstruct.whole import whole
from margrave.reconstruct.wide import wide_table
from margrave.spec.spec import Spec, possible_mask

if TYPE_CHECKING:
    from margrave.planning.plan import Plan


_LEAST = 1e-6
"""No noise counts as less than this variance, a thousandth of a record: at ε = 500 it is 1e-217, which nobody could
tell from none and whose inverse nobody could reckon with.
"""
_QUIET, _NEAR = 0.1, 0.01
"""Standard errors up to the first are next to no noise; a count as near to a whole number as the second is that one."""
AS_MEASURED = "with so little noise the whole numbers are those of the unbiased tables"
INTERRUPTED = "the fit was interrupted: these are the best records so far"


@dataclass(frozen=True, eq=False)
class Published:
    """Counts over all attributes that a wanted table uses, and how they came about.

    ``changes``: for each wanted table, the largest change of one of its cells by rounding. Of fitted records, the
    ``temperature`` that they were fitted at, and ``misfits``: for each wanted table χ² for each degree of freedom.
    """

    domain: Domain
    held: Held
    method: str
    rounding: str
    changes: dict[Margin, float]
    notes: tuple[str, ...] = ()
    temperature: float | None = None
    misfits: dict[Margin, float] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether the counts are whole numbers, and so have microdata."""
        return self.rounding != "none"

    @property
    def table(self) -> Counts:
        """The full table, where it is not too large."""
        return self.held.full()

    def margin(self, margin: Margin) -> Counts:
        """The published counts of some attributes."""
        return self.held.margin(margin)


def publishable(plan: Plan) -> str | None:
    """Why the plan's tables are published as they are, unbiased; None where they are made non-negative and whole.

    Needs no data. What cannot be done is refused here, before anything is spent.
    """
    check_given(plan.spec)
    plan.publishing.check()
    if plan.publishing.records:
        check_records(plan)
    return plan.publishing.why_not


def publish(
    plan: Plan, fit: Fit, progress: Progress | None = None, *, like: Published | None = None
) -> Published | None:
    """The published table by the method and rounding of the spec; None where tables are published unbiased.

    ``like``: what was published from other answers to the same plan, when error bars are simulated. Records are then
    fitted at the same temperature, and an interruption from the keyboard is an error; otherwise it ends the fit with
    the best records so far.
    """
    how = plan.publishing
    if publishable(plan) is not None:
        return None
    domain = used_domain(plan)
    if how.records:
        return _publish_records(plan, fit, domain, progress, like)
    if how.raises is not None:
        margins, said = raised_margins(plan, fit, domain)
        return Published(domain, margins, how.method, how.rounding, {}, said)
    wanted = tuple(plan.spec.margins)
    possible = possible_mask(plan.spec, domain.names).reshape(domain.shape())
    found, table = _nonnegative(plan, fit, domain, possible, progress)
    notes = (*found.notes, *_expected_raise(plan))
    exact = _exact_counts(plan, fit, domain)
    tried = [(exact, notes)]
    if how.rounding == "controlled" and (like is None or AS_MEASURED in like.notes):
        told = _told(plan, fit, domain, exact)
        tried = tried if told is None else [(told, (*notes, AS_MEASURED)), *tried]
    for kept, said in tried if how.rounding != "none" else ():
        try:
            rounded = whole(table, domain, wanted, how.rounding, exact=kept, possible=possible)
            held = FullTable(domain, rounded.table)
            return Published(domain, held, found.method, how.rounding, dict(rounded.changes), said)
        except NotKept as reason:
            notes = notes if kept is not exact else (*notes, f"not rounded: {reason}")
    try:
        table = table if exact is None else keep(exact, table, possible)
    except NotKept:
        return None
    return Published(domain, FullTable(domain, table), found.method, "none", {}, notes)


def _nonnegative(
    plan: Plan, fit: Fit, domain: Domain, possible: Possible, progress: Progress | None
) -> tuple[NonNegative, Floats]:
    """What the method of the plan finds, and its full table over the attributes as they were declared."""
    if is_wide_plan(plan):
        found = wide_table(plan, fit, domain, possible, progress)
        return found, found.table
    encoded = plan.encoding.encode(domain.names, possible)
    coded = tuple(map(plan.measured_margin, plan.spec.margins))
    estimates = _estimates(plan, fit, domain)
    found = solved(estimates, plan.publishing.choice, wanted=coded, possible=encoded, progress=progress)
    return found, plan.encoding.decode(domain.names, found.table)


def _publish_records(
    plan: Plan, fit: Fit, domain: Domain, progress: Progress | None, like: Published | None
) -> Published:
    from margrave.reconstruct.records.fit import fit_records

    found = variables(domain, plan.spec.codebook)
    fitted = fit_records(
        _estimates(plan, fit, domain),
        tuple(margin for margin in plan.spec.margins if margin),
        found,
        zeros(found, plan.spec.structural_zeros, plan.spec.domain),
        seed=digest(fit.measured),
        temperature=None if like is None else like.temperature,
        keep=like is None,
        progress=progress,
    )
    notes = [f"{len(fitted.codes)} records, fitted at temperature {fitted.temperature:.4g}", fitted.summary()]
    if not fitted.finished:
        notes.append(INTERRUPTED)
    return Published(
        domain,
        Records(domain, fitted.codes),
        "records",
        "controlled",
        {},
        tuple(notes),
        fitted.temperature,
        fitted.misfits(),
    )


def digest(measured: Measured) -> str:
    """A text made of the noisy answers, from which everything random after the noise is seeded."""
    return sha256(b"".join(one.outputs.tobytes() for one in measured.answers)).hexdigest()


@lru_cache(maxsize=4)
def check_given(spec: Spec) -> None:
    """Refuse given facts that no table of counts has, as far as that can be found out. Opens no data."""
    facts = facts_of(spec)
    cells = given_cells(spec)
    loose = loose_cells(facts)
    if not is_given(spec) or unkept(spec.domain, facts.whole, tuple(margin for margin, _ in loose)):
        return
    names = spec.domain.margin({name for margin in (*facts.whole, *(margin for margin, _ in loose)) for name in margin})
    known = ExactCounts(
        spec.domain.restrict(names),
        {margin: given_table(spec, margin) for margin in facts.whole},
        {cell: cells[cell] for cell in loose},
    )
    check_feasible(known, possible_mask(spec, names))


def _decoded(plan: Plan, cell: Codes) -> Codes:
    """A cell of what is measured as one of the spec."""
    margin = plan.counted_margin(cell[0])
    return margin, plan.encoding.decode_cell(margin, cell[1])


def _exact_counts(plan: Plan, fit: Fit, domain: Domain) -> ExactCounts | None:
    """The counts that are published without noise, in terms of the spec; None where there are none."""
    if not plan.exact and not plan.cells:
        return None
    tables = {}
    for margin in plan.exact:
        counts, own = fit.measured.exact[margin], plan.counted_margin(margin)
        tables[own] = plan.encoding.decode(own, counts)
    return ExactCounts(domain, tables, {_decoded(plan, cell): fit.measured.cells[cell] for cell in plan.cells})


def _told(plan: Plan, fit: Fit, domain: Domain, exact: ExactCounts | None) -> ExactCounts | None:
    """The wanted tables as counts to keep, where there is so little noise that the unbiased ones are whole; else None.

    Fitting and rounding one full table would move some of their cells by one.
    """
    wanted = maximal(plan.spec.margins)
    errors = (plan.accuracy.cell_variance(plan.measured_margin(margin)) for margin in wanted)
    if is_wide_plan(plan) or domain.cells() > KEPT_CELLS or max(errors) > _QUIET**2:
        return None
    tables = {} if exact is None else dict(exact.tables)
    for margin in wanted:
        counts = plan.encoding.decode(margin, fit.margin(plan.measured_margin(margin)))
        near = np.rint(counts)
        if (near < 0).any() or np.abs(counts - near).max() > _NEAR:
            return None
        tables[margin] = near.astype(np.int64)
    kept = {margin: tables[margin] for margin in maximal(tables)}
    cells = {} if exact is None else exact.cells
    return ExactCounts(domain, kept, {cell: count for cell, count in cells.items() if cell[0] not in kept})


def _expected_raise(plan: Plan) -> tuple[str, ...]:
    """For Barak's coefficients made non-negative by raising the constant: how much raising suffices, by theory."""
    enough = table_raise(plan) if plan.spec.nonnegative == "simple" else None
    if enough is None:
        return ()
    return (f"raising the total by {enough:.6g} makes every margin non-negative with probability 95 %",)


def _estimates(plan: Plan, fit: Fit, domain: Domain) -> Estimates:
    """Every residual that the measurements say something about, none of them known too well to be computed with."""
    measured = plan.domain.restrict(plan.measured_margin(domain.names))
    covered = covered_margins(plan)
    fit.prepare(covered)
    values = {margin: fit.residual(margin) for margin in covered}
    variances = {margin: plan.accuracy.variance(margin) for margin in covered}
    return Estimates(measured, values, {margin: max(one, _LEAST) if one else one for margin, one in variances.items()})
