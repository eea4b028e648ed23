"""Where the cells of all tables lie: one after the other in a flat array, tables of equal shape side by side.

The compiled loops have a copy of a table for each variable that it depends on, in which the codes of that variable lie
side by side: when a value is drawn anew, whole rows are read.
"""

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
_LANE = 8
"""Rows are filled up to a multiple of so many cells, which are read at once."""


class LoopTables(NamedTuple):
    """The tables as the compiled loops need them.

    An *entry* is a table together with one of the variables that its attributes are functions of; the entries of
    variable v are ``first[v]`` … ``first[v + 1]``, and ``owner`` says whose an entry is. Each has a copy of the table,
    whose cells begin at ``where[entry]``. A code of the entry's variable moves by ``step[begin[entry] + code]`` cells
    from there; a code of a further one, ``other[entry, slot]`` for slot < ``others[entry]``, by
    ``step[other_begin[entry, slot] + code]``; and ``copy[entry, slot]`` is the entry of that one for the same table.
    The first ``evens[v]`` entries of variable v are those in whose copies its codes lie side by side, in rows of
    ``width[entry]`` cells, a multiple of eight. ``mirror``: of a table of two such variables, the entry of the other;
    otherwise −1. ``entry[t]`` is one entry of table t.
    ``cells``: for each cell of each copy which one it is of all tables; ``seats``: for each of these where the copy of
    ``entry`` has it.
    """

    sizes: Integers
    first: Integers
    owner: Integers
    where: Cells
    begin: Integers
    step: Cells
    evens: Integers
    width: Cells
    mirror: Integers
    others: Integers
    other: Integers
    other_begin: Integers
    copy: Integers
    entry: Integers
    cells: Integers
    seats: Integers


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


@dataclass(frozen=True, eq=False)
class _Entry:
    """A table and one of its variables: ``moves`` has, for each variable, where the steps of its codes begin.

    ``width``: how long a row is in which the codes of the variable lie side by side; 0 where they do not. ``cells``:
    which cell of all tables each one of the copy is, −1 for what only fills up a row.
    """

    table: int
    variable: int
    moves: dict[int, int]
    width: int
    cells: Integers


def _layout(found: Variables, margins: Sequence[Margin], offsets: Integers) -> LoopTables:
    steps = _Steps()
    tabled = [_entries(found, table, margin, int(offsets[table]), steps) for table, margin in enumerate(margins)]
    flat = sorted((entry for own in tabled for entry in own), key=lambda entry: (entry.variable, not entry.width))
    number = {(entry.table, entry.variable): at for at, entry in enumerate(flat)}
    others = [[one for one in entry.moves if one != entry.variable] for entry in flat]
    wide = max(map(len, others), default=0)

    def padded(rows: list[list[int]]) -> Integers:
        return np.array([[*row, *[0] * (wide - len(row))] for row in rows], dtype=np.int64).reshape(-1, wide)

    copy = [[number[entry.table, one] for one in own] for entry, own in zip(flat, others, strict=True)]
    mirror = [
        own[0] if len(own) == 1 and entry.width and flat[own[0]].width else -1
        for entry, own in zip(flat, copy, strict=True)
    ]
    # Past the last cell there is room for a whole row to be read.
    where = np.cumsum([0, *(len(entry.cells) for entry in flat)])
    of_table = np.array([number[table, own[0].variable] for table, own in enumerate(tabled)], dtype=np.int64)
    cells = np.concatenate([*(entry.cells for entry in flat), np.full(_LANE, -1)]).astype(np.int64)
    seats = np.zeros(sum(int((own[0].cells >= 0).sum()) for own in tabled), dtype=np.int64)
    for entry in of_table:
        inside = np.flatnonzero(flat[entry].cells >= 0)
        seats[flat[entry].cells[inside]] = where[entry] + inside
    variables = np.array([entry.variable for entry in flat], dtype=np.int64)
    first = np.searchsorted(variables, np.arange(len(found.names) + 1))
    return LoopTables(
        sizes=np.array(found.sizes(), dtype=np.int64),
        first=first,
        owner=variables,
        where=where[:-1].astype(np.uint64),
        begin=np.array([entry.moves[entry.variable] for entry in flat], dtype=np.int64),
        step=np.concatenate([np.zeros(0, dtype=np.int64), *steps.parts]).astype(np.uint64),
        evens=np.bincount(variables[[bool(entry.width) for entry in flat]], minlength=len(found.names)),
        width=np.array([entry.width for entry in flat], dtype=np.uint64),
        mirror=np.array(mirror, dtype=np.int64),
        others=np.array(list(map(len, others)), dtype=np.int64),
        other=padded(others),
        other_begin=padded([[entry.moves[one] for one in own] for entry, own in zip(flat, others, strict=True)]),
        copy=padded(copy),
        entry=of_table,
        cells=np.where(cells < 0, 0, cells),
        seats=seats,
    )


def _entries(found: Variables, table: int, margin: Margin, offset: int, steps: _Steps) -> list[_Entry]:
    """The entries of a table: in the copy of each variable the attribute that it is itself comes last."""
    shape = found.domain.shape(margin)
    cells = np.arange(offset, offset + prod(shape)).reshape(shape)
    entries = []
    for variable in dict.fromkeys(found.source[name] for name in margin):
        own = [name for name in margin if found.source[name] == variable]
        axes = [*(name for name in margin if name not in own), *own]
        copy = cells.transpose([margin.index(name) for name in axes])
        even, width = own == [found.names[variable]], 0
        if even:
            width = -(-copy.shape[-1] // _LANE) * _LANE
            copy = np.pad(copy, [(0, 0)] * (copy.ndim - 1) + [(0, width - copy.shape[-1])], constant_values=-1)
        moves = {one: steps.begin(move) for one, move in _moves(found, axes, copy.shape).items()}
        entries.append(_Entry(table, variable, moves, width, copy.ravel()))
    return entries


def _moves(found: Variables, axes: Sequence[str], shape: Sequence[int]) -> dict[int, Integers]:
    """For each variable that a table with such axes depends on, by how many cells each of its codes moves."""
    moves: dict[int, Integers] = {}
    stride = 1
    for name, size in zip(reversed(axes), reversed(shape), strict=True):
        variable, move = found.source[name], stride * found.implied[name]
        moves[variable] = moves[variable] + move if variable in moves else move
        stride *= size
    return moves
