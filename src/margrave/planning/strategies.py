"""Strategies: which queries to ask, and how to share the budget among them. All are lists of shared queries.

A share is the part of the budget (of ε for Laplace noise, of ρ for Gaussian noise) that a query would cost if one
record were added or removed. Shares are relative: :mod:`margrave.planning.plan` scales them to the budget at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod, sqrt

import numpy as np

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure, subsets
from margrave.algebra.query import Query, one_record, spread
from margrave.errors import RefusedError
from margrave.planning.search.search import search_laplace
from margrave.spec.choices import Objective

MOST_CELLS = 1 << 24
"""No single query may have more outputs than this."""

Shares = dict[Query, float]


@dataclass(frozen=True)
class Demand:
    """What a strategy has to solve. Every attribute of ``domain`` that a table uses has at least two values.

    ``wanted``: weight of each table. ``known``: margins that are published exactly, so that the residuals below them
    need no measurement. ``gaussian``: the kind of noise.
    """

    domain: Domain
    wanted: Mapping[Margin, float]
    objective: Objective = "mean"
    gaussian: bool = False
    known: tuple[Margin, ...] = ()

    @cached_property
    def unknown(self) -> tuple[Margin, ...]:
        """The residuals to measure."""
        below = downward_closure(self.wanted)
        return tuple(margin for margin in below if not any(set(margin) <= set(known) for known in self.known))

    @property
    def is_open(self) -> bool:
        """Whether there is something to measure."""
        return any(not any(set(margin) <= set(known) for known in self.known) for margin in self.wanted)

    @cached_property
    def cell_weights(self) -> dict[Margin, float]:
        """The weight of one cell's variance in each table: normalised over all cells for the mean, else plain."""
        if self.objective == "max":
            return dict(self.wanted)
        weights = {margin: weight * self.domain.cells(margin) for margin, weight in self.wanted.items()}
        total = sum(weights.values())
        return {margin: weight / total for margin, weight in weights.items()}

    def residual_weights(self, tables: Mapping[Margin, float]) -> dict[Margin, float]:
        """The weight of each unknown residual's variance, when one cell of each table has the given weight."""
        weights = dict.fromkeys(self.unknown, 0.0)
        for margin, weight in tables.items():
            for below in subsets(margin):
                if below in weights:
                    weights[below] += weight * self.coefficient(margin, below)
        return weights

    def coefficient(self, margin: Margin, below: Margin) -> float:
        """The factor of σ²_T in the variance of one cell."""
        return coefficient(self.domain.shape(margin), self.domain.shape(below))


@lru_cache(maxsize=1 << 14)
def coefficient(sizes: tuple[int, ...], below: tuple[int, ...]) -> float:
    """The factor of σ²_T in the variance of one cell of a table, for the sizes of the table and of T's attributes."""
    inside = prod(1 - 1 / size for size in below)
    return inside / (prod(sizes) // prod(below)) ** 2


def residual_query(domain: Domain, margin: Margin) -> Query:
    """One residual alone: contrasts for binary attributes, which say the same in fewer numbers."""
    binary = tuple(name for name in margin if domain[name].size == 2)
    return Query(margin, contrast=binary, residual=tuple(name for name in margin if name not in binary))


def residual(problem: Demand) -> Shares:
    """Each residual once. With Gaussian noise and ρ_T ∝ √(w_T p_T) this is the optimum (docs/mathematics.md)."""
    tables = dict(problem.cell_weights)
    shares = _residual_shares(problem, tables)
    if problem.objective == "max" and len(tables) > 1:
        shares = _even_out(problem, tables)
    return {residual_query(problem.domain, margin): share for margin, share in shares.items()}


def _residual_shares(problem: Demand, tables: Mapping[Margin, float]) -> dict[Margin, float]:
    power = 1 / 2 if problem.gaussian else 1 / 3
    shares = {}
    for margin, weight in problem.residual_weights(tables).items():
        shares[margin] = (weight * unit_variance(problem, residual_query(problem.domain, margin), margin)) ** power
    total = sum(shares.values())
    # Twelve digits, so that margins of the same standing get the very same share, and their noise the same name.
    return {margin: float(f"{share / total:.12g}") for margin, share in shares.items()}


def unit_variance(problem: Demand, query: Query, below: Margin) -> float:
    """σ²_T when the whole budget (ε = 1 or ρ = 1) goes to the query, in the continuous approximation."""
    l1, l2_squared = one_record(problem.domain, query)
    noise = l2_squared / 2 if problem.gaussian else 2 * l1**2
    return noise * float(spread(problem.domain, query, below))


def _even_out(problem: Demand, tables: dict[Margin, float], rounds: int = 400) -> dict[Margin, float]:
    """Weights on the tables that make the worst of them as good as possible.

    The least maximum is a saddle point: at its weights, the best shares give every table of positive weight the same
    weighted variance. Each round multiplies a table's weight by its variance relative to the mean.
    """
    wanted = dict(tables)
    power = 1.0 if problem.gaussian else 2.0
    best, best_value = _residual_shares(problem, tables), np.inf
    weights = {margin: weight / sum(tables.values()) for margin, weight in tables.items()}
    for _ in range(rounds):
        shares = _residual_shares(problem, {margin: weights[margin] * wanted[margin] for margin in weights})
        units = {below: unit_variance(problem, residual_query(problem.domain, below), below) for below in shares}
        variances = {
            margin: wanted[margin]
            * sum(
                problem.coefficient(margin, below) * units[below] / shares[below] ** power
                for below in subsets(margin)
                if shares.get(below)
            )
            for margin in weights
        }
        value = max(variances.values())
        if value < best_value:
            best, best_value = shares, value
        mean = sum(weights[margin] * variances[margin] for margin in weights)
        if value <= mean * (1 + 1e-6):
            break
        weights = {margin: weight * variances[margin] / mean for margin, weight in weights.items()}
    return best


def fourier(problem: Demand) -> Shares:
    """Barak et al.: the same noise on every coefficient of the closure. Binary attributes only."""
    return {Query(margin, contrast=margin): 1.0 for margin in problem.unknown}


def efron_stein(problem: Demand) -> Shares:
    """Yang et al.: the same noise on every entry of every block f^S, with the sensitivity that the blocks really have.

    ``∏_all k_j · f^S`` is the integer residual of S, so the same noise on the f^S is the same noise on those, and a
    block's share is proportional to its L1 sensitivity (with Gaussian noise, to its L2 sensitivity squared).
    """
    queries = [Query(margin, residual=margin) for margin in problem.unknown]
    return {query: float(one_record(problem.domain, query)[1 if problem.gaussian else 0]) for query in queries}


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
    return dict(zip(queries, (shares / shares.sum()).tolist(), strict=True))


def base(problem: Demand) -> Shares:
    """The noisy base table: every cell of all attributes that some wanted table uses."""
    used = {name for margin in problem.wanted for name in margin}
    margin = problem.domain.margin(used)
    cells = problem.domain.cells(margin)
    if cells > MOST_CELLS:
        raise RefusedError(
            f"the base table has {cells:.3g} cells, more than {MOST_CELLS}: choose another strategy, such as 'auto'"
        )
    return {Query(margin): 1.0}


def search(problem: Demand) -> Shares:
    """The best plan found for Laplace noise, over cells and contrasts of the closure and of its supersets."""
    names = problem.domain.names
    position = {name: index for index, name in enumerate(names)}
    workload = {tuple(position[name] for name in margin): weight for margin, weight in problem.wanted.items()}
    known = [tuple(position[name] for name in margin) for margin in problem.known]
    found = search_laplace(problem.domain.shape(names), workload, problem.objective, known=known)
    return {
        Query(tuple(names[i] for i in margin), contrast=tuple(names[i] for i in contrast)): share
        for margin, contrast, share in found
    }


def norm(problem: Demand) -> float:
    """(Σ_T √(w_T p_T))²/2: the least mean variance with ρ = 1, in closed form."""
    weights = problem.residual_weights(problem.cell_weights)
    units = {margin: prod((size - 1) / size for size in problem.domain.shape(margin)) for margin in weights}
    return sum(sqrt(weight * units[margin]) for margin, weight in weights.items()) ** 2 / 2
