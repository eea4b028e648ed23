"""The table that is published: one non-negative table of whole numbers, from which every published count is summed.

It is computed from the noisy estimates alone. Its cells are counts of synthetic records, so that all published tables
agree with each other, hold no negative and no fractional number, and are the cross-tabulations of the microdata.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.algebra.table import Table
from margrave.design.plan import Plan
from margrave.design.spec import possible_mask
from margrave.errors import RefusedError
from margrave.noise import DiscreteLaplace
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.fit import Fit
from margrave.reconstruct.linear_program import LARGEST as LARGEST_PROGRAM
from margrave.reconstruct.linear_program import sufficient_raise
from margrave.reconstruct.nonnegative import LARGEST, nonnegative
from margrave.reconstruct.whole import whole

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Published:
    """The full table over all attributes that a wanted table uses, and how it came about.

    ``changes``: for each wanted table, the largest change of one of its cells by rounding.
    """

    domain: Domain
    table: NDArray[np.int64] | NDArray[np.float64]
    method: str
    rounding: str
    changes: dict[Margin, float]
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the table holds whole numbers, and so has microdata."""
        return self.rounding != "none"

    def margin(self, margin: Margin) -> NDArray[np.int64] | NDArray[np.float64]:
        """The published counts of some attributes."""
        counts: NDArray[np.int64] = Table(self.domain, self.domain.names, self.table).project(margin).counts
        return counts


def used_domain(plan: Plan) -> Domain:
    """The attributes that some wanted table uses: the others are neither measured nor published."""
    used = {name for margin in plan.spec.margins for name in margin}
    return plan.spec.domain.restrict(plan.spec.domain.margin(used))


def publishable(plan: Plan) -> str | None:
    """Why the plan's tables are published as they are, unbiased; None where they are made non-negative and whole.

    Needs no data. A method that cannot work is refused here, before anything is spent.
    """
    method, cells = plan.spec.nonnegative, used_domain(plan).cells()
    if method == "none":
        return "the spec asks for the unbiased tables"
    reason = None
    if method == "records":
        reason = "fitting records to margins is not available"
    elif cells > LARGEST:
        reason = f"the full table has more than {LARGEST} cells"
    elif method == "linear-program" and cells > LARGEST_PROGRAM:
        reason = f"the full table has more than the {LARGEST_PROGRAM} cells that a linear program is solved for"
    elif any(margin for margin in plan.exact):
        reason = "tables of attributes that are not sensitive are exact, and are not rounded"
    elif method == "simple" and plan.spec.structural_zeros:
        reason = "raising the constant fills impossible cells"
    elif method == "simple" and () in plan.exact:
        reason = "raising the constant changes the total, which is exact"
    if reason is not None and method != "auto":
        raise RefusedError(f"nonnegative = {method!r} is not possible: {reason}; use 'auto' or 'none'")
    return reason


def publish(plan: Plan, fit: Fit, progress: Progress | None = None) -> Published | None:
    """The published table by the method and rounding of the spec; None where tables are published unbiased."""
    if publishable(plan) is not None:
        return None
    domain = used_domain(plan)
    estimates = _estimates(plan, fit, domain)
    wanted = tuple(plan.spec.margins)
    possible = possible_mask(plan.spec, domain.names).reshape(domain.shape())
    if plan.encoding is None:
        found = nonnegative(estimates, plan.spec.nonnegative, wanted=wanted, possible=possible, progress=progress)
        table = found.table
    else:
        encoded = plan.encoding.encode(domain.names, possible.astype(np.int64)).astype(bool)
        coded = tuple(plan.encoding.margin(margin) for margin in wanted)
        found = nonnegative(estimates, plan.spec.nonnegative, wanted=coded, possible=encoded, progress=progress)
        table = plan.encoding.decode(domain.names, found.table)
    notes = (*found.notes, *_expected_raise(plan))
    if plan.spec.rounding == "none":
        return Published(domain, table, found.method, "none", {}, notes)
    total = round(float(fit.margin(()))) if () in plan.exact else None
    rounded = whole(table, domain, wanted, plan.spec.rounding, total=total, possible=possible)
    return Published(domain, rounded.table, found.method, plan.spec.rounding, dict(rounded.changes), notes)


def _expected_raise(plan: Plan) -> tuple[str, ...]:
    """For Barak's coefficients made non-negative by raising the constant: how much raising suffices, by theory."""
    noises = {one.noise for one in plan.measurements}
    noise = next(iter(noises))
    if plan.spec.nonnegative != "simple" or plan.strategy != "fourier" or not isinstance(noise, DiscreteLaplace):
        return ()
    enough = sufficient_raise(float(noise.scale), len(plan.measurements), 0.05)
    return (f"raising the total by {enough:.6g} makes every margin non-negative with probability 95 %",)


def _estimates(plan: Plan, fit: Fit, domain: Domain) -> Estimates:
    """Every residual that the measurements say something about."""
    measured = domain if plan.encoding is None else plan.domain.restrict(plan.encoding.margin(domain.names))
    margins = downward_closure(measurement.query.margin for measurement in plan.measurements)
    covered = [margin for margin in margins if plan.accuracy.variance(margin) < np.inf]
    fit.prepare(covered)
    values = {margin: fit.residual(margin) for margin in covered}
    return Estimates(measured, values, {margin: plan.accuracy.variance(margin) for margin in covered})
