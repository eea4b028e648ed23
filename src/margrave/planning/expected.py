"""Planning for what will be published: shares of the budget that reckon with interactions being shrunk.

Published tables leave out what is mostly noise (`reconstruct.shrunk`), so the error of an interaction is at most its
own size, and a part of the budget that is too small to see it is wasted. How large interactions are is not known before
data is opened; it is assumed. With n records, as the spec expects (`release.expected_size`), the residual of a set T of
attributes has

    E ‖R_T‖² = n² θ_T / ∏_{j∈T} k_j

beyond what tables of fewer attributes tell (θ is the mean square contingency of an even table). A few interactions
are strong and most are weak, so θ_T itself is unknown: one of five sizes, each a quarter of the one before and all as
likely. The largest is 0.7 for one attribute, and a quarter of that for each further one. Measured with variance σ²_T
and shrunk, each dimension of a residual has the error s σ²_T / (s + σ²_T), where s is that size for each dimension:
the Bayes risk for normal effects. The root of the squared error of each wanted table, in the mean over the tables and
over the five sizes, is what shares are chosen for: roots, since one strong interaction must not count for more than all
weak ones. Only how much goes to tables of one attribute, of two and so on is chosen: nobody knows which pairs
interact, and shares that follow an assumption pair by pair did worse. With a large budget s does not matter, and shares
are as without; with a small one they move to tables of few attributes. Each question keeps a part of what it has
without, so that every wanted table has an unbiased estimate, and a wrong assumption costs little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.query import Query
from margrave.budget.events import NO_REST
from margrave.planning.matrices import matrix, within
from margrave.planning.strategies.adaptive import before
from margrave.planning.strategies.demand import Demand, Shares, unit_variance
from margrave.planning.wide import is_wide_workload
from margrave.spec.sections import MOST_RECORDS
from margrave.spec.spec import Spec

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

LARGEST, DECAY, SIZES = 0.7, 0.25, 5
"""The largest θ of one attribute, what θ is multiplied by for each further one and from size to size, and how many
sizes there are. Half of the pairs of tables that were looked at (docs/mathematics.md) have a θ between 0.01 and 0.18.
"""
_KEPT = 0.05
"""The part of its share that each question keeps."""
_TRIED, _LEAST = 0.3, 1e-3
"""One-way tables that are not asked for begin with this part of all, each the same, and stay if they get the other."""
_STEPS, _SETTLED = 300, 1e-6
_FEW, _NONE = 5.0, 30.0
"""With more records than this many times the noise of a table, published tables were hardly better for an expected size
with Gaussian noise (docs/peers.md: vocab and chile at ε = 0.3 have a fourth to a fifth of their records as noise, and
gain 5 %). With Laplace noise shares follow it only where there are fewer records than noise: see docs/spec.md. Fewer
records than the second are not spoken of.
"""
_MORE = 0.005
"""Where this much more of a budget is fixed, a plan that looks follows its expected size."""


def expects(spec: Spec) -> bool:
    """Whether shares are those of what will be published: for the mean error of tables whose residuals are listed."""
    return spec.expected_size is not None and _may_expect(spec)


def _may_expect(spec: Spec) -> bool:
    plain = spec.objective == "mean" and not spec.public and not spec.sensitive
    return plain and not is_wide_workload(spec)


@dataclass(frozen=True)
class Expected:
    """Interactions as they are assumed for ``size`` records."""

    size: int

    def spreads(self, domain: Domain, margin: Margin) -> Floats:
        """The expected square of one dimension of a residual, of each size; nothing is assumed of the total."""
        if not margin:
            return np.full(SIZES, np.inf)
        freedom = prod(size - 1 for size in domain.shape(margin))
        thetas = LARGEST * DECAY ** (len(margin) - 1 + np.arange(SIZES))
        return np.asarray(self.size**2 * thetas / (domain.cells(margin) * max(freedom, 1)))

    def risk(self, problem: Demand, variance: Mapping[Margin, float]) -> float:
        """The expected mean squared error of a published cell, for the variance of each unknown residual."""
        weights = problem.residual_weights(problem.cell_weights)
        return sum(
            weight * float((1 / (1 / self.spreads(problem.domain, margin) + 1 / variance[margin])).mean())
            for margin, weight in weights.items()
            if variance[margin]
        )

    def leaned(self, problem: Demand, shares: Shares, amount: float) -> Shares:
        """Shares for the least expected error at a budget of which a share of 1 buys ``amount``.

        The error falls with the precision of each residual, a sum over the questions that see it. Each step gives
        questions of so many attributes, all by the same factor, as much as their residuals gain by it, until nothing
        moves.
        """
        usual = {query: share / sum(shares.values()) for query, share in shares.items()}
        alone = [Query(margin) for margin in problem.unknown if len(margin) == 1] if not problem.gaussian else []
        begun = usual | {query: _TRIED / len(alone) for query in alone if query not in usual}
        first = np.array([usual.get(query, 0.0) for query in begun])
        orders = _orders(begun)
        seen = _seen(problem, list(begun))
        parts = within(problem.domain, list(problem.wanted), problem.unknown)
        spreads = np.array([self.spreads(problem.domain, margin) for margin in problem.unknown])
        weights = np.array(list(problem.wanted.values()))[:, None]
        power = 1.0 if problem.gaussian else 2.0
        part = np.array(list(begun.values()))
        for _ in range(_STEPS):
            part = part / part.sum()
            bought = amount * (_KEPT * first + (1 - _KEPT) * part)
            risk = 1 / (1 / spreads + (seen.T @ bought**power)[:, None])
            gain = ((parts.T @ (weights / np.sqrt(parts @ risk))) * risk**2).mean(axis=1)
            worth = (seen @ gain) * bought ** (power - 1)
            wished = part * np.sqrt(orders.T @ ((orders @ (worth * part)) / (orders @ part)))
            moved, part = float(np.abs(wished / wished.sum() - part).sum()), wished
            if moved < _SETTLED:
                break
        found = _KEPT * first + (1 - _KEPT) * part / part.sum()
        # Twelve digits, so that margins of the same standing get the very same share, and their noise the same name.
        chosen = {query: float(f"{one:.12g}") for query, one in zip(begun, found, strict=True)}
        return {query: one for query, one in chosen.items() if query in usual or one > _LEAST}


def _orders(queries: Iterable[Query]) -> Floats:
    """A row for each number of attributes, with a 1 for each question that has so many; none count as one."""
    sizes = np.array([max(len(query.margin), 1) for query in queries])
    return np.asarray(np.unique(sizes)[:, None] == sizes, dtype=float)


def _seen(problem: Demand, queries: Sequence[Query]) -> Any:
    """What a share of 1 of each question adds to the precision of each unknown residual."""
    place = {margin: index for index, margin in enumerate(problem.unknown)}
    return matrix(
        (len(queries), len(place)),
        (
            (row, place[below], 1 / unit_variance(problem, query, below))
            for row, query in enumerate(queries)
            for below in query.covered()
            if below in place
        ),
    )


def expected_rmse(plan: Plan) -> float:
    """The root mean squared error per published cell, if interactions are as is assumed for the expected size; that of
    unbiased cells where nothing is expected.
    """
    size = plan.spec.expected_size
    if size is None or not expects(plan.spec) or plan.looks:
        return plan.rmse
    wanted: dict[Margin, float] = {}
    for table in plan.spec.workload:
        margin = plan.measured_margin(table.margin)
        wanted[margin] = wanted.get(margin, 0.0) + float(table.weight)
    problem = Demand(plan.domain, wanted, known=plan.exact)
    variances = {margin: plan.accuracy.variance(margin) for margin in problem.unknown}
    return sqrt(Expected(size).risk(problem, variances))


def noise_of(plan: Plan) -> float:
    """How many records the noise of a wanted table adds up to, in the mean over the tables."""
    return sum(table.expected_l1 for table in plan.forecast) / len(plan.forecast)


def heeds(plan: Plan, size: int) -> bool:
    """Whether shares follow an expected size: with Laplace noise, which gets worse the more questions share a budget,
    only where the noise of a table is larger than that (docs/spec.md). Shares that follow it have more noise, not less.
    """
    return _gaussian(plan) or noise_of(plan) >= size


def said_of_size(plan: Plan) -> tuple[str, ...]:
    """What is assumed where a number of records is expected, in words; else, for how few it would be worth saying."""
    size = plan.spec.expected_size
    if size is None:
        shrunk = plan.publishing.why_not is None and len(plan.measurements) > 1
        return _worth_saying(plan) if shrunk and not plan.looks and _may_expect(plan.spec) else ()
    if not expects(plan.spec) or not _follows(plan, size):
        return (f"The expected size of {size:,} records changes nothing here: budgets are shared as without it.",)
    if plan.looks:
        return (
            f"Planned for about {size:,} records: these are few for the budget, so that more of it goes to single "
            "attributes, and less to looking for how they depend on each other.",
        )
    return (
        f"Planned for about {size:,} records. Assumed, not known: a table of one attribute differs from an even one by "
        f"a mean square of {LARGEST:g} at most, each further attribute adds at most {DECAY:g} of that, and {SIZES} "
        f"sizes down from there by {DECAY:g} are as likely. If so, the typical error of a published cell is "
        f"{expected_rmse(plan):.3g} (root mean square). The forecast of unbiased tables holds in any case.",
    )


def _follows(plan: Plan, size: int) -> bool:
    """Whether the shares are others than without an expected size."""
    if not plan.looks:
        return heeds(plan, size)
    fixed = replace(plan, rounds=(), rest=NO_REST).cost.amount / plan.cost.amount
    return _gaussian(plan) and float(fixed) > before(gaussian=True).all + _MORE


def _gaussian(plan: Plan) -> bool:
    return not plan.measurements[0].noise.pure


def _worth_saying(plan: Plan) -> tuple[str, ...]:
    """For how few records it is; nothing where hardly any table has so few, or has so many."""
    off = noise_of(plan)
    noise, few = float(f"{off:.2g}"), float(f"{off * (_FEW if _gaussian(plan) else 1):.1g}")
    if not _NONE <= few <= MOST_RECORDS:
        return ()
    return (
        f"The noise of a table adds up to about {noise:,.0f} records, in the mean over the tables. If fewer than about "
        f"{few:,.0f} records are expected, and their number is public, say so as release.expected_size: published "
        "tables are then mostly nearer to the truth.",
    )
