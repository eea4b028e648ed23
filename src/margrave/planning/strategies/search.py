"""The best plan found for Laplace noise."""

from __future__ import annotations

from margrave.algebra.query import Query
from margrave.planning import wide
from margrave.planning.search.search import search_laplace
from margrave.planning.strategies.demand import Demand, Shares
from margrave.planning.strategies.registry import NamedStrategy, register


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


register(NamedStrategy("search", search, wide=wide.search))
