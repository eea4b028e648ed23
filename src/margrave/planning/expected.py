"""Planning for what will be published: shares of the budget that reckon with interactions being shrunk.

Published tables leave out what is mostly noise (`reconstruct.shrunk`), so the error of an interaction is at most its
own size, and a part of the budget that is too small to see it is wasted. How large interactions are is not known before
data is opened; it is assumed. With n records, as the spec expects (`release.expected_size`), the residual of a set T of
attributes has

    E ‖R_T‖² = n² θ_T / ∏_{j∈T} k_j

beyond what tables of fewer attributes tell (θ is the mean square contingency of an even table). A few interactions
are strong and most are weak, so θ_T itself is unknown: one of five sizes, each a quarter of the one before and all as
likely. The largest is 2 for one attribute, and a quarter of that for each further one. Measured with variance σ²_T
and shrunk, each dimension of a residual has the error s σ²_T / (s + σ²_T), where s is that size for each dimension:
the Bayes risk for normal effects. Its mean over the five sizes, weighted, is what shares are chosen for. With a large
budget s does not matter, and shares are as without; with a small one they move to tables of few attributes. Each
question keeps a part of what it has without, so that every wanted table has an unbiased estimate, and a wrong
assumption costs little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.query import Query
from margrave.planning.strategies.demand import Demand, Shares, unit_variance
from margrave.planning.wide import is_wide_workload
from margrave.spec.spec import Spec

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

LARGEST, DECAY, SIZES = 2.0, 0.25, 5
"""The largest θ of one attribute, what θ is multiplied by for each further one and from size to size, and how many
sizes there are. Half of the pairs of tables that were looked at (docs/mathematics.md) have a θ between 0.01 and 0.18.
"""
_KEPT = 0.15
"""The part of its share that each question keeps."""
_TRIED, _LEAST = 0.02, 1e-3
"""One-way tables that are not asked for begin with this part of the largest share, and stay if they get the other."""
_STEPS, _SETTLED = 300, 1e-6


def expects(spec: Spec) -> bool:
    """Whether shares are those of what will be published: for the mean error of tables whose residuals are listed."""
    plain = spec.objective == "mean" and not spec.public and not spec.sensitive
    return spec.expected_size is not None and plain and not is_wide_workload(spec)


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
        """Shares for the least risk at a budget of which a share of 1 buys ``amount``.

        The risk falls with the precision of each residual, a sum over the questions that see it. Each step gives a
        question as much as its residuals gain by it, until nothing moves.
        """
        alone = [Query(margin) for margin in problem.unknown if len(margin) == 1] if not problem.gaussian else []
        queries = [*shares, *(query for query in alone if query not in shares)]
        first = np.array([shares.get(query, 0.0) for query in queries])
        first = first / first.sum()
        seen, weights, spreads = self._seen(problem, queries)
        power = 1.0 if problem.gaussian else 2.0
        part = np.maximum(first, _TRIED * first.max())
        for _ in range(_STEPS):
            bought = amount * (_KEPT * first + (1 - _KEPT) * part / part.sum())
            gain = weights * (1 / (1 / spreads + (seen.T @ bought**power)[:, None]) ** 2).mean(axis=1)
            wished = part * np.sqrt((seen @ gain) * bought ** (power - 1))
            wished, before = wished / wished.sum(), part / part.sum()
            part = wished
            if float(np.abs(wished - before).sum()) < _SETTLED:
                break
        found = _KEPT * first + (1 - _KEPT) * part
        # Twelve digits, so that margins of the same standing get the very same share, and their noise the same name.
        chosen = {query: float(f"{one:.12g}") for query, one in zip(queries, found, strict=True)}
        return {query: one for query, one in chosen.items() if query in shares or one > _LEAST}

    def _seen(self, problem: Demand, queries: Sequence[Query]) -> tuple[Any, Floats, Floats]:
        """What a share of 1 of each question adds to the precision of each residual; their weights and sizes."""
        from scipy import sparse

        weights = problem.residual_weights(problem.cell_weights)
        place = {margin: index for index, margin in enumerate(weights)}
        rows, columns, values = [], [], []
        for row, query in enumerate(queries):
            for below in query.covered():
                if below in place:
                    rows.append(row)
                    columns.append(place[below])
                    values.append(1 / unit_variance(problem, query, below))
        seen = sparse.csr_array((values, (rows, columns)), shape=(len(queries), len(weights)))
        spreads = np.array([self.spreads(problem.domain, margin) for margin in weights])
        return seen, np.array(list(weights.values())), spreads


def expected_rmse(plan: Plan) -> float:
    """The root mean squared error per published cell, if interactions are as is assumed for the expected size; that of
    unbiased cells where nothing is expected.
    """
    if plan.spec.expected_size is None or not expects(plan.spec) or plan.looks:
        return plan.rmse
    wanted: dict[Margin, float] = {}
    for table in plan.spec.workload:
        margin = plan.measured_margin(table.margin)
        wanted[margin] = wanted.get(margin, 0.0) + float(table.weight)
    problem = Demand(plan.domain, wanted, known=plan.exact)
    variances = {margin: plan.accuracy.variance(margin) for margin in problem.unknown}
    return sqrt(Expected(plan.spec.expected_size).risk(problem, variances))


def said_of_size(plan: Plan) -> tuple[str, ...]:
    """What is assumed where a number of records is expected, in words."""
    size = plan.spec.expected_size
    if size is None:
        return ()
    if plan.looks and expects(plan.spec) and plan.spec.budget.gaussian[0]:
        return (
            f"Planned for about {size:,} records: the more of them for the budget, the more of it goes to all wanted "
            "tables, and the less to the rounds.",
        )
    if not expects(plan.spec) or plan.looks:
        return (f"The expected size of {size:,} records changes nothing here: budgets are shared as without it.",)
    return (
        f"Planned for about {size:,} records. Assumed, not known: a table of one attribute differs from an even one by "
        f"a mean square of {LARGEST:g} at most, each further attribute adds at most {DECAY:g} of that, and {SIZES} "
        f"sizes down from there by {DECAY:g} are as likely. If so, the typical error of a published cell is "
        f"{expected_rmse(plan):.3g} (root mean square). The forecast of unbiased tables holds in any case.",
    )
