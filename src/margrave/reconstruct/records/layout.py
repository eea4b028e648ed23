"""Where the cells of all tables lie: one after the other in a flat array, tables of equal shape side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Margin
from margrave.reconstruct.records.variables import Variables

Cells = NDArray[np.uint64]
"""Places of cells: without a sign, so that the compiled loops need no look at negative ones."""


class LoopTables(NamedTuple):
    """The tables as the compiled loops need them.

    An *entry* is a table together with one of the variables that its attributes are functions of; the entries of
    variable v are ``first[v]`` … ``first[v + 1]``, and ``owner`` says whose an entry is. A table's cells begin at
    ``where[entry]``. A code of the entry's variable moves by ``step[begin[entry] + code]`` cells from there; a code of
    a further one, ``other[entry, slot]`` for slot < ``others[entry]``, by ``step[other_begin[entry, slot] + code]``.
    Where the codes of the entry's variable are equally far from each other, ``stride`` is how far, otherwise 0.
    ``entry[t]`` is one entry of table t.
    """

    sizes: Integers
    first: Integers
    owner: Integers
    where: Cells
    begin: Integers
    step: Cells
    stride: Cells
    others: Integers
    other: Integers
    other_begin: Integers
    entry: Integers


@dataclass(frozen=True, eq=False)
class TableCells:
    """The margins that records are fitted to, none of them (), and the place of each in the flat arrays.

    ``groups``: runs of tables of one shape, as the first cell, the number of tables, and the shape.
    """

    margins: tuple[Margin, ...]
    offsets: Integers
    cells: Integers
    groups: tuple[tuple[int, int, tuple[int, ...]], ...]
    layout: LoopTables

    @property
    def size(self) -> int:
        """The number of cells of all tables."""
        return int(self.cells.sum())

    def part(self, numbers: NDArray[np.float64], index: int) -> NDArray[np.float64]:
        """The cells of one table, flat."""
        return numbers[self.offsets[index] : self.offsets[index] + self.cells[index]]

    def batches(self, numbers: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """The numbers of all tables in order, tables of equal shape in one array."""
        for begin, count, shape in self.groups:
            yield numbers[begin : begin + count * prod(shape)].reshape(count, *shape)

    def centred(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The residuals of all tables: each centred along each of its axes."""
        found = [np.zeros(0)]
        for batch in self.batches(numbers):
            for axis in range(1, batch.ndim):
                batch = batch - batch.mean(axis=axis, keepdims=True)
            found.append(batch.ravel())
        return np.concatenate(found)

    def sums(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over the cells of each table."""
        return np.add.reduceat(numbers, self.offsets) if len(self.offsets) else np.zeros(0)

    def squares(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each table the sum of squares of its residual."""
        return self.sums(self.centred(numbers) ** 2)


def tables(found: Variables, margins: Sequence[Margin]) -> TableCells:
    """Lay out the tables of the given margins."""
    domain = found.domain
    ordered = tuple(sorted(margins, key=lambda margin: (len(margin), domain.shape(margin))))
    shapes = [domain.shape(margin) for margin in ordered]
    cells = np.array([prod(shape) for shape in shapes], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(cells)[:-1]]).astype(np.int64)
    groups: list[tuple[int, int, tuple[int, ...]]] = []
    for shape, alike in groupby(range(len(ordered)), key=shapes.__getitem__):
        first, *rest = alike
        groups.append((int(offsets[first]), 1 + len(rest), shape))
    return TableCells(ordered, offsets, cells, tuple(groups), _layout(found, ordered, offsets))


class _Steps:
    """The steps of all variables in all tables; equal ones are kept once."""

    def __init__(self) -> None:
        self.parts: list[Integers] = []
        self._size = 0
        self._known: dict[bytes, int] = {}

    def begin(self, steps: Integers) -> int:
        key = steps.tobytes()
        if key not in self._known:
            self._known[key] = self._size
            self._size += len(steps)
            self.parts.append(steps)
        return self._known[key]


def _layout(found: Variables, margins: Sequence[Margin], offsets: Integers) -> LoopTables:
    steps = _Steps()
    entries: list[list[tuple[int, int, list[tuple[int, int]], int]]] = [[] for _ in found.names]
    for table, margin in enumerate(margins):
        moves = [(variable, steps.begin(move)) for variable, move in _moves(found, margin).items()]
        for variable, begin in moves:
            others = [one for one in moves if one[0] != variable]
            entries[variable].append((int(offsets[table]), begin, others, table))
    flat = [entry for own in entries for entry in own]
    width = max((len(others) for _, _, others, _ in flat), default=0)
    padded = [[*others, *[(0, 0)] * (width - len(others))] for _, _, others, _ in flat]
    further = np.array(padded, dtype=np.int64).reshape(len(flat), width, 2)
    step = np.concatenate([np.zeros(0, dtype=np.int64), *steps.parts])
    owned = [(begin, size) for own, size in zip(entries, found.sizes(), strict=True) for _, begin, _, _ in own]
    strides = [_stride(step[begin : begin + size]) for begin, size in owned]
    of_table = np.zeros(len(margins), dtype=np.int64)
    of_table[[table for _, _, _, table in flat]] = np.arange(len(flat))
    return LoopTables(
        sizes=np.array(found.sizes(), dtype=np.int64),
        first=np.cumsum([0, *map(len, entries)]),
        owner=np.repeat(np.arange(len(entries)), [len(own) for own in entries]),
        where=np.array([offset for offset, _, _, _ in flat], dtype=np.uint64),
        begin=np.array([begin for _, begin, _, _ in flat], dtype=np.int64),
        step=step.astype(np.uint64),
        stride=np.array(strides, dtype=np.uint64),
        others=np.array([len(others) for _, _, others, _ in flat], dtype=np.int64),
        other=np.ascontiguousarray(further[:, :, 0]),
        other_begin=np.ascontiguousarray(further[:, :, 1]),
        entry=of_table,
    )


def _stride(steps: Integers) -> int:
    """The distance between the cells of neighbouring codes, if it is one for all of them; otherwise 0."""
    even = len(steps) > 1 and np.array_equal(steps, steps[1] * np.arange(len(steps)))
    return int(steps[1]) if even else 0


def _moves(found: Variables, margin: Margin) -> dict[int, Integers]:
    """For each variable that a table depends on, by how many cells each of its codes moves."""
    moves: dict[int, Integers] = {}
    stride = 1
    for name in reversed(margin):
        variable, move = found.source[name], stride * found.implied[name]
        moves[variable] = moves[variable] + move if variable in moves else move
        stride *= found.domain[name].size
    return moves
