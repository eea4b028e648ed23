"""Sound reductions of whole public margins: what is left is a small problem, the core.

With the attributes sorted by the facts that hold them (proofs in docs/public-facts.md):

    condition   an attribute in every fact: a move lives on one of its values
    free        an attribute in no fact: a move is one of the rest, its records at any values, or one record changes it
    merge       attributes in the same facts act as one attribute
    mirror      a binary attribute, in all facts but one that holds all the others: a move is (h, −h), h a move of the
                facts without that attribute (a Lawrence lifting)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from math import prod

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Margin
from margrave.algebra.lattice import maximal
from margrave.facts.facts import Facts

Axes = tuple[int, ...]
_MOST_PERMUTED = 7


@dataclass(frozen=True)
class Core:
    """A table of the given shape whose margins over the given axes are known, reduced but for mirrors."""

    shape: tuple[int, ...]
    margins: tuple[Axes, ...]

    def __str__(self) -> str:
        names = ["".join(chr(ord("A") + axis) for axis in margin) for margin in self.margins]
        return f"{'+'.join(names)} on {'×'.join(map(str, self.shape))}"

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @cached_property
    def matrix(self) -> Integers:
        """A row for each known count, a column for each cell."""
        codes = np.array(list(product(*map(range, self.shape))), dtype=np.int64).reshape(self.cells, len(self.shape))
        blocks = []
        for margin in self.margins:
            sizes = [self.shape[axis] for axis in margin]
            index = np.zeros(self.cells, dtype=np.int64)
            for axis in margin:
                index = index * self.shape[axis] + codes[:, axis]
            blocks.append((index[None, :] == np.arange(prod(sizes))[:, None]).astype(np.int64))
        return np.concatenate(blocks)

    @cached_property
    def mirror(self) -> tuple[int, tuple[Axes, ...]] | None:
        """A mirror axis, with the margins on the other axes of which the moves are mirrored."""
        axes = set(range(len(self.shape)))
        for axis in axes:
            without = [margin for margin in self.margins if axis not in margin]
            if self.shape[axis] == 2 and len(without) == 1 and set(without[0]) == axes - {axis}:
                return axis, tuple(tuple(a for a in margin if a != axis) for margin in self.margins if axis in margin)
        return None


@dataclass(frozen=True)
class Reduced:
    """Whole public margins, reduced. ``groups`` are the attributes that each axis of the core merges.

    ``condition`` are the attributes in every fact, ``free`` those in none; one-valued attributes are left out.
    """

    condition: Margin
    free: Margin
    groups: tuple[Margin, ...]
    core: Core


def reduce_margins(facts: Facts) -> Reduced:
    """The reduction of facts that have margins known in full and no loose cells."""
    margins = [set(margin) for margin in facts.whole]
    used = {name: tuple(name in margin for margin in margins) for name in facts.names}
    condition = tuple(name for name in facts.names if all(used[name]))
    free = tuple(name for name in facts.names if not any(used[name]))
    merged: dict[tuple[bool, ...], list[str]] = {}
    for name in facts.names:
        if any(used[name]) and not all(used[name]):
            merged.setdefault(used[name], []).append(name)
    groups = [tuple(names) for names in merged.values()]
    shape = [facts.domain.cells(group) for group in groups]
    axes = [tuple(a for a, group in enumerate(groups) if set(group) <= margin) for margin in margins] if groups else []
    order, core = _canonical(shape, axes)
    return Reduced(condition, free, tuple(groups[axis] for axis in order), core)


def reduce_axes(shape: tuple[int, ...], margins: tuple[Axes, ...]) -> tuple[bool, Core]:
    """The same for axes without names: whether one is free, and the core."""
    margins = maximal(margins)
    used = [tuple(axis in margin for margin in margins) for axis in range(len(shape))]
    free = any(not any(where) and size > 1 for where, size in zip(used, shape, strict=True))
    merged: dict[tuple[bool, ...], list[int]] = {}
    for axis, where in enumerate(used):
        if any(where) and not all(where) and shape[axis] > 1:
            merged.setdefault(where, []).append(axis)
    groups = list(merged.values())
    sizes = [prod(shape[axis] for axis in group) for group in groups]
    axes = [tuple(a for a, group in enumerate(groups) if group[0] in margin) for margin in margins] if groups else []
    return free, _canonical(sizes, axes)[1]


def _canonical(shape: list[int], margins: list[Axes]) -> tuple[list[int], Core]:
    """The axes, where they are few, in an order that depends on the structure alone; and the core in that order."""
    axes = sorted(range(len(shape)), key=lambda axis: shape[axis])
    orders = permutations(axes) if len(shape) <= _MOST_PERMUTED else iter([tuple(axes)])
    best: tuple[list[int], Core] | None = None
    for order in orders:
        sizes = tuple(shape[axis] for axis in order)
        if list(sizes) != sorted(sizes):
            continue
        place = {axis: position for position, axis in enumerate(order)}
        core = Core(sizes, tuple(sorted(tuple(sorted(place[axis] for axis in margin)) for margin in margins)))
        if best is None or core.margins < best[1].margins:
            best = list(order), core
    return best if best is not None else ([], Core((), ()))
