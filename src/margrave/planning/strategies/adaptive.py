"""Everything cheaply, then by looking: rounds that measure where a model of what is known is most wrong."""

from __future__ import annotations

from margrave.algebra.lattice import maximal
from margrave.algebra.query import Query
from margrave.planning.looking.rounds import FIXED
from margrave.planning.strategies.demand import Demand, Shares
from margrave.planning.strategies.registry import NamedStrategy, register
from margrave.planning.strategies.residual import residual

_SINGLE = 0.85
"""The part of the fixed measurements that goes to single attributes: independence, from which the rounds set out."""


def adaptive(problem: Demand) -> Shares:
    """The fixed measurements: each single attribute well, and all that is wanted a little, so that all is covered."""
    if problem.gaussian:
        parts = residual(problem)
    else:
        attributes = {name for margin in problem.wanted for name in margin}
        tables = [*((name,) for name in problem.domain.margin(attributes)), *maximal(problem.wanted)]
        parts = {Query(margin): 1.0 for margin in dict.fromkeys(tables)}
    single = sum(share for query, share in parts.items() if len(query.margin) < 2)
    rest = sum(share for query, share in parts.items() if len(query.margin) > 1)
    factors = {True: _SINGLE / single if single else 0.0, False: (1 - _SINGLE) / rest if rest else 0.0}
    return {query: float(f"{share * factors[len(query.margin) < 2]:.12g}") for query, share in parts.items()}


register(NamedStrategy("adaptive", adaptive, fixed=FIXED))
