"""Neighbouring data sets of a plan, and what one step costs: every neighbour is tried, one by one, where there are few.

This is a route of its own: nothing of how a plan prices itself is used but the answers to queries and the noise. So the
matrix of the known counts is built here, record by record, and shares no code with any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from time import monotonic

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Margin
from margrave.algebra.query import answer
from margrave.algebra.table import Table
from margrave.facts.declared import facts_of
from margrave.facts.facts import Facts
from margrave.facts.moves.bases import basis_of
from margrave.facts.moves.graver import OutOfTime
from margrave.facts.moves.notions import select
from margrave.noise import Generator
from margrave.planning.plan import Plan
from margrave.spec.spec import possible_mask
from margrave.spec.workload import Pattern

Codes = tuple[int, ...]

_MOST_PRICED = 4000
"""Answers that are computed to price moves, about: beyond this moves are sampled."""
_MOST_ALIKE = 64
_MOST_CELLS = 64
"""The largest table whose moves under public facts are all listed."""
_SECONDS = 20.0
_TRIES = 4000


@dataclass(frozen=True)
class Exchange:
    """Records that are taken away and records that are put in their place, as codes of the plan's attributes."""

    taken: tuple[Codes, ...]
    put: tuple[Codes, ...]


@dataclass(frozen=True)
class Priced:
    """The dearest move that was found, and its price (ε or ρ). ``complete``: no other one was left out."""

    move: Exchange
    price: Fraction
    moves: int
    complete: bool


def used(plan: Plan) -> Margin:
    """The attributes of the spec that the measurements look at."""
    return plan.spec.domain.margin(name for margin in plan.counted for name in plan.counted_margin(margin))


def table(plan: Plan, records: Sequence[Codes], margin: Margin) -> Integers:
    """The exact counts of some attributes, for records given as codes of those that are used. Nothing is encoded."""
    names = used(plan)
    codes = np.array(records, dtype=np.intp).reshape(-1, len(names))
    counts = np.zeros(plan.spec.domain.shape(margin), dtype=np.int64)
    np.add.at(counts, tuple(codes[:, names.index(name)] for name in margin), 1)
    return counts


def answers(plan: Plan, records: Sequence[Codes], times: int = 1) -> list[Integers]:
    """The exact answers to every measurement, for records given as codes of the attributes that are used."""
    names, domain = used(plan), plan.spec.domain
    codes = np.array(records, dtype=np.intp).reshape(-1, len(names))
    found = []
    for one in plan.measurements:
        source = plan.counted_margin(one.query.margin)
        axes = [names.index(name) for name in source]
        counts = np.zeros(domain.shape(source), dtype=np.int64)
        np.add.at(counts, tuple(codes[:, axis] for axis in axes) if axes else (), times if axes else times * len(codes))
        if plan.encoding is not None:
            encoded = plan.encoding.encode(source, counts)
            counts = Table(plan.domain, plan.encoding.margin(source), encoded).project(one.query.margin).counts
        found.append(answer(plan.domain, one.query, counts))
    return found


def price_of(plan: Plan, move: Exchange) -> Fraction:
    """What one move of single records costs: the summed price of how far each answer moves."""
    total = Fraction(0)
    pairs = zip(plan.measurements, answers(plan, move.taken), answers(plan, move.put), strict=True)
    for one, before, after in pairs:
        change = np.ravel(after - before).tolist()
        total += one.price(sum(map(abs, change)), sum(step * step for step in change))
    return total


def worst(plan: Plan, seed: int | str) -> Priced:
    """The dearest of all moves, or of many, with its price for a whole unit.

    Of equally dear ones that which moves most places: noise that tables share, place by place, shows there.
    A unit of m records moves m times as far at most: m times the ε, m² times the ρ.
    """
    moves, complete = _moves(plan, Generator.seeded(f"{seed} moves"))
    priced = [(price_of(plan, move), move) for move in moves]
    price = max(price for price, _ in priced)
    dearest = [move for one, move in priced if one == price]
    move = max(dearest[:_MOST_ALIKE], key=lambda one: _places(plan, one))
    times = plan.protection.records**plan.cost.power
    return Priced(move, price * times, len(priced), complete)


def _places(plan: Plan, move: Exchange) -> int:
    """How many places a move changes, or in how many ways: the first cells of two tables, both one up, are one."""
    pairs = zip(answers(plan, move.taken), answers(plan, move.put), strict=True)
    steps = (np.ravel(after - before).tolist() for before, after in pairs)
    return len({(place, step) for one in steps for place, step in enumerate(one) if step})


def _moves(plan: Plan, generator: Generator) -> tuple[list[Exchange], bool]:
    most = max(16, _MOST_PRICED // max(1, len(plan.measurements)))
    if plan.spec.induced is not None:
        return _induced(plan, generator, most)
    protection = plan.protection
    if protection.sensitive or protection.neighbours == "replace":
        replaced, complete = _replaced(plan, generator, most)
        if protection.sensitive or protection.records == 1:
            return replaced, complete
        added, all_added = _added(plan, generator, most)
        return replaced + added, complete and all_added
    return _added(plan, generator, most)


def unlike(plan: Plan, move: Exchange) -> Codes:
    """A possible record that differs in as many attributes as can be from each record of a move."""
    records, _ = _records(plan, Generator.seeded("others"), _MOST_PRICED)
    ours = (*move.taken, *move.put)
    return max(records, key=lambda one: min(sum(a != b for a, b in zip(one, other, strict=True)) for other in ours))


def _added(plan: Plan, generator: Generator, most: int) -> tuple[list[Exchange], bool]:
    records, complete = _records(plan, generator, most)
    return [Exchange((), (record,)) for record in records], complete


def _replaced(plan: Plan, generator: Generator, most: int) -> tuple[list[Exchange], bool]:
    """All pairs of records that differ in sensitive attributes only, or at all."""
    names = used(plan)
    fixed = [axis for axis, name in enumerate(names) if plan.spec.sensitive and name not in plan.spec.sensitive]
    records, complete = _records(plan, generator, most)
    if complete and len(records) ** 2 <= most:
        pairs = ((one, two) for one, two in product(records, repeat=2) if one != two)
        return [Exchange((a,), (b,)) for a, b in pairs if all(a[axis] == b[axis] for axis in fixed)], True
    found = []
    for one, two in zip(records, reversed(records), strict=True):
        other = tuple(one[axis] if axis in fixed else code for axis, code in enumerate(two))
        if other != one:
            found.append(Exchange((one,), (other,)))
    return found, False


def _records(plan: Plan, generator: Generator, most: int) -> tuple[list[Codes], bool]:
    """Every possible record, or so many at random."""
    names = used(plan)
    shape = plan.spec.domain.shape(names)
    if prod(shape) <= most:
        return [tuple(map(int, codes)) for codes in np.argwhere(possible_mask(plan.spec, names))], True
    drawn = np.stack([generator.below(size, 4 * most) for size in shape], axis=1)
    patterns = plan.spec.structural_zeros
    found = [tuple(map(int, row)) for row in drawn if not _matches(plan, names, row, patterns)]
    return list(dict.fromkeys(found))[:most], False


def _matches(plan: Plan, names: Margin, row: Integers, patterns: Sequence[Pattern]) -> bool:
    """Whether a record is impossible."""
    if not patterns:
        return False
    values = {name: plan.spec.domain[name].values[int(code)] for name, code in zip(names, row, strict=True)}
    return any(all(name in values and values[name] in held for name, held in one.items()) for one in patterns)


def _induced(plan: Plan, generator: Generator, most: int) -> tuple[list[Exchange], bool]:
    """The moves that public facts leave: all of them on small tables, exchanges between records otherwise.

    None takes more records than the price counts on.
    """
    moves, complete = _left(plan, generator, most)
    records = plan.most_records
    return [move for move in moves if records is None or len(move.taken) <= records], complete


def _left(plan: Plan, generator: Generator, most: int) -> tuple[list[Exchange], bool]:
    names = used(plan)
    facts = facts_of(plan.spec)
    names = plan.spec.domain.margin({*names, *(name for margin in facts.whole for name in margin)})
    cells = plan.spec.domain.cells(names)
    if cells <= _MOST_CELLS and names == used(plan):
        records = list(product(*map(range, plan.spec.domain.shape(names))))
        matrix = _incidence(facts, names, records)
        try:
            deadline = monotonic() + _SECONDS
            assert plan.spec.induced is not None
            basis = select(plan.spec.induced, basis_of(matrix, deadline), deadline)
            return [_as_move(records, row) for row in basis], True
        except (OutOfTime, OverflowError):
            pass
    return list(_exchanges(plan, facts, generator, most)), False


def _incidence(facts: Facts, names: Margin, records: Sequence[Codes]) -> Integers:
    """A row for each known count, a column for each record."""
    rows: list[list[int]] = []
    for margin in facts.whole:
        axes = [names.index(name) for name in margin]
        seen = [tuple(record[axis] for axis in axes) for record in records]
        rows += [[int(one == cell) for one in seen] for cell in dict.fromkeys(seen)]
    for margin, known in facts.loose.items():
        axes = [names.index(name) for name in margin]
        rows += [[int(tuple(record[axis] for axis in axes) == cell) for record in records] for cell in known]
    return np.array(rows, dtype=np.int64)


def _as_move(records: Sequence[Codes], row: Integers) -> Exchange:
    taken = [record for record, times in zip(records, row.tolist(), strict=True) for _ in range(max(0, -times))]
    put = [record for record, times in zip(records, row.tolist(), strict=True) for _ in range(max(0, times))]
    return Exchange(tuple(taken), tuple(put))


def _exchanges(plan: Plan, facts: Facts, generator: Generator, most: int) -> Iterator[Exchange]:
    """Two records exchange some of their values, or one takes others, wherever that keeps every fact."""
    names = used(plan)
    shape = plan.spec.domain.shape(names)
    known = [tuple(names.index(name) for name in margin if name in names) for margin in facts.whole]
    loose = [tuple(names.index(name) for name in margin if name in names) for margin in facts.loose]
    found = 0
    for _ in range(_TRIES):
        one, two = (tuple(int(generator.below(size, 1)[0]) for size in shape) for _ in range(2))
        chosen = generator.below(2, len(names)).astype(bool)
        mixed = tuple(b if swap else a for a, b, swap in zip(one, two, chosen, strict=True))
        other = tuple(a if swap else b for a, b, swap in zip(one, two, chosen, strict=True))
        for move in (Exchange((one, two), (mixed, other)), Exchange((one,), (mixed,))):
            if all(_kept(move, axes) for axes in (*known, *loose)) and sorted(move.taken) != sorted(move.put):
                yield move
                found += 1
        if found >= most:
            return


def _kept(move: Exchange, axes: tuple[int, ...]) -> bool:
    """Whether the margin over these axes stays as it is."""
    before, after = (sorted(tuple(r[axis] for axis in axes) for r in side) for side in (move.taken, move.put))
    return before == after
