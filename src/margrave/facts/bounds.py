"""What the facts alone reveal: the least and the largest count that each cell can have, given the facts' values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Margin
from margrave.errors import RefusedError, UsageError
from margrave.facts.facts import Facts, KnownCell, margin_name
from margrave.facts.moves.notions import junction_order

MOST_CELLS = 1 << 22
MOST_PROGRAMS = 600
"""Each cell takes two integer programs; more cells than this are bounded by formula, or refused."""


@dataclass(frozen=True)
class CellBounds:
    """``low`` and ``high`` for each cell of a margin. ``sharp``: every bound is reached by some table."""

    margin: Margin
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sharp: bool
    method: str

    @property
    def revealed(self) -> NDArray[np.bool_]:
        """The cells whose count the facts alone give away."""
        known: NDArray[np.bool_] = self.low == self.high
        return known

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know before calling the facts harmless."""
        number = int(self.revealed.sum())
        if not number:
            return ()
        small = int((self.revealed & (self.high > 0) & (self.high < 3)).sum())
        also = f", {small} of them counts of 1 or 2" if small else ""
        return (
            f"the public facts alone give away {number} of {self.low.size} cells of {margin_name(self.margin)}{also}",
        )


def bounds_from_facts(
    facts: Facts, values: Mapping[Margin | KnownCell, Array | int], *, margin: Margin | None = None
) -> CellBounds:
    """Bounds for each cell of a margin (by default of all attributes in facts), from the values of all facts.

    ``values`` maps each margin of the facts to its counts, and each public cell ``(margin, cell)`` to its count.
    """
    used = {name for fact in (*facts.margins, *(m for m, _ in facts.cells)) for name in fact}
    target = facts.domain.margin(used) if margin is None else facts.domain.margin(margin)
    whole = [(fact, _counts(facts, fact, values)) for fact in facts.margins]
    if facts.domain.cells(target) > MOST_CELLS:
        raise RefusedError(
            f"{margin_name(target)} has more than {MOST_CELLS} cells: ask for the bounds of a smaller table"
        )
    if not facts.cells and set(target) == used:
        order = junction_order(tuple(tuple(map(facts.domain.position, fact)) for fact, _ in whole))
        if order is not None:
            return _frechet(facts, target, whole, order)
    return _programs(facts, target, facts.domain.margin({*target, *used}), whole, values)


def _counts(facts: Facts, fact: Margin, values: Mapping[Margin | KnownCell, Array | int]) -> NDArray[np.int64]:
    if fact not in values:
        raise UsageError(f"the value of the public fact {margin_name(fact)} is missing")
    counts = np.asarray(values[fact])
    shape = facts.domain.shape(fact)
    if counts.size != prod(shape) or (counts != np.round(counts)).any() or (counts < 0).any():
        raise UsageError(f"the public fact {margin_name(fact)} needs {prod(shape)} counts: whole numbers, none below 0")
    return counts.astype(np.int64).reshape(shape)


def _spread(facts: Facts, target: Margin, fact: Margin, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """A table over part of the target's attributes, with an axis of length 1 for each other one."""
    return counts.reshape([facts.domain[name].size if name in fact else 1 for name in target])


def _frechet(
    facts: Facts,
    target: Margin,
    whole: list[tuple[Margin, NDArray[np.int64]]],
    order: list[tuple[int, set[int]]],
) -> CellBounds:
    """Decomposable facts: at most the least margin; at least their sum less that of the separators. Both are sharp."""
    shape = facts.domain.shape(target)
    low, high = np.zeros(shape, dtype=np.int64), np.full(shape, np.iinfo(np.int64).max)
    for index, separator in order:
        fact, counts = whole[index]
        table = _spread(facts, target, fact, counts)
        high = np.minimum(high, table)
        low = low + table
        if index != order[-1][0]:
            outside = tuple(a for a, name in enumerate(target) if facts.domain.position(name) not in separator)
            shared = table.sum(axis=outside, keepdims=True)
            low = low - shared
            _check_agreement(facts, target, whole, index, separator, shared)
    return CellBounds(target, np.maximum(low, 0), high, True, "closed form for decomposable facts")


def _check_agreement(
    facts: Facts,
    target: Margin,
    whole: list[tuple[Margin, NDArray[np.int64]]],
    index: int,
    separator: set[int],
    shared: NDArray[np.int64],
) -> None:
    """Facts that share attributes must give them the same counts, or no table has these facts."""
    outside = tuple(a for a, name in enumerate(target) if facts.domain.position(name) not in separator)
    for other, (fact, counts) in enumerate(whole):
        if other != index and separator <= {facts.domain.position(name) for name in fact}:
            table = _spread(facts, target, fact, counts).sum(axis=outside, keepdims=True)
            if not np.array_equal(table, shared):
                raise UsageError(f"{margin_name(whole[index][0])} and {margin_name(fact)} contradict each other")


def _programs(
    facts: Facts,
    target: Margin,
    names: Margin,
    whole: list[tuple[Margin, NDArray[np.int64]]],
    values: Mapping[Margin | KnownCell, Array | int],
) -> CellBounds:
    """Two integer programs for each cell of the target, over the cells of all attributes concerned."""
    cells = facts.domain.cells(target)
    if cells > MOST_PROGRAMS or facts.domain.cells(names) > 16 * MOST_PROGRAMS:
        raise RefusedError(
            f"sharp bounds for {margin_name(target)} under {facts} need {2 * cells} integer programs over "
            f"{facts.domain.cells(names)} cells: ask for the bounds of a smaller table"
        )
    matrix, known = [], []
    for fact, counts in whole:
        matrix.append(_rows(facts, names, fact))
        known.append(counts.ravel())
    for fact, cell in facts.cells:
        if (fact, cell) not in values:
            raise UsageError(f"the value of the public cell {cell} of {margin_name(fact)} is missing")
        codes = [facts.domain[name].code(value) for name, value in zip(fact, cell, strict=True)]
        place = int(np.ravel_multi_index(codes, facts.domain.shape(fact))) if fact else 0
        matrix.append(_rows(facts, names, fact)[[place]])
        known.append(np.array([values[fact, cell]]))
    low, high = _solve(_rows(facts, names, target), np.concatenate(matrix), np.concatenate(known).astype(float))
    shape = facts.domain.shape(target)
    return CellBounds(target, low.reshape(shape), high.reshape(shape), True, "integer programs")


def _rows(facts: Facts, names: Margin, margin: Margin) -> NDArray[np.float64]:
    """The matrix that adds the cells over ``names`` up to those of a margin."""
    size = facts.domain.cells(names)
    cells = np.arange(size).reshape(facts.domain.shape(names))
    kept = np.moveaxis(cells, [names.index(name) for name in margin], range(len(margin)))
    members = kept.reshape(facts.domain.cells(margin), -1)
    rows = np.zeros((len(members), size))
    np.put_along_axis(rows, members, 1.0, axis=1)
    return rows


def _solve(
    wanted: NDArray[np.float64], matrix: NDArray[np.float64], known: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from scipy.optimize import Bounds, LinearConstraint, milp

    if wanted[:, ~matrix.any(axis=0)].any():
        raise UsageError("the public facts do not bound every count: give the total as well")
    constraint, exact = LinearConstraint(matrix, known, known), {"mip_rel_gap": 0.0}
    whole, positive = np.ones(matrix.shape[1]), Bounds(0, np.inf)
    found = []
    for sign in (1, -1):
        side = []
        for row in wanted:
            result = milp(sign * row, constraints=constraint, integrality=whole, bounds=positive, options=exact)
            if result.status == 2:
                raise UsageError("the values of the public facts contradict each other: no table has them all")
            if result.status != 0:
                raise RefusedError("the bounds from the public facts were not found: ask for those of a smaller table")
            side.append(round(sign * result.fun))
        found.append(np.array(side, dtype=np.int64))
    return found[0], found[1]
