"""What the facts alone reveal: the least and the largest count that each cell can have, given the facts' values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Margin
from margrave.algebra.incidence import margin_sums
from margrave.algebra.junctions import frechet_least, frechet_most, perfect_sequence
from margrave.algebra.words import margin_name
from margrave.errors import RefusedError, UsageError
from margrave.facts.facts import Facts, KnownCell
from margrave.messages.catalogue import say

MOST_BOUNDED = 1 << 22
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
        told = {"known": number, "all": self.low.size, "table": margin_name(self.margin)}
        if not small:
            return (say("the public facts alone give away %(known)s of %(all)s cells of %(table)s", **told),)
        return (
            say(
                "the public facts alone give away %(known)s of %(all)s cells of %(table)s, %(small)s of them counts of "
                "1 or 2",
                **told,
                small=small,
            ),
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
    if facts.domain.cells(target) > MOST_BOUNDED:
        raise RefusedError(
            f"{margin_name(target)} has more than {MOST_BOUNDED} cells: ask for the bounds of a smaller table"
        )
    if not facts.cells and set(target) == used:
        sequence = perfect_sequence([fact for fact, _ in whole])
        if sequence:
            return _frechet(facts, target, dict(whole), sequence)
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
    whole: Mapping[Margin, NDArray[np.int64]],
    sequence: tuple[tuple[Margin, Margin], ...],
) -> CellBounds:
    """Decomposable facts: at most the least margin; at least their sum less that of the separators. Both are sharp."""
    tables = {fact: _spread(facts, target, fact, counts) for fact, counts in whole.items()}
    joined: list[tuple[NDArray[np.int64], NDArray[np.int64] | None]] = [(tables[sequence[0][0]], None)]
    for fact, separator in sequence[1:]:
        outside = tuple(axis for axis, name in enumerate(target) if name not in separator)
        shared = tables[fact].sum(axis=outside, keepdims=True)
        for other, table in tables.items():
            if set(separator) <= set(other) and not np.array_equal(table.sum(axis=outside, keepdims=True), shared):
                raise UsageError(f"{margin_name(fact)} and {margin_name(other)} contradict each other")
        joined.append((tables[fact], shared))
    shape = facts.domain.shape(target)
    low, high = (np.broadcast_to(one, shape).copy() for one in (frechet_least(joined), frechet_most(tables.values())))
    return CellBounds(target, low, high, True, "closed form for decomposable facts")


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
        matrix.append(_sums(facts, names, fact))
        known.append(counts.ravel())
    for fact, cell in facts.cells:
        if (fact, cell) not in values:
            raise UsageError(f"the value of the public cell {cell} of {margin_name(fact)} is missing")
        codes = [facts.domain[name].code(value) for name, value in zip(fact, cell, strict=True)]
        place = int(np.ravel_multi_index(codes, facts.domain.shape(fact))) if fact else 0
        matrix.append(_sums(facts, names, fact)[[place]])
        known.append(np.array([values[fact, cell]]))
    low, high = _solve(_sums(facts, names, target), np.concatenate(matrix), np.concatenate(known).astype(float))
    shape = facts.domain.shape(target)
    return CellBounds(target, low.reshape(shape), high.reshape(shape), True, "integer programs")


def _sums(facts: Facts, names: Margin, margin: Margin) -> NDArray[np.float64]:
    return np.asarray(margin_sums(facts.domain, names, margin).toarray())


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
