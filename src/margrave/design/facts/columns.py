"""Any public facts as a matrix with few columns: base cells that the same facts count are one column."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from margrave.algebra.domain import Margin
from margrave.design.facts.facts import Facts
from margrave.design.facts.kernel import Integers

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


def columns_of(facts: Facts) -> Columns:
    """The fact matrix in parts."""
    signatures, times = _signatures(facts)
    untouched = not facts.whole and bool((signatures == 0).all(axis=1).any())
    touched = signatures.any(axis=1) if not facts.whole else np.ones(len(signatures), dtype=np.bool_)
    distinct, inverse = np.unique(signatures[touched], axis=0, return_inverse=True)
    twins = bool((np.bincount(inverse.ravel(), weights=times[touched]) > 1).any())
    return Columns(tuple(_parts(_incidence(distinct, len(facts.whole)))), untouched, twins)


def _signatures(facts: Facts) -> tuple[Integers, Integers]:
    """For each class of base cells, its cell in every margin known in full and whether it is in each loose cell.

    Also how many base cells the class has (2 stands for any larger number).
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
    return np.stack(signatures, axis=1), np.array(times, dtype=np.int64)


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


def _parts(matrix: Integers) -> list[Integers]:
    """The connected parts of at least two columns, each once."""
    label = np.arange(matrix.shape[1])
    changed = True
    while changed:
        before = label.copy()
        for row in matrix:
            inside = row != 0
            if inside.any():
                label[inside] = label[inside].min()
        changed = not np.array_equal(before, label)
    found: dict[tuple[tuple[int, ...], bytes], Integers] = {}
    for name in np.unique(label):
        part = matrix[:, label == name]
        if part.shape[1] > 1:
            part = np.unique(part[part.any(axis=1)], axis=0)
            found.setdefault((part.shape, part.tobytes()), part)
    return list(found.values())
