"""What the moves of single public cells cost: each is put at base cells in every way that makes a difference.

Base cells in the same known counts form a class. A move of the classes becomes one of the table when the records of
each class are put at base cells of it. The price is convex, so it is enough to put all records of a class at one base
cell; and values that no fact tells apart are exchanged freely, so it only matters which records share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.query import Query, one_record
from margrave.facts.columns import Classes, TooLarge, classes_of, connected, part_of
from margrave.facts.facts import Facts
from margrave.facts.moves.bases import basis_of
from margrave.facts.moves.graver import OutOfTime
from margrave.facts.moves.notions import Notion, select

if TYPE_CHECKING:
    from margrave.budget.events import Measurement

MOST_PLACED = 1 << 14
"""Ways to put the records of one move; of more, each query is priced at its own worst."""
MOST_IN_ALL = 1 << 17
"""Ways to put the records of all moves together."""
MOST_IN_CLASSES = 1 << 24
"""Base cells, as far as facts tell them apart, times known counts."""
MOST_ENTRIES = 1 << 22
"""Numbers in memory at once."""
MOST_OUTPUTS = 1 << 10
"""Kinds of outputs of a query with residuals, whose absolute values are added up one by one."""
_LARGEST = 1 << 62
_NEARLY = 1 - 1e-9
"""Placements whose price in floating point is at least this part of the highest are priced exactly."""


@dataclass(frozen=True)
class Move:
    """So many records put (taken, if negative) in each of some classes of base cells."""

    classes: tuple[int, ...]
    records: tuple[int, ...]


@dataclass(frozen=True)
class Placed:
    """``highest``: the highest price of the moves that were put everywhere; ``bound``: no other move costs more.

    ``moves``: their number; ``longest``: the largest norm.
    """

    highest: Fraction
    bound: Fraction
    moves: int
    longest: int


def list_moves(classes: Classes, notion: Notion, most_columns: int, deadline: float) -> list[Move] | None:
    """The moves between classes, one of each pair ±g, or None where they cannot be listed.

    Two base cells of one class exchange a record; one in no known count gains or loses it, as class −1.
    """
    found = [Move((-1,), (1,))] if len(classes.outside) else []
    found += [Move((index, index), (1, -1)) for index, several in enumerate(classes.several) if several]
    try:
        for columns in connected(classes.matrix):
            if len(columns) > most_columns:
                return None
            part = part_of(classes.matrix, columns)
            for move in select(notion, basis_of(np.unique(part, axis=0), deadline), deadline):
                where = np.flatnonzero(move)
                found.append(Move(tuple(columns[where].tolist()), tuple(move[where].tolist())))
    except (OutOfTime, OverflowError):
        return None
    return found


def placed_price(
    facts: Facts, asked: Sequence[Measurement], gaussian: bool, notion: Notion, most_columns: int, deadline: float
) -> Placed | None:
    """What the moves of facts with single cells cost, or None where they cannot be listed."""
    try:
        classes = classes_of(facts, MOST_IN_CLASSES)
    except TooLarge:
        return None
    moves = list_moves(classes, notion, most_columns, deadline)
    if moves is None:
        return None
    longest = max((sum(map(abs, move.records)) for move in moves), default=0)
    if any(max(one_record(facts.domain, one.query)) * longest**2 >= _LARGEST for one in asked):
        return None
    weights: dict[Query, Fraction] = {}
    for one in asked:
        weights[one.query] = weights.get(one.query, Fraction(0)) + one.price(1, 1)
    if not weights:
        return Placed(Fraction(0), Fraction(0), len(moves), longest)
    everywhere, bounded = _all_norms(facts, tuple(weights), gaussian, tuple(moves))
    prices = tuple(weights.values())
    return Placed(_highest(everywhere, prices), _highest(bounded, prices), len(moves), longest)


def _highest(table: Integers, prices: Sequence[Fraction]) -> Fraction:
    """The highest price of a row of norms."""
    if not len(table):
        return Fraction(0)
    rough = table @ np.array([float(price) for price in prices])
    near = table[rough >= rough.max() * _NEARLY].tolist()
    return max(sum((norm * price for norm, price in zip(row, prices, strict=True)), Fraction(0)) for row in near)


@lru_cache(maxsize=32)
def _all_norms(
    facts: Facts, queries: tuple[Query, ...], gaussian: bool, moves: tuple[Move, ...]
) -> tuple[Integers, Integers]:
    """A column for each query: its norms for the moves at every place, and bounds for those with too many places."""
    return _Norms(facts.domain, classes_of(facts), queries, gaussian).all(moves)


class _Norms:
    """How far moves shift the answers to some queries, in batches of moves between equally many classes."""

    def __init__(self, domain: Domain, classes: Classes, queries: tuple[Query, ...], gaussian: bool) -> None:
        self.domain, self.classes, self.queries, self.gaussian = domain, classes, queries, gaussian
        used = {name for query in queries for name in query.margin}
        self.names = tuple(name for name in classes.names if name in used)
        self.left = MOST_IN_ALL
        self._known: dict[tuple[int, Margin], Integers] = {}

    def all(self, moves: Sequence[Move]) -> tuple[Integers, Integers]:
        batches: dict[int, list[tuple[Move, Integers]]] = {}
        bounded: list[list[int]] = []
        for move in moves:
            short = all(self._is_short(move, query) for query in self.queries)
            ways = self._ways(move, self.names, min(MOST_PLACED, self.left)) if short else None
            if ways is None:
                bounded.append(self._query_by_query(move))
            else:
                self.left -= len(ways)
                batches.setdefault(len(move.classes), []).append((move, ways))
        found = [piece for batch in batches.values() for piece in self._batch(batch)]
        none = np.zeros((0, len(self.queries)), dtype=np.int64)
        return np.concatenate([none, *found]), np.concatenate([none, *([row] for row in bounded)])

    def _is_short(self, move: Move, query: Query) -> bool:
        return self.gaussian or (len(move.classes) + 1) ** len(query.residual) <= MOST_OUTPUTS

    def _ways(self, move: Move, names: Margin, most: int) -> Integers | None:
        cells = [self._cells(index, names) for index in move.classes]
        if prod(len(member) for member in cells) > most:
            return None
        rows = np.array(list(product(*(range(len(member)) for member in cells))), dtype=np.int64)
        ways = np.stack([member[rows[:, slot]] for slot, member in enumerate(cells)], axis=1)
        for axis, name in enumerate(names):
            shared = _variants(ways, axis, self.classes.alike[name], most)
            if shared is None:
                return None
            ways = shared
        return ways

    def _cells(self, index: int, names: Margin) -> Integers:
        """The base cells of a class, as far as some attributes tell them apart."""
        if (index, names) not in self._known:
            member = self.classes.outside if index < 0 else self.classes.members[index]
            axes = [self.classes.names.index(name) for name in names]
            self._known[index, names] = np.unique(member[:, axes], axis=0) if axes else member[:1, axes]
        return self._known[index, names]

    def _batch(self, batch: list[tuple[Move, Integers]]) -> Iterator[Integers]:
        width = len(batch[0][0].classes)
        step = max(1, MOST_ENTRIES // (width * width))
        for ways, records in _pieces(batch, step):
            columns = [norms(self.domain, query, self.names, ways, records, self.gaussian) for query in self.queries]
            yield np.unique(np.stack(columns, axis=1), axis=0)

    def _query_by_query(self, move: Move) -> list[int]:
        """Each query at its own worst: never less than all queries at the same placement."""
        records = np.array([move.records], dtype=np.int64)
        found = []
        for query in self.queries:
            names = tuple(name for name in self.names if name in query.margin)
            short = self._is_short(move, query)
            ways = self._ways(move, names, min(MOST_PLACED, self.left)) if short else None
            if ways is None:
                found.append(largest_norm(self.domain, query, move.records, self.gaussian))
            else:
                self.left -= len(ways)
                found.append(int(norms(self.domain, query, names, ways, records, self.gaussian).max()))
        return found


def _pieces(batch: list[tuple[Move, Integers]], step: int) -> Iterator[tuple[Integers, Integers]]:
    """The placements of many moves, with the records at each, a few at a time."""
    ways = np.concatenate([each for _, each in batch])
    records = np.concatenate([np.tile(np.array(move.records, dtype=np.int64), (len(each), 1)) for move, each in batch])
    for begin in range(0, len(ways), step):
        yield ways[begin : begin + step], records[begin : begin + step]


def _variants(ways: Integers, axis: int, alike: int, most: int) -> Integers | None:
    """Each way in all variants of which records share one of the ``alike`` values; these become −1, −2, …"""
    hidden = ways[:, :, axis] == -1
    found = []
    total = 0
    for mask in np.unique(hidden, axis=0):
        rows = ways[(hidden == mask).all(axis=1)]
        shared = _sharings(int(mask.sum()), alike)
        if shared is None:
            return None
        total += len(rows) * len(shared)
        if total > most:
            return None
        variants = np.array(shared, dtype=np.int64).reshape(len(shared), int(mask.sum()))
        repeated = np.repeat(rows, len(variants), axis=0)
        repeated[:, mask, axis] = np.tile(variants, (len(rows), 1))
        found.append(repeated)
    return np.concatenate(found)


@lru_cache(maxsize=256)
def _sharings(number: int, values: int) -> tuple[tuple[int, ...], ...] | None:
    """All ways for so many records to share so many values, up to a renaming of the values; None if too many."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(number):
        found = [(*one, -1 - value) for one in found for value in range(min(values, 1 - min(one, default=0)))]
        if len(found) > MOST_PLACED:
            return None
    return tuple(found)


def norms(
    domain: Domain, query: Query, names: Margin, ways: Integers, records: Integers, gaussian: bool
) -> NDArray[np.int64]:
    """``‖W g‖₁``, or ``‖W g‖₂²`` if ``gaussian``, of each placement: a query sees only which values are the same.

    ``ways`` has the code of each attribute of ``names`` for each class, ``records`` how many are put there.
    """

    def same(name: str) -> NDArray[np.bool_]:
        if domain[name].size == 1:
            return np.ones((len(ways), ways.shape[1], ways.shape[1]), dtype=np.bool_)
        codes = ways[:, :, names.index(name)]
        equal: NDArray[np.bool_] = codes[:, :, None] == codes[:, None, :]
        return equal

    records = np.broadcast_to(records, ways.shape[:2])
    together = np.ones((len(ways), ways.shape[1], ways.shape[1]), dtype=np.bool_)
    for name in query.cells:
        together &= same(name)
    signs = np.ones_like(together, dtype=np.int64)
    for name in query.contrast:
        signs = np.where(same(name), signs, -signs)
    residuals = [(domain[name].size, same(name)) for name in query.residual]
    if gaussian:
        for size, equal in residuals:
            signs = signs * np.where(equal, size * (size - 1), -size)
        squares: NDArray[np.int64] = np.einsum("wi,wij,wj->w", records, np.where(together, signs, 0), records)
        return squares
    return _absolute(records * signs[:, 0], together, residuals)


def _absolute(
    values: Integers, together: NDArray[np.bool_], residuals: list[tuple[int, NDArray[np.bool_]]]
) -> NDArray[np.int64]:
    """The sum of absolute answers: over the outputs where some record is, and along residuals over all others too.

    Along a residual of k values an output is the value of some class, counted at the first that has it, or one of the
    rest, where all classes count −1.
    """
    slots = values.shape[1]
    first = _first(together)
    total = np.zeros(len(values), dtype=np.int64)
    for outputs in product(range(slots + 1), repeat=len(residuals)):
        times, seen = np.ones(len(values), dtype=np.int64), values
        for output, (size, equal) in zip(outputs, residuals, strict=True):
            new = _first(equal)
            if output < slots:
                times = times * new[:, output]
                seen = seen * np.where(equal[:, output], size - 1, -1)
            else:
                times = times * (size - new.sum(axis=1))
                seen = -seen
        answers = np.abs((together * seen[:, None, :]).sum(axis=2))
        total += times * (answers * first).sum(axis=1)
    return total


def _first(equal: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which classes are the first with what they are equal in."""
    return np.asarray(~np.tril(equal, -1).any(axis=2))


def largest_norm(domain: Domain, query: Query, records: Sequence[int], gaussian: bool) -> int:
    """A bound for any placement: all records put together, and all taken; in one output if a contrast joins them."""
    l1, l2_squared = one_record(domain, query)
    put = sum(number for number in records if number > 0)
    taken = sum(abs(number) for number in records) - put
    if not gaussian:
        return (put + taken) * l1
    plain = not (query.contrast or query.residual)
    return (put * put + taken * taken if plain else (put + taken) ** 2) * l2_squared
