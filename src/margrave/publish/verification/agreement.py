"""Whether tables agree: wherever two of them can be summed to the same margin, they must give the same counts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import maximal
from margrave.algebra.words import name_of
from margrave.errors import VerificationError
from margrave.publish.numbers import DECIMALS

_MANY = 10
"""Tables of up to so many attributes are compared on every margin that they could share with another."""


class Agreement:
    """The margins seen so far, each with the table that showed it first. Tables come many at a time, by their shape.

    Only what another table may ask for is kept, so memory grows with the margins that tables share.
    """

    def __init__(self, domain: Domain, margins: Collection[Margin]) -> None:
        self._domain = domain
        self._margins = margins
        self._widest = frozenset(maximal(margins))
        self._seen: dict[tuple[str, Margin], tuple[str, NDArray[Any], int]] = {}
        self._shared: set[Margin] = set()

    @property
    def shared(self) -> int:
        """How many margins were found in more than one table, and alike."""
        return len(self._shared)

    def add(self, kind: str, tables: Sequence[tuple[Margin, str]], counts: NDArray[Any]) -> None:
        """Compare some tables of one shape, each with its margin and its name; ``kind`` says which of their numbers."""
        shape = self._domain.shape(tables[0][0])
        stacked = counts.reshape(len(tables), *shape)
        if len(shape) <= _MANY:
            for width in range(len(shape) + 1):
                for axes in combinations(range(len(shape)), width):
                    self._compare(kind, tables, stacked, axes)
            return
        for index, (margin, name) in enumerate(tables):
            for axes in self._common(margin):
                self._compare(kind, [(margin, name)], stacked[index : index + 1], axes)

    def _common(self, margin: Margin) -> Iterator[tuple[int, ...]]:
        """The axes of a wide table that it has in common with each of the others."""
        kept = (tuple(axis for axis, name in enumerate(margin) if name in other) for other in self._margins)
        yield from dict.fromkeys(kept)

    def _compare(
        self, kind: str, tables: Sequence[tuple[Margin, str]], stacked: NDArray[Any], axes: tuple[int, ...]
    ) -> None:
        """Sum the tables down to the given axes, and compare with what was seen of those margins."""
        sums = stacked.sum(axis=tuple(axis + 1 for axis in range(stacked.ndim - 1) if axis not in axes))
        cells = stacked[0].size
        again, firsts = [], []
        for index, (margin, name) in enumerate(tables):
            below = tuple(margin[axis] for axis in axes)
            first = self._seen.get((kind, below))
            if first is not None:
                again.append((index, below, name))
                firsts.append(first)
            elif below != margin or margin not in self._widest:
                self._seen[kind, below] = (name, sums[index].copy(), cells)
        if not again:
            return
        found = sums[[index for index, _, _ in again]].reshape(len(again), -1)
        expected = np.stack([counts.ravel() for _, counts, _ in firsts])
        room = np.array([[cells + other] for _, _, other in firsts]) * 10.0**-DECIMALS
        for (_, below, name), (first_name, _, _), fits in zip(
            again, firsts, _agree(found, expected, room), strict=True
        ):
            if not fits:
                raise VerificationError(f"{name} and {first_name} disagree about {name_of(below)} ({kind})")
            self._shared.add(below)


def _agree(found: NDArray[Any], expected: NDArray[Any], room: NDArray[np.float64]) -> NDArray[np.bool_]:
    """For each row: whole counts agree exactly; others up to the rounding of the cells that were added."""
    if found.dtype.kind == "i" and expected.dtype.kind == "i":
        return np.asarray((found == expected).all(axis=1))
    return np.asarray((np.abs(found - expected) <= room + 1e-9 * np.abs(expected)).all(axis=1))
