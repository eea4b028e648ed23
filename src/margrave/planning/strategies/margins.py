"""The wanted tables themselves."""

from __future__ import annotations

import numpy as np

from margrave.algebra.lattice import subsets
from margrave.algebra.query import Query
from margrave.planning import wide
from margrave.planning.strategies.demand import Demand, Shares, unit_variance
from margrave.planning.strategies.registry import NamedStrategy, register

_VANISHING = 1e-9
"""A table with so small a share follows from the others: a residual that no other has would get more."""


def margins(problem: Demand) -> Shares:
    """The wanted tables themselves, each with noise of its own, sharing the budget as well as possible."""
    unknown = set(problem.unknown)
    queries = [Query(margin) for margin in problem.wanted if unknown.intersection(subsets(margin))]
    return _optimised(problem, queries)


def _optimised(problem: Demand, queries: list[Query], rounds: int = 200) -> Shares:
    """The best shares for fixed queries, for the weighted mean of variances; each round cannot make it worse.

    With precision ``h_T = Σ_m a_mT s_m^q`` (q = 2 for Laplace, 1 for Gaussian) the objective Σ_T w_T / h_T is bounded
    by a separable function of the shares that touches it at the current ones; its minimum is the next point.
    """
    index = {margin: position for position, margin in enumerate(problem.unknown)}
    rows = np.zeros((len(queries), len(index)))
    for position, query in enumerate(queries):
        for below in query.covered():
            if below in index:
                rows[position, index[below]] = 1 / unit_variance(problem, query, below)
    weights = np.array(list(problem.residual_weights(problem.cell_weights).values()))
    power = 1 if problem.gaussian else 2
    shares = np.full(len(queries), 1 / len(queries))
    for _ in range(rounds):
        precision = shares**power @ rows
        parts = shares**power * (rows @ (weights / precision**2))
        shares = (parts * shares**power) ** (1 / (power + 1))
        shares = np.maximum(shares / shares.sum(), 1e-12)
    shares[shares < _VANISHING] = 0
    return {query: share for query, share in zip(queries, (shares / shares.sum()).tolist(), strict=True) if share}


register(NamedStrategy("margins", margins, wide=wide.margins))
