"""The Graver basis of a matrix: the moves that no proper part of themselves could replace.

A move is a whole-number solution of ``A g = 0``. A move ``h`` is a part of ``g`` when no cell of ``h`` or of ``g − h``
has a sign opposite to that of ``g``. The Graver basis holds the moves without a proper non-zero part; with ``g`` it
holds ``−g``, of which one is kept here.

Coordinates are added one at a time. With K the coordinates so far, on which the lattice projects one to one, and t the
next: every basis element over K stays one over K ∪ {t}; every other new element is ``f − g`` for two elements with
f_t, g_t > 0 and no opposite signs of f and −g on K (docs/public-facts.md). On K their norms add up, so going through
the norms in order, an element is found after all its parts, one of which has at most half its norm.
"""

from __future__ import annotations

from time import monotonic

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Integers
from margrave.facts.moves.kernel import kernel_basis, unit_pivots
from margrave.facts.moves.primitive import is_primitive

_BLOCK = 1 << 22
"""Pairs compared at once."""
MOST_MOVES = 400_000
"""A basis larger than this is given up."""
_WORD = 62

Masks = NDArray[np.int64]


class OutOfTime(Exception):
    """The basis was not complete at the deadline, or too large."""


def graver_basis(matrix: Integers, deadline: float) -> Integers:
    """All elements, one of each pair ±g as a row, or `OutOfTime` at the deadline (of `time.monotonic`)."""
    matrix = np.asarray(matrix, dtype=np.int64)
    basis = kernel_basis(matrix)
    if not len(basis):
        return basis
    reduced, pivots = unit_pivots(basis)
    if pivots is not None:
        return _Lift(reduced, list(pivots), deadline).complete()
    # Without coordinates to begin with, begin with the coefficients of the basis, and drop them at the end.
    rank, columns = basis.shape
    extended = np.concatenate([np.eye(rank, dtype=np.int64), basis], axis=1)
    found = _Lift(extended, list(range(rank)), deadline).complete()[:, rank:]
    return np.array([move for move in found if is_primitive(move, found)], dtype=np.int64).reshape(-1, columns)


class _Lift:
    """The basis as it grows. ``moves`` are whole moves; they are complete on the coordinates ``known``."""

    def __init__(self, moves: Integers, known: list[int], deadline: float) -> None:
        self.moves, self.known, self.deadline = moves, known, deadline

    def complete(self) -> Integers:
        left = [column for column in range(self.moves.shape[1]) if column not in self.known]
        while left:
            column = min(left, key=lambda c: int(np.count_nonzero(self.moves[:, c])))
            left.remove(column)
            self._add(column)
            self.known.append(column)
        return self.moves

    def _add(self, column: int) -> None:
        """Complete the moves on one more coordinate."""
        moves = np.where(self.moves[:, [column]] < 0, -self.moves, self.moves)
        by_norm: dict[int, _Class] = {}
        norms = np.abs(moves[:, self.known]).sum(axis=1)
        both = [*self.known, column]
        for norm in np.unique(norms).tolist():
            by_norm[norm] = _Class.of(moves[norms == norm], self.known, both, column)
        level = 2
        while level <= 2 * max(by_norm):
            found = self._sums(by_norm, level)
            if len(found):
                found = self._irreducible(found, by_norm, level, both)
            if len(found):
                found = np.where(found[:, [column]] < 0, -found, found)
                held = by_norm.get(level)
                joined = found if held is None else np.concatenate([held.moves, found])
                by_norm[level] = _Class.of(joined, self.known, both, column)
            if sum(len(held.moves) for held in by_norm.values()) > MOST_MOVES:
                raise OutOfTime
            level += 1
        self.moves = np.concatenate([held.moves for held in by_norm.values()])

    def _sums(self, by_norm: dict[int, _Class], level: int) -> Integers:
        """Every ``f − g`` of this norm that could be a new element, without repetition."""
        found = []
        for norm, one in by_norm.items():
            other = by_norm.get(level - norm)
            if other is None or norm > level - norm:
                continue
            for begin, end in _blocks(len(one.pairing), len(other.pairing)):
                self._check()
                clash = _meet(one.sides[begin:end], other.sides)
                first, second = np.nonzero(~clash)
                if one is other:
                    first, second = first[first + begin < second], second[first + begin < second]
                if len(first):
                    found.append(unique_up_to_sign(one.pairing[begin:end][first] - other.pairing[second]))
        width = self.moves.shape[1]
        return unique_up_to_sign(np.concatenate(found)) if found else np.zeros((0, width), dtype=np.int64)

    def _irreducible(self, found: Integers, by_norm: dict[int, _Class], level: int, both: list[int]) -> Integers:
        for norm in sorted(by_norm):
            if 2 * norm > level:
                break
            for parts, masks in ((by_norm[norm].moves, by_norm[norm].masks), by_norm[norm].negative()):
                if len(found):
                    found = self._without(found, parts[:, both], masks, both)
        return found

    def _without(self, found: Integers, parts: Integers, masks: Masks, both: list[int]) -> Integers:
        """The sums of which none of the parts is a part."""
        keep = np.ones(len(found), dtype=np.bool_)
        here = found[:, both]
        absent = ~_masks(here)
        sizes, part_sizes = np.abs(here), np.abs(parts)
        for begin, end in _blocks(len(found), len(parts)):
            self._check()
            first, second = np.nonzero(~_meet(absent[begin:end], masks))
            for start in range(0, len(first), 1 << 18):
                one, two = first[start : start + (1 << 18)] + begin, second[start : start + (1 << 18)]
                keep[one[(part_sizes[two] <= sizes[one]).all(axis=1)]] = False
        return found[keep]

    def _check(self) -> None:
        if monotonic() > self.deadline:
            raise OutOfTime


class _Class:
    """The moves of one norm; ``pairing`` are those that are not zero, but positive, at the new coordinate.

    ``masks`` tell the signs on the known coordinates and the new one, ``sides`` those of ``pairing`` on the known ones.
    """

    def __init__(self, moves: Integers, masks: Masks, pairing: Integers, sides: Masks) -> None:
        self.moves, self.masks, self.pairing, self.sides = moves, masks, pairing, sides

    @classmethod
    def of(cls, moves: Integers, known: list[int], both: list[int], column: int) -> _Class:
        pairing = moves[moves[:, column] != 0]
        return cls(moves, _masks(moves[:, both]), pairing, _masks(pairing[:, known]))

    def negative(self) -> tuple[Integers, Masks]:
        half = self.masks.shape[1] // 2
        return -self.moves, np.concatenate([self.masks[:, half:], self.masks[:, :half]], axis=1)


def _masks(moves: Integers) -> Masks:
    """The positive, then the negative entries as bits, in words of 62."""
    words = []
    for signs in (moves > 0, moves < 0):
        for begin in range(0, moves.shape[1], _WORD):
            part = signs[:, begin : begin + _WORD]
            words.append(part @ (1 << np.arange(part.shape[1], dtype=np.int64)))
    return np.stack(words, axis=1)


def _meet(one: Masks, other: Masks) -> NDArray[np.bool_]:
    """For each pair of rows, whether a bit is set in both."""
    shared = one[:, None, 0] & other[None, :, 0]
    for word in range(1, one.shape[1]):
        shared |= one[:, None, word] & other[None, :, word]
    meet: NDArray[np.bool_] = shared != 0
    return meet


def _blocks(rows: int, columns: int) -> list[tuple[int, int]]:
    step = max(1, _BLOCK // max(columns, 1))
    return [(begin, min(begin + step, rows)) for begin in range(0, rows, step)] if columns else []


def unique_up_to_sign(moves: Integers) -> Integers:
    """The moves without repetition, the first non-zero entry of each positive."""
    leading = np.take_along_axis(moves, (moves != 0).argmax(axis=1)[:, None], axis=1)
    oriented = np.ascontiguousarray(np.where(leading < 0, -moves, moves))
    rows = oriented.view(np.dtype((np.void, oriented.dtype.itemsize * oriented.shape[1]))).ravel()
    return oriented[np.unique(rows, return_index=True)[1]]
