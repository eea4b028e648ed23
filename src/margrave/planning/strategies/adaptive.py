"""Everything cheaply, then by looking: rounds that measure where a model of what is known is most wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log10, pi, sqrt

from margrave.algebra.domain import Margin
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


LAPLACE, GAUSSIAN = Before(0.255, 0.045), Before(0.2, 0.25)
"""With Gaussian noise many tables that are all measured a little tell more together than with Laplace noise."""
_DROWNED, _STEEP, _ALONE = 2.5, 0.6, 0.85
"""Where all pairs together would be measured with a larger error than this, as a part of the records, there is less to
be found beside single attributes, and more goes to these: with ten times that error so much more, up to a limit.
"""


def before(gaussian: bool) -> Before:
    """How much is spent before the rounds where nothing is known of the number of records."""
    return GAUSSIAN if gaussian else LAPLACE


def before_for(problem: Demand, amount: float, size: int) -> Before:
    """How much is spent before the rounds, with Gaussian noise and a ρ of ``amount``, where so many records are
    expected.
    """
    pairs: dict[Margin, float] = {margin: 1.0 for margin in problem.unknown if len(margin) == 2}
    drowned = _error(replace(problem, wanted=pairs), amount, size)
    alone = min(max(GAUSSIAN.alone + _STEEP * log10(drowned / _DROWNED), GAUSSIAN.alone), _ALONE)
    broad = GAUSSIAN.broad * (1 - alone) / (1 - GAUSSIAN.alone)
    return Before(*(float(f"{part:.2g}") for part in (alone, broad)))


def _error(problem: Demand, amount: float, size: int) -> float:
    """The L1 error of a wanted table, as a part of so many records, if all of the budget went to all of them."""
    cells = sum(map(problem.domain.cells, problem.wanted)) / len(problem.wanted)
    return cells * sqrt(2 / pi * norm(problem) / amount) / size


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
