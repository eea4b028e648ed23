"""The blocks of the Efron–Stein decomposition, all with the same noise."""

from __future__ import annotations

from margrave.algebra.query import Query, one_record
from margrave.planning.strategies.demand import Demand, Shares
from margrave.planning.strategies.registry import NamedStrategy, register


def efron_stein(problem: Demand) -> Shares:
    """Yang et al.: the same noise on every entry of every block f^S, with the sensitivity that the blocks really have.

    ``∏_all k_j · f^S`` is the integer residual of S, so the same noise on the f^S is the same noise on those, and a
    block's share is proportional to its L1 sensitivity (with Gaussian noise, to its L2 sensitivity squared).
    """
    queries = [Query(margin, residual=margin) for margin in problem.unknown]
    return {query: float(one_record(problem.domain, query)[1 if problem.gaussian else 0]) for query in queries}


register(NamedStrategy("efron-stein", efron_stein))
