"""Everything cheaply, then by looking: rounds that measure where a model of what is known is most wrong."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10, pi, sqrt

from margrave.algebra.lattice import maximal
from margrave.algebra.query import Query
from margrave.planning.strategies.demand import Demand, Shares, norm
from margrave.planning.strategies.registry import NamedStrategy, register
from margrave.planning.strategies.residual import residual


@dataclass(frozen=True)
class Before:
    """The parts of the budget that are spent before the rounds: on single attributes, ``alone``, and on all that is
    wanted, ``broad``.
    """

    alone: float
    broad: float

    @property
    def all(self) -> float:
        return self.alone + self.broad


LAPLACE, GAUSSIAN = Before(0.255, 0.045), Before(0.2, 0.3)
"""With Gaussian noise many tables that are all measured a little tell more together than with Laplace noise."""
_MIDDLE, _SLOPE, _LEAST, _MOST = 0.6, 0.3, 0.05, 0.5
"""Where all tables together would be measured with this error, as a part of the records, a fourth of the budget goes to
that; with a tenth of that error, so much more, within limits.
"""


def before(gaussian: bool) -> Before:
    """How much is spent before the rounds where nothing is known of the number of records."""
    return GAUSSIAN if gaussian else LAPLACE


def error_of(problem: Demand, amount: float, size: int) -> float:
    """The L1 error of a wanted table, as a part of so many records, if all of the budget went to all of them."""
    cells = sum(map(problem.domain.cells, problem.wanted)) / len(problem.wanted)
    return cells * sqrt(2 / pi * norm(problem) / amount) / size


def before_for(error: float) -> Before:
    """How much is spent before the rounds, with Gaussian noise, where that error is expected."""
    broad = min(max(0.25 - _SLOPE * log10(error / _MIDDLE), _LEAST), _MOST)
    return Before(GAUSSIAN.alone, float(f"{broad:.2g}"))


def adaptive(problem: Demand) -> Shares:
    """The fixed measurements: each single attribute well, and all that is wanted a little, so that all is covered."""
    return shared(problem, before(problem.gaussian))


def shared(problem: Demand, parts: Before) -> Shares:
    """The fixed measurements with such parts."""
    if problem.gaussian:
        shares = residual(problem)
    else:
        attributes = {name for margin in problem.wanted for name in margin}
        tables = [*((name,) for name in problem.domain.margin(attributes)), *maximal(problem.wanted)]
        shares = {Query(margin): 1.0 for margin in dict.fromkeys(tables)}
    single = sum(share for query, share in shares.items() if len(query.margin) < 2)
    rest = sum(share for query, share in shares.items() if len(query.margin) > 1)
    factors = {True: parts.alone / single if single else 0.0, False: parts.broad / rest if rest else 0.0}
    return {query: float(f"{share * factors[len(query.margin) < 2]:.12g}") for query, share in shares.items()}


register(NamedStrategy("adaptive", adaptive, looks=True))
