"""How far the moves of a core shift the answer to a query, and how far they can at most.

A move of the facts puts each record of a move of the core at some value of the attributes outside it: at one and the
same value of those in every fact, at any values of the free ones. Convexity makes it enough to let all records of a
core cell share their values.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.query import Query
from margrave.algebra.residual import centre
from margrave.facts.moves.reductions import Reduced


@dataclass(frozen=True)
class Seen:
    """How a query sees the core: its attributes there, and whether it also sees free ones, as cells or otherwise."""

    cells: Margin
    contrast: Margin
    residual: Margin
    free_cells: bool
    free_others: bool

    @property
    def plain(self) -> bool:
        """Whether only cells are seen, some of them of free attributes."""
        return self.free_cells and not (self.free_others or self.contrast or self.residual)

    @property
    def bounded(self) -> bool:
        """Whether the answer depends on the free values in a way that is only bounded."""
        return (self.free_cells or self.free_others) and not self.plain

    @property
    def exact(self) -> bool:
        """Whether some choice of free values reaches the norm given, for all such queries at once.

        Records that are put have one value of every free attribute, those taken away another.
        """
        return not self.bounded


def seen(query: Query, reduced: Reduced) -> Seen:
    inside = {name for group in reduced.groups for name in group}
    others = (*query.contrast, *query.residual)
    return Seen(
        tuple(name for name in query.cells if name in inside),
        tuple(name for name in query.contrast if name in inside),
        tuple(name for name in query.residual if name in inside),
        any(name in reduced.free for name in query.cells),
        any(name in reduced.free for name in others),
    )


def norms_of(domain: Domain, reduced: Reduced, way: Seen, moves: Integers, gaussian: bool) -> NDArray[np.int64]:
    """For each move ``‖W g‖₁``, or ``‖W g‖₂²`` if ``gaussian``, of the part of the query on the core; the largest over
    the free values, or at least that."""
    if way.plain:
        parts = [_margin(domain, reduced, way.cells, np.maximum(sign * moves, 0)) for sign in (1, -1)]
        return sum((_norm(part, gaussian) for part in parts), np.zeros(len(moves), dtype=np.int64))
    if way.bounded:
        l1, l2_squared = _one(domain, way)
        total = _margin(domain, reduced, way.cells, np.abs(moves))
        return _norm(total, gaussian) * (l2_squared if gaussian else l1)
    margin = (*way.cells, *way.contrast, *way.residual)
    values = _margin(domain, reduced, margin, moves)
    for axis, name in enumerate(margin, start=1):
        if name in way.contrast:
            values = -np.diff(values, axis=axis)
        elif name in way.residual:
            values = centre(values, axis, exact=True)
    return _norm(values, gaussian)


def largest_norms(domain: Domain, reduced: Reduced, way: Seen, half: int, gaussian: bool) -> int:
    """A bound on the same for every cycle of two margins that takes and puts at most ``half`` records.

    A cycle visits each cell of either margin at most once, so at most min(α, β) of the records put agree on what the
    query sees as cells, where α and β cells of the two margins do; and ‖w‖₂² ≤ ‖w‖₁ ‖w‖_∞.
    """
    l1, l2_squared = _one(domain, way)
    if not gaussian:
        return 2 * half * l1
    unseen = [prod(domain[name].size for name in group if name not in way.cells) for group in reduced.groups]
    together = min(*unseen, half)
    plain = not (way.contrast or way.residual or way.free_others)
    return 2 * half * together * (1 if plain else 2) * l2_squared


def _one(domain: Domain, way: Seen) -> tuple[int, int]:
    """What one record moves on the core: L1, and L2 squared."""
    sizes = [domain[name].size for name in way.residual]
    return prod(2 * (size - 1) for size in sizes), prod(size * (size - 1) for size in sizes)


def _margin(domain: Domain, reduced: Reduced, margin: Margin, moves: Integers) -> Integers:
    """The moves' tables over some attributes of the core, in the order given."""
    names = [name for group in reduced.groups for name in group]
    table = moves.reshape(len(moves), *(domain[name].size for name in names))
    table = table.sum(axis=tuple(axis for axis, name in enumerate(names, start=1) if name not in margin))
    kept = [name for name in names if name in margin]
    return np.transpose(table, [0, *(kept.index(name) + 1 for name in margin)])


def _norm(values: Integers, gaussian: bool) -> NDArray[np.int64]:
    flat = values.reshape(len(values), -1)
    found: NDArray[np.int64] = (flat * flat if gaussian else np.abs(flat)).sum(axis=1)
    return found
