"""The noisy base table."""

from __future__ import annotations

from margrave.algebra.query import Query
from margrave.errors import RefusedError
from margrave.planning.limits import QUERY_CELLS
from margrave.planning.strategies.demand import Demand, Shares
from margrave.planning.strategies.registry import NamedStrategy, register


def base(problem: Demand) -> Shares:
    """The noisy base table: every cell of all attributes that some wanted table uses."""
    used = {name for margin in problem.wanted for name in margin}
    margin = problem.domain.margin(used)
    cells = problem.domain.cells(margin)
    if cells > QUERY_CELLS:
        raise RefusedError(
            f"the base table has {cells:.3g} cells, more than {QUERY_CELLS}: choose another strategy, such as 'auto'"
        )
    return {Query(margin): 1.0}


register(NamedStrategy("base", base, wide=base))
