"""From noisy estimates to what is published (`Published`), by the method and rounding of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain
from margrave.algebra.lattice import maximal
from margrave.planning.limits import KEPT_CELLS
from margrave.planning.publication.publishing import GRAPHICAL, covered_margins, is_wide_plan, used_domain
from margrave.planning.publication.raises import table_raise
from margrave.progress import Progress, counted
from margrave.reconstruct.estimates import LEAST_VARIANCE, Estimates, Possible
from margrave.reconstruct.exact import Codes, ExactCounts, NotKept, keep
from margrave.reconstruct.graphical.prior import Modelled
from margrave.reconstruct.graphical.selected import learned
from margrave.reconstruct.held import FullTable, Records
from margrave.reconstruct.nonnegative.choice import solved, solved_together
from margrave.reconstruct.nonnegative.solvers import NonNegative
from margrave.reconstruct.publication import AS_MEASURED, INTERRUPTED, NOT_AS_MEASURED, Published, digest
from margrave.reconstruct.publishable import publishable
from margrave.reconstruct.raised import raised_margins
from margrave.reconstruct.records.variables import Variables, variables
from margrave.reconstruct.records.zeros import zeros
from margrave.reconstruct.unbiased import Fit
from margrave.reconstruct.whole import whole
from margrave.reconstruct.wide import wide_table
from margrave.spec.spec import possible_mask

if TYPE_CHECKING:
    from margrave.planning.plan import Plan


_QUIET, _NEAR = 0.1, 0.01
"""Standard errors up to the first are next to no noise; a count as near to a whole number as the second is that one."""


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
    possible = possible_mask(plan.spec, domain.names).reshape(domain.shape())
    if is_wide_plan(plan):
        found = wide_table(plan, fit, domain, possible, progress)
        return _rounded(plan, fit, found, found.table, like)
    estimates, about = _estimates(plan, fit, domain), _about(plan, domain, possible)
    found = solved(estimates, plan.publishing.choice, **about, progress=progress)
    return _rounded(plan, fit, found, plan.encoding.decode(domain.names, found.table), like)


def publish_again(
    plan: Plan, fits: Sequence[Fit], like: Published, progress: Progress | None = None
) -> list[Published | None]:
    """What is published from each of several other answers to the plan by which ``like`` was published."""
    domain, how = like.domain, plan.publishing
    if not fits:
        return []
    if how.records or how.raises is not None or is_wide_plan(plan):
        step, found = counted(progress, len(fits)), []
        for fit in fits:
            found.append(publish(plan, fit, like=like))
            step()
        return found
    possible = possible_mask(plan.spec, domain.names).reshape(domain.shape())
    estimates = [_estimates(plan, fit, domain) for fit in fits]
    tables = solved_together(
        estimates, how.choice, **_about(plan, domain, possible), like=like.method, progress=progress
    )
    full = [plan.encoding.decode(domain.names, one.table) for one in tables]
    return [_rounded(plan, *one, like) for one in zip(fits, tables, full, strict=True)]


def _about(plan: Plan, domain: Domain, possible: Possible) -> dict[str, Any]:
    """What a method of non-negativity is told beside the estimates, in terms of what is measured."""
    wanted = tuple(map(plan.measured_margin, plan.spec.margins))
    return {"wanted": wanted, "possible": plan.encoding.encode(domain.names, possible)}


def _rounded(plan: Plan, fit: Fit, found: NonNegative, table: Floats, like: Published | None) -> Published | None:
    """A non-negative table in whole numbers, or as it is; with the exact counts, None where it cannot have them."""
    domain, wanted, how = used_domain(plan), tuple(plan.spec.margins), plan.publishing
    possible = possible_mask(plan.spec, domain.names).reshape(domain.shape())
    notes = (*found.notes, *_expected_raise(plan))
    exact = _exact_counts(plan, fit, domain)
    tried = [exact]
    if how.rounding == "controlled" and (like is None or AS_MEASURED in like.notes):
        told = _told(plan, fit, domain, exact)
        tried = tried if told is None else [told, exact]
    for kept in tried if how.rounding != "none" else ():
        said = notes if kept is exact else (*notes, AS_MEASURED)
        try:
            rounded = whole(table, domain, wanted, how.rounding, exact=kept, possible=possible)
            held = FullTable(domain, rounded.table)
            return Published(domain, held, found.method, how.rounding, dict(rounded.changes), said)
        except NotKept as reason:
            notes = (*notes, f"not rounded: {reason}" if kept is exact else NOT_AS_MEASURED)
    try:
        table = table if exact is None else keep(exact, table, possible)
    except NotKept:
        return None
    return Published(domain, FullTable(domain, table), found.method, "none", {}, notes)


def _publish_records(
    plan: Plan, fit: Fit, domain: Domain, progress: Progress | None, like: Published | None
) -> Published:
    from margrave.reconstruct.records.fit import fit_records

    found, estimates = variables(domain, plan.spec.codebook), _estimates(plan, fit, domain)
    wanted = tuple(margin for margin in plan.spec.margins if margin)
    leaned = _modelled(plan, estimates, domain, found)
    fitted = fit_records(
        estimates,
        wanted,
        found,
        zeros(found, plan.spec.structural_zeros, plan.spec.domain),
        seed=digest(fit.measured),
        temperature=None if like is None else like.temperature,
        keep=like is None,
        progress=progress,
        prior=leaned,
    )
    notes = [f"{len(fitted.codes)} records, fitted at temperature {fitted.temperature:.4g}", fitted.summary()]
    if leaned is not None:
        size = leaned.learned.model.tree.cells
        told = f"{len(leaned.learned.taken)} of {len({*plan.selected})} selected tables"
        notes.append(f"they lean on a graphical model of {told}, {size} cells in all")
    if not fitted.finished:
        notes.append(INTERRUPTED)
    return Published(
        domain,
        Records(domain, fitted.codes),
        plan.publishing.method,
        "controlled",
        {},
        tuple(notes),
        fitted.temperature,
        fitted.misfits(),
        fitted.spreads,
    )


def _modelled(plan: Plan, estimates: Estimates, domain: Domain, found: Variables) -> Modelled | None:
    """The model that records lean on where a plan has selected tables; otherwise they have kinds."""
    if plan.publishing.method != GRAPHICAL:
        return None
    return Modelled(learned(estimates, domain, plan.selected), plan.selected, found)


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
    loose = {cell: count for cell, count in cells.items() if cell[0] not in kept}
    return ExactCounts(domain, kept, loose, optional=True)


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
    return Estimates(
        measured, values, {margin: max(one, LEAST_VARIANCE) if one else one for margin, one in variances.items()}
    )
