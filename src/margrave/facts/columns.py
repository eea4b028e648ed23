"""Any public facts as a matrix with few columns: base cells that the same facts count are one column."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Margin
from margrave.facts.facts import Facts

MOST_COLUMNS = 100_000
"""More base cells than this, after values that no fact tells apart have been put together, are not enumerated."""


class TooLarge(Exception):
    """The facts tell more base cells apart than can be enumerated."""


@dataclass(frozen=True)
class Columns:
    """Parts of the fact matrix that share no row, without repetition; each has at least two columns, all different.

    ``untouched``: some base cell is in no known count. ``twins``: two base cells are in the same known counts.
    """

    parts: tuple[Integers, ...]
    untouched: bool
    twins: bool


@dataclass(frozen=True)
class Classes:
    """Base cells in the same known counts form a class: ``matrix`` has a column for each.

    ``members``: for each class the codes of its base cells, a column for each attribute of ``names``; −1 stands for any
    of the ``alike`` values of an attribute that no fact tells apart. ``several``: whether a class has more than one
    base cell. ``outside``: the codes of the base cells that are in no known count.
    """

    names: Margin
    alike: dict[str, int]
    members: tuple[Integers, ...]
    several: tuple[bool, ...]
    matrix: Integers
    outside: Integers


def classes_of(facts: Facts, most: int | None = None) -> Classes:
    """All base cells, sorted by the known counts that they are in; `TooLarge` for more than ``most`` entries."""
    known = len(facts.whole) + sum(map(len, facts.loose.values()))
    if most is not None and known * prod(len(_told_apart(facts, name)) for name in facts.names) > most:
        raise TooLarge
    table, signatures, times = _signatures(facts)
    touched = signatures.any(axis=1) if not facts.whole else np.ones(len(signatures), dtype=np.bool_)
    distinct, inverse = np.unique(signatures[touched], axis=0, return_inverse=True)
    inverse = inverse.ravel()
    several = np.bincount(inverse, weights=times[touched], minlength=len(distinct)) > 1
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(1, len(distinct)))
    members = np.split(table[touched][order], starts) if len(distinct) else []
    alike = {name: dict(_told_apart(facts, name)).get(-1, 0) for name in facts.names}
    matrix = _incidence(distinct, len(facts.whole))
    return Classes(facts.names, alike, tuple(members), tuple(several.tolist()), matrix, table[~touched])


def columns_of(facts: Facts) -> Columns:
    """The fact matrix in parts."""
    classes = classes_of(facts)
    parts: dict[tuple[tuple[int, ...], bytes], Integers] = {}
    for columns in connected(classes.matrix):
        part = np.unique(part_of(classes.matrix, columns), axis=0)
        parts.setdefault((part.shape, part.tobytes()), part)
    return Columns(tuple(parts.values()), bool(len(classes.outside)), any(classes.several))


def part_of(matrix: Integers, columns: Integers) -> Integers:
    """The rows that some of the columns are in, for these columns."""
    part = matrix[:, columns]
    return part[part.any(axis=1)]


def _signatures(facts: Facts) -> tuple[Integers, Integers, Integers]:
    """For each group of base cells that differ in values not told apart: the codes, then the cell in every margin known
    in full and whether it is in each loose cell, and how many base cells there are (2 stands for any larger number).
    """
    values = {name: _told_apart(facts, name) for name in facts.names}
    if prod(len(classes) for classes in values.values()) > MOST_COLUMNS:
        raise TooLarge
    codes, times = [], []
    for chosen in product(*values.values()):
        codes.append([code for code, _ in chosen])
        times.append(min(2, prod(size for _, size in chosen)))
    table = np.array(codes, dtype=np.int64).reshape(len(codes), len(values))
    axis = {name: position for position, name in enumerate(facts.names)}
    signatures = [_cell_index(facts, margin, table, axis) for margin in facts.whole]
    for margin, cells in facts.loose.items():
        picked = table[:, [axis[name] for name in margin]]
        signatures += [(picked == np.array(cell)).all(axis=1).astype(np.int64) for cell in sorted(cells)]
    return table, np.stack(signatures, axis=1), np.array(times, dtype=np.int64)


def _told_apart(facts: Facts, name: str) -> list[tuple[int, int]]:
    """The values of an attribute that facts tell apart: a code, and how many values behave like it."""
    size = facts.domain[name].size
    if any(name in margin for margin in facts.whole):
        return [(code, 1) for code in range(size)]
    named = sorted({cell[m.index(name)] for m, cells in facts.loose.items() if name in m for cell in cells})
    classes = [(code, 1) for code in named]
    return classes if len(named) == size else [*classes, (-1, size - len(named))]


def _cell_index(facts: Facts, margin: Margin, table: Integers, axis: dict[str, int]) -> Integers:
    index = np.zeros(len(table), dtype=np.int64)
    for name in margin:
        index = index * facts.domain[name].size + table[:, axis[name]]
    return index


def _incidence(distinct: Integers, wholes: int) -> Integers:
    rows = []
    for position in range(distinct.shape[1]):
        column = distinct[:, position]
        wanted = np.unique(column) if position < wholes else np.array([1])
        rows.append((column[None, :] == wanted[:, None]).astype(np.int64))
    return np.concatenate(rows)


def connected(matrix: Integers) -> list[Integers]:
    """The columns of each connected part of at least two columns."""
    label = np.arange(matrix.shape[1])
    changed = True
    while changed:
        before = label.copy()
        for row in matrix:
            inside = row != 0
            if inside.any():
                label[inside] = label[inside].min()
        changed = not np.array_equal(before, label)
    found = (np.flatnonzero(label == name) for name in np.unique(label))
    return [columns for columns in found if len(columns) > 1]
