"""What a strategy has to solve, and how accurate a query would be alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod, sqrt

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure, subsets
from margrave.algebra.query import Query, one_record, spread
from margrave.spec.choices import Objective

Shares = dict[Query, float]
"""The part of the budget that each query gets; only their proportions count."""


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


def unit_variance(problem: Demand, query: Query, below: Margin) -> float:
    """σ²_T when the whole budget (ε = 1 or ρ = 1) goes to the query, in the continuous approximation."""
    l1, l2_squared = one_record(problem.domain, query)
    noise = l2_squared / 2 if problem.gaussian else 2 * l1**2
    return noise * float(spread(problem.domain, query, below))


def norm(problem: Demand) -> float:
    """(Σ_T √(w_T p_T))²/2: the least mean variance with ρ = 1, in closed form."""
    weights = problem.residual_weights(problem.cell_weights)
    units = {margin: prod((size - 1) / size for size in problem.domain.shape(margin)) for margin in weights}
    return sum(sqrt(weight * units[margin]) for margin, weight in weights.items()) ** 2 / 2
