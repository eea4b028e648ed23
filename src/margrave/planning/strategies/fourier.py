"""The Fourier coefficients of the closure, all with the same noise."""

from __future__ import annotations

from margrave.algebra.query import Query
from margrave.planning.strategies.demand import Demand, Shares
from margrave.planning.strategies.registry import NamedStrategy, register


def fourier(problem: Demand) -> Shares:
    """Barak et al.: the same noise on every coefficient of the closure. Binary attributes only."""
    return {Query(margin, contrast=margin): 1.0 for margin in problem.unknown}


register(NamedStrategy("fourier", fourier, binary=True))
