"""Notions of induced neighbours: which moves lead from a table to a neighbour that satisfies the same public facts.

    worst-case   every move without a proper part: the Graver basis
    positive     those that are, for some record x and value y, the shortest way to let one record change from x to y:
                 starting from the records that the move takes away, no shorter move takes x away and puts y there
    markov       those of the minimal Markov bases: no chain of moves between tables with a common record replaces them

Each holds the next (docs/public-facts.md). Matrices here have no zero column: every cell is counted in some fact.
"""

from __future__ import annotations

from time import monotonic
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Integers
from margrave.facts.moves.graver import OutOfTime

Notion = Literal["worst-case", "positive", "markov"]
NOTIONS: tuple[Notion, ...] = get_args(Notion)


def positive_moves(basis: Integers, deadline: float) -> Integers:
    """The positive moves among a Graver basis, one of each pair ±g."""
    both = np.concatenate([basis, -basis])
    norms = np.abs(both).sum(axis=1)
    taken, put = np.maximum(-both, 0), np.maximum(both, 0)
    keep = np.zeros(len(basis), dtype=np.bool_)
    for index in range(len(both)):
        _check(deadline)
        inside = (norms < norms[index]) & (taken <= taken[index]).all(axis=1)
        reached = _reached(taken[inside], put[inside], taken[index], int(norms[index]))
        wanted = np.outer(taken[index] > 0, put[index] > 0)
        keep[index % len(basis)] |= bool((wanted & ~reached).any())
    return basis[keep]


def _reached(taken: Integers, put: Integers, limit: Integers, norm: int) -> NDArray[np.bool_]:
    """The pairs (x, y) such that a move below the norm takes x and puts y, and takes only records within the limit.

    It is one of the given moves, or the sum of two of them without opposite signs: what else it has can be left out.
    """
    norms = (taken + put).sum(axis=1)
    reached = np.zeros((len(limit), len(limit)), dtype=np.bool_)
    for one in range(len(taken)):
        filling = put[one] > 0
        second = (norms + norms[one] < norm) & (taken + taken[one] <= limit).all(axis=1)
        second &= ~((taken * put[one]).any(axis=1) | (put * taken[one]).any(axis=1))
        reached |= np.outer(taken[one] > 0, filling | (put[second] > 0).any(axis=0))
    return reached


def markov_moves(basis: Integers, deadline: float) -> Integers:
    """The moves of all minimal Markov bases among a Graver basis, one of each pair ±g."""
    both = np.concatenate([basis, -basis])
    keep = [index for index, move in enumerate(basis) if _is_markov(move, both, deadline)]
    return basis[keep]


def _is_markov(move: Integers, both: Integers, deadline: float) -> bool:
    """Whether no chain of tables, each sharing a cell with the next, leads from one side of the move to the other.

    All tables with the same facts are reached by moves of the basis; those that share a cell with the table at hand
    are reached through others that share it too.
    """
    goal = np.maximum(-move, 0)
    start = np.maximum(move, 0)
    taken = np.maximum(-both, 0)
    seen = {start.tobytes()}
    queue = [start]
    while queue:
        _check(deadline)
        table = queue.pop()
        found = table + both[(taken <= table).all(axis=1)]
        near = found[((found > 0) & (table > 0)).any(axis=1)]
        if ((near > 0) & (goal > 0)).any():
            return False
        for other in near:
            key = other.tobytes()
            if key not in seen:
                seen.add(key)
                queue.append(other)
    return True


def select(notion: Notion, basis: Integers, deadline: float) -> Integers:
    """The moves of a notion among a Graver basis."""
    if notion == "positive":
        return positive_moves(basis, deadline)
    return markov_moves(basis, deadline) if notion == "markov" else basis


def _check(deadline: float) -> None:
    if monotonic() > deadline:
        raise OutOfTime
