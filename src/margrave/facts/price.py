"""What a whole plan costs when the public facts tie the records together: the price of the worst induced move.

The price of a move g is ``Σ_S ε_S ‖W_S g‖₁`` (Laplace noise) or ``Σ_S ‖W_S g‖₂² / 2v_S`` (Gaussian noise) over all
measurements. Where the moves can be listed, all are priced; otherwise the bounds of docs/public-facts.md are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial
from time import monotonic

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.junctions import is_decomposable
from margrave.algebra.query import Query, one_record
from margrave.budget.events import MOST_CHANGED, Measurement, Protection, worst_move
from margrave.errors import UsageError
from margrave.facts.facts import Facts
from margrave.facts.moves.bases import basis_of
from margrave.facts.moves.graver import OutOfTime
from margrave.facts.moves.norms import Seen, largest_norms, norms_of, seen
from margrave.facts.moves.notions import Notion, select
from margrave.facts.moves.reductions import Core, Reduced, reduce_margins
from margrave.facts.placements import placed_price
from margrave.facts.sensitivity import GLANCE, MOST_CORE_CELLS, TIME_LIMIT, are_few, induced_sensitivity, is_known
from margrave.noise import DiscreteGaussian, DiscreteLaplace

_MOST_CYCLES = 20_000
_MOST_PRICED = 1 << 19
"""Sets of changed attributes, times measurements, that are priced for the bound by replaced records."""
_HALF = 0.5
"""The part of the time limit in which moves are listed where no bound is at hand."""
_NEARLY = 1 - 1e-9
"""Moves whose price in floating point is at least this part of the highest are priced exactly."""


@dataclass(frozen=True)
class InducedCost:
    """``value``: no induced move costs more (ε or ρ); ``exact``: some costs this. ``method``: how it is known.

    ``counted``: whether it would be more if more records could change, so that it holds for the number given alone.
    """

    value: Fraction
    exact: bool
    method: str
    counted: bool = False


def worst_cost(
    facts: Facts,
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    notion: Notion = "worst-case",
    time_limit: float = TIME_LIMIT,
    records: int | None = None,
) -> Fraction:
    """The price (ε or ρ) that no induced move of one step exceeds; see :func:`induced_cost`."""
    return induced_cost(facts, domain, measurements, notion=notion, time_limit=time_limit, records=records).value


def induced_cost(
    facts: Facts,
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    notion: Notion = "worst-case",
    time_limit: float = TIME_LIMIT,
    records: int | None = None,
) -> InducedCost:
    """The highest summed price of an induced move, exact where possible and otherwise a proven upper bound.

    Where the number of ``records`` is public, no move takes more than all of them. Refused where not even the
    sensitivity of the base table is found in time.
    """
    if facts.domain != domain:
        raise UsageError("the facts and the measurements must be about the same attributes")
    if not facts:
        return InducedCost(worst_move(domain, measurements, Protection()), True, "no public facts")
    asked = [one for one in measurements if not facts.implies(one.query.margin)]
    if facts.loose or not facts.whole:
        return _with_cells(facts, asked, notion, time_limit, records)
    reduced = reduce_margins(facts)
    changed = _changed(domain, reduced, asked)
    if not reduced.core.shape:
        return changed
    begun = monotonic()
    moves = _listed(reduced.core, notion, begun + time_limit * _listing(reduced.core, notion, records))
    if moves is not None:
        most = _largest(moves)
        moves = _within(moves, records)
        found, longest = _priced(domain, reduced, asked, moves), _largest(moves)
    elif len(reduced.core.margins) == 2:
        most = 2 * _half(reduced.core, notion)
        longest = most if records is None else min(most, 2 * records)
        found = _two_margins(domain, reduced, asked, longest // 2)
    else:
        left = max(time_limit - (monotonic() - begun), 0.0)
        longest = induced_sensitivity(facts, notion=notion, time_limit=left, records=records).value
        found, most = _times(facts, asked, longest), longest + 1  # what no more records would change is not known
    if not found.exact:
        found = min(found, _paired(facts, asked, longest), key=lambda either: either.value)
    worse = max(found, changed, key=lambda either: either.value)
    # Whichever costs more: moves that were left out, as too long for so few records, may cost more than both.
    return replace(worse, counted=records is not None and 2 * records < most)


def query_sensitivity(
    facts: Facts, query: Query, *, notion: Notion = "worst-case", time_limit: float = TIME_LIMIT
) -> tuple[int, int]:
    """How far an induced move shifts the answer to one query: at most so far in L1, and in L2 squared."""
    l1, l2_squared = (
        worst_cost(facts, facts.domain, [Measurement(query, noise)], notion=notion, time_limit=time_limit)
        for noise in (DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(1, 2)))
    )
    return int(l1), int(l2_squared)


def _changed(domain: Domain, reduced: Reduced, asked: Sequence[Measurement]) -> InducedCost:
    """The other kind of move: one record takes other values of free attributes."""
    method = "one record changes the attributes that no fact mentions"
    if not reduced.free or not asked:
        return InducedCost(Fraction(0), True, method)
    price = worst_move(domain, asked, Protection(sensitive=reduced.free))
    return InducedCost(Fraction(price), len(reduced.free) <= MOST_CHANGED, method)


def _listing(core: Core, notion: Notion, records: int | None) -> float:
    """The part of the time that is given to listing moves: little where another bound is at hand."""
    return GLANCE if are_few(records) or is_known(core, notion) else _HALF


def _within(moves: Integers, records: int | None) -> Integers:
    """The moves that take no more than so many records: a move of whole margins takes as many as it puts."""
    if records is None:
        return moves
    short: Integers = moves[np.abs(moves).sum(axis=1) <= 2 * records]
    return short


def _with_cells(
    facts: Facts, asked: Sequence[Measurement], notion: Notion, time_limit: float, records: int | None
) -> InducedCost:
    """Facts with single cells: every move at every place; where moves cannot be listed, one is at most S records."""
    deadline = monotonic() + time_limit * (GLANCE if are_few(records) else _HALF)
    placed = placed_price(facts, asked, _gaussian(asked), notion, MOST_CORE_CELLS, deadline)
    if placed is None:
        longest = induced_sensitivity(facts, notion=notion, time_limit=time_limit, records=records).value
        found = _times(facts, asked, longest)
    else:
        # Values that no fact tells apart only add to the ways of letting a record change: see `_attempt`.
        exact = placed.highest >= placed.bound and notion == "worst-case"
        longest, value = placed.longest, max(placed.highest, placed.bound)
        found = InducedCost(value, exact, f"every one of {placed.moves} moves priced at every place")
    if facts.whole and not found.exact:
        found = min(found, _paired(facts, asked, longest), key=lambda either: either.value)
    return replace(found, counted=placed is None and records is not None and 2 * records <= longest)


def _times(facts: Facts, asked: Sequence[Measurement], times: int) -> InducedCost:
    total = Fraction(0)
    for one in asked:
        l1, l2_squared = one_record(facts.domain, one.query)
        total += one.price(l1 * times, l2_squared * times * times)
    return InducedCost(total, times == 0, f"the cost of one record, times S = {times} (S² for ρ)")


def _paired(facts: Facts, asked: Sequence[Measurement], longest: int) -> InducedCost:
    """A move of norm 2L is L replaced records: ε is multiplied by L and ρ by L².

    The records taken and put are paired within the cells of any one fact, so that its attributes stay as they are.
    """
    pairs = longest // 2
    times = pairs * pairs if _gaussian(asked) else pairs
    prices = []
    for fact in facts.whole:
        others = tuple(name for name in facts.names if name not in fact)
        if len(others) <= MOST_CHANGED and len(asked) << len(others) <= _MOST_PRICED:
            prices.append(Fraction(worst_move(facts.domain, asked, Protection(sensitive=others))))
    if not prices:
        return _times(facts, asked, longest)
    return InducedCost(min(prices) * times, False, f"the cost of replacing a record, times {pairs} (squared for ρ)")


def _listed(core: Core, notion: Notion, deadline: float) -> Integers | None:
    """The moves of a notion on the core, one of each pair ±g, where they are few enough."""
    if core.cells > MOST_CORE_CELLS or (len(core.margins) == 2 and _cycles(*core.shape) > _MOST_CYCLES):
        return None
    try:
        basis = basis_of(core.matrix, deadline)
        if len(core.margins) == 2 or (notion == "markov" and is_decomposable(core.margins)):
            longest = {"worst-case": core.cells, "positive": 6, "markov": 4}[notion]
            short: Integers = basis[np.abs(basis).sum(axis=1) <= longest]
            return short
        return select(notion, basis, deadline)
    except (OutOfTime, OverflowError):
        return None


def _cycles(rows: int, columns: int) -> int:
    """The number of cycles in the complete bipartite graph: the moves of two margins, up to sign."""
    lengths = range(2, min(rows, columns) + 1)
    return sum(comb(rows, n) * comb(columns, n) * factorial(n) * factorial(n - 1) // 2 for n in lengths)


def _weights(domain: Domain, reduced: Reduced, asked: Sequence[Measurement]) -> dict[Seen, Fraction]:
    """Measurements that see the core in the same way are one: the sum of what a norm of 1 costs in each."""
    found: dict[Seen, Fraction] = {}
    for one in asked:
        l1, l2_squared = one_record(domain, _outside(one.query, reduced))
        way = seen(one.query, reduced)
        found[way] = found.get(way, Fraction(0)) + one.price(l1, l2_squared)
    return found


def _outside(query: Query, reduced: Reduced) -> Query:
    """The part of a query outside the core, where a record of a move stays at one value."""
    inside = {name for group in reduced.groups for name in group}

    def kept(margin: Margin) -> Margin:
        return tuple(name for name in margin if name not in inside)

    return Query(kept(query.margin), kept(query.contrast), kept(query.residual))


def _priced(domain: Domain, reduced: Reduced, asked: Sequence[Measurement], moves: Integers) -> InducedCost:
    weights = _weights(domain, reduced, asked)
    method = f"every one of the {len(moves)} moves of {reduced.core} priced"
    if not weights or not len(moves):
        return InducedCost(Fraction(0), True, method)
    table = np.stack([norms_of(domain, reduced, way, moves, _gaussian(asked)) for way in weights], axis=1)
    table = np.unique(table, axis=0)
    rough = table @ np.array([float(weight) for weight in weights.values()])
    best = table[rough >= rough.max() * _NEARLY].tolist()
    value = max(sum((n * w for n, w in zip(row, weights.values(), strict=True)), Fraction(0)) for row in best)
    return InducedCost(value, all(way.exact for way in weights), method)


def _two_margins(domain: Domain, reduced: Reduced, asked: Sequence[Measurement], longest: int) -> InducedCost:
    """A bound where a move takes at most so many records."""
    value = Fraction(0)
    for way, weight in _weights(domain, reduced, asked).items():
        value += weight * largest_norms(domain, reduced, way, longest, _gaussian(asked))
    return InducedCost(value, False, f"bounds for cycles of {2 * longest} records, measurement by measurement")


def _half(core: Core, notion: Notion) -> int:
    """The most records that a move of two margins takes."""
    return {"worst-case": min(core.shape), "positive": min(3, *core.shape), "markov": 2}[notion]


def _largest(moves: Integers) -> int:
    return int(np.abs(moves).sum(axis=1).max()) if len(moves) else 0


def _gaussian(asked: Sequence[Measurement]) -> bool:
    """Whether the noise is Gaussian, as it is in all measurements of a plan or in none."""
    return any(not one.noise.pure for one in asked)


@lru_cache(maxsize=64)
def induced_price(
    facts: Facts, measurements: tuple[Measurement, ...], notion: Notion, records: int | None = None
) -> InducedCost:
    """What the worst induced step costs under all measurements together: ε or ρ."""
    return induced_cost(facts, facts.domain, measurements, notion=notion, records=records)
