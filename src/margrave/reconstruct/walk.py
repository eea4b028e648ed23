"""A table of counts with given margins, by steps that mend one interaction at a time.

Let D_T be what the margin T of a table of whole numbers lacks. If nothing is lacking below T, then D_T sums to zero
along each axis. A *cube* takes two values of each attribute of T and a place for all other attributes: its 2^|T| cells
change by one, up or down in turn. It changes no margin that does not contain T, and T itself only in those cells. So
margins are mended from the smallest to the largest, and a cube about a largest one disturbs nothing. Only that no count
may become negative can stop this. Then some cube is taken at random, and the walk goes on.

Steps are counted, and choices at random come from a fixed seed: what is found does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.reconstruct.estimates import Possible

STEPS = 3_000
"""Cubes, at most."""
_TRIED = 64
"""Cubes of one margin that are tried before another margin is shaken, at most."""


@dataclass(frozen=True, eq=False)
class _Walk:
    """A table on its way: ``table`` changes. ``near``: what it should stay close to."""

    domain: Domain
    wanted: Mapping[Margin, Integers]
    near: Floats
    possible: Possible
    table: Integers

    def lacking(self, margin: Margin) -> Integers:
        axes = tuple(axis for axis, name in enumerate(self.domain.names) if name not in margin)
        return np.asarray(self.wanted[margin] - self.table.sum(axis=axes))

    def first_lacking(self) -> Margin | None:
        """The smallest margin that lacks something."""
        return next((margin for margin in self.wanted if self.lacking(margin).any()), None)

    def take(self, margin: Margin, cells: list[tuple[int, ...]], signs: list[int]) -> bool:
        """Change the cells of a cube in the best place where that may be done, if there is one."""
        axes = [self.domain.names.index(name) for name in margin]
        table, near, possible = (
            np.moveaxis(array, axes, range(len(axes))) for array in (self.table, self.near, self.possible)
        )
        allowed, gain = np.ones(table.shape[len(axes) :], dtype=bool), np.zeros(table.shape[len(axes) :])
        for cell, sign in zip(cells, signs, strict=True):
            allowed = allowed & ((table[cell] > 0) if sign < 0 else possible[cell])
            gain = gain + sign * (near[cell] - table[cell])
        if not allowed.any():
            return False
        best = int(np.argmax(np.where(allowed, gain, -np.inf)))
        place = tuple(int(code) for code in np.unravel_index(best, allowed.shape))
        for cell, sign in zip(cells, signs, strict=True):
            table[(*cell, *place)] += sign
        return True

    def mend(self, margin: Margin) -> bool:
        """One cube that brings a margin nearer to what is wanted; False where none can be taken."""
        lacks = self.lacking(margin)
        for number, (cells, signs) in enumerate(_cubes(lacks)):
            if number == _TRIED:
                break
            if self.take(margin, cells, signs):
                return True
        return False

    def shake(self, margin: Margin, random: np.random.Generator) -> None:
        """A cube about the margin at random, if one of those tried can be taken."""
        shape = self.domain.shape(margin)
        for _ in range(_TRIED):
            one = tuple(int(random.integers(size)) for size in shape)
            other = tuple(
                (value + 1 + int(random.integers(size - 1))) % size for value, size in zip(one, shape, strict=True)
            )
            if self.take(margin, *_cube(one, other)):
                return


def walked(
    domain: Domain, tables: Mapping[Margin, Integers], near: Floats, possible: Possible | None
) -> Integers | None:
    """A table of counts over a domain with all given margins that is near another; None where the walk finds none.

    The margins agree with each other where they overlap. Attributes of one value make no cubes.
    """
    names = tuple(name for name in domain.names if domain[name].size > 1)
    below = sorted(downward_closure([tuple(name for name in margin if name in names) for margin in tables]), key=len)
    wanted = {margin: _summed(domain, tables, margin) for margin in below}
    table = np.diff(np.floor(np.cumsum(near.ravel()) + 0.5), prepend=0.0).astype(np.int64).reshape(near.shape)
    may = np.ones(near.shape, dtype=bool) if possible is None else possible.reshape(near.shape)
    walk = _Walk(domain, wanted, near, may, np.where(may, table, 0))
    if walk.lacking(()).any():
        return None
    random = np.random.default_rng(0)  # no secret: what is published is only written as whole numbers here
    largest = [margin for margin in below if len(margin) > 1]
    for _ in range(STEPS):
        margin = walk.first_lacking()
        if margin is None:
            return walk.table
        if not walk.mend(margin) and largest:
            walk.shake(largest[int(random.integers(len(largest)))], random)
    return None


def _summed(domain: Domain, tables: Mapping[Margin, Integers], margin: Margin) -> Integers:
    """What a margin is, summed from a given one above it."""
    above = next(one for one in tables if set(margin) <= set(one))
    axes = tuple(axis for axis, name in enumerate(above) if name not in margin)
    return np.asarray(tables[above].sum(axis=axes))


def _cube(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[list[tuple[int, ...]], list[int]]:
    """The cells between two opposite ones, and by how much each changes: the first by +1."""
    chosen = list(product((0, 1), repeat=len(one)))
    cells = [
        tuple(pair[side] for pair, side in zip(zip(one, other, strict=True), sides, strict=True)) for sides in chosen
    ]
    return cells, [1 - 2 * (sum(sides) % 2) for sides in chosen]


def _cubes(lacks: Integers) -> Iterator[tuple[list[tuple[int, ...]], list[int]]]:
    """Cubes that begin where something is lacking, those that help most first."""
    for flat in np.argsort(-lacks, axis=None, kind="stable"):
        one = tuple(int(code) for code in np.unravel_index(int(flat), lacks.shape))
        if lacks[one] <= 0:
            return
        others = product(
            *([code for code in range(size) if code != value] for value, size in zip(one, lacks.shape, strict=True))
        )
        found = [_cube(one, other) for other in others]
        yield from sorted(found, key=lambda cube: -_helps(lacks, *cube))


def _helps(lacks: Integers, cells: list[tuple[int, ...]], signs: list[int]) -> int:
    """By how much less is lacking after a cube."""
    return sum(abs(int(lacks[cell])) - abs(int(lacks[cell]) - sign) for cell, sign in zip(cells, signs, strict=True))
