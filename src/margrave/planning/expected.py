"""Planning for what will be published: shares of the budget that reckon with interactions being shrunk.

Published tables leave out what is mostly noise (`reconstruct.shrunk`), so the error of an interaction is at most its
own size, and a part of the budget that is too small to see it is wasted. How large interactions are is not known before
data is opened; it is assumed. With n records, as the spec expects (`release.expected_size`), the residual of a set T of
attributes has

    E ‖R_T‖² = n² θ_|T| / ∏_{j∈T} k_j,        θ_1 = 1/2, and half of it for each further attribute

(θ is the mean square contingency of an even table). Measured with variance σ²_T and shrunk, each of its dimensions has
the error s_T σ²_T / (s_T + σ²_T), where s_T is that size for each dimension: the Bayes risk for normal effects. Its
weighted sum is what shares are chosen for. With a large budget s_T does not matter, and shares are as without; with a
small one they move to tables of few attributes. Each question keeps a part of what it has without, so that every wanted
table has an unbiased estimate, and a wrong assumption costs little.
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

FIRST, DECAY = 0.5, 0.5
"""θ of one attribute, and what it is multiplied by for each further one: rather too much than too little."""
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

    def spread(self, domain: Domain, margin: Margin) -> float:
        """s_T: the expected square of one dimension of a residual; nothing is assumed of the total."""
        if not margin:
            return float("inf")
        freedom = prod(size - 1 for size in domain.shape(margin))
        theta = FIRST * DECAY ** (len(margin) - 1)
        return self.size**2 * theta / (domain.cells(margin) * max(freedom, 1))

    def risk(self, problem: Demand, variance: Mapping[Margin, float]) -> float:
        """The expected mean squared error of a published cell, for the variance of each unknown residual."""
        weights = problem.residual_weights(problem.cell_weights)
        spreads = (self.spread(problem.domain, margin) for margin in weights)
        return sum(
            weight / (1 / spread + 1 / variance[margin]) if variance[margin] else 0.0
            for (margin, weight), spread in zip(weights.items(), spreads, strict=True)
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
            gain = weights / (1 / spreads + seen.T @ bought**power) ** 2
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
        spreads = np.array([self.spread(problem.domain, margin) for margin in weights])
        return seen, np.array(list(weights.values())), spreads


def expected_rmse(plan: Plan) -> float:
    """The root mean squared error per published cell, if interactions are as is assumed for the expected size; that of
    unbiased cells where nothing is expected.
    """
    if plan.spec.expected_size is None or not expects(plan.spec):
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
    if not expects(plan.spec):
        return (f"The expected size of {size:,} records changes nothing here: budgets are shared as without it.",)
    return (
        f"Planned for about {size:,} records. Assumed, not known: a table of one attribute differs from an even one by "
        f"a mean square of {FIRST:g}, and each further attribute adds {DECAY:g} of that. If so, the typical error of a "
        f"published cell is {expected_rmse(plan):.3g} (root mean square). The forecast of unbiased tables holds in any "
        f"case.",
    )
