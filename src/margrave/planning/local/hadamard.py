"""Hadamard response: a short report about the whole answer, a column of a matrix of signs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np

from margrave.algebra.arrays import Array, Floats, Integers
from margrave.algebra.residual import centre
from margrave.noise import Generator
from margrave.noise.tape import Tape
from margrave.planning.local.cells import CellMechanism, cell_numbers
from margrave.planning.local.mechanism import Axes, Columns, Field, Symbol

MOST = 512
"""Answers up to which it is weighed: its exact variance takes the square of their number."""


@dataclass(frozen=True)
class Hadamard(CellMechanism):
    """A column y of a Hadamard matrix; those with + in row (answer + 1) are e^ε times as likely as the others."""

    name: ClassVar[str] = "hadamard"
    alike: ClassVar[bool] = False

    @cached_property
    def order(self) -> int:
        """The size of the matrix: the least power of two above the number of answers."""
        return 1 << self.cells.bit_length()

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field(self.order),)

    @property
    def tally_shape(self) -> tuple[int, ...]:
        return (self.order,)

    @property
    def _draws(self) -> int:
        return self.odds.numerator + self.odds.denominator

    def encode(self, codes: Sequence[int], tape: Tape) -> Symbol:
        row = self.cell(codes) + 1
        minus = tape.below(self._draws) >= self.odds.numerator
        column = tape.below(self.order)
        # Turning one bit of the row over in the column turns its sign over: every column of a sign is as likely.
        return (column if (row & column).bit_count() & 1 == minus else column ^ (row & -row),)

    def encode_many(self, codes: Integers, generator: Generator) -> Columns:
        row = cell_numbers(codes, self.shape) + 1
        minus = generator.below(self._draws, len(codes)) >= self.odds.numerator
        column = generator.below(self.order, len(codes))
        odd = (np.bitwise_count(row & column) & 1).astype(bool)
        return [np.where(odd == minus, column, column ^ (row & -row))]

    def symbols(self) -> Iterator[Symbol]:
        return ((column,) for column in range(self.order))

    def chance(self, codes: Sequence[int], symbol: Symbol) -> Fraction:
        minus = ((self.cell(codes) + 1) & symbol[0]).bit_count() & 1
        part = self.odds.denominator if minus else self.odds.numerator
        return Fraction(2 * part, self._draws * self.order)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.odds.numerator, self._draws), Fraction(1, 2)

    @cached_property
    def _third(self) -> Integers:
        """For two answers the one whose row is the product of theirs, or −1 where there is none."""
        rows = np.arange(1, self.cells + 1)
        found = (rows[:, np.newaxis] ^ rows) - 1
        return np.where(found < self.cells, found, -1)

    def spread(self, axes: Axes) -> Fraction:
        """One report is r times the signs s of its column. E s_v s_w is 1 for v = w, and the share of the answer whose
        row is the product of the rows of v and w, over r, where there is one.
        """
        pairs = (self._third >= 0).astype(np.int64).reshape(self.shape * 2)
        width, inside = len(self.shape), 1
        for axis, size in enumerate(self.shape):
            if axis in axes:  # centred along both of its axes, in whole numbers
                pairs = centre(centre(pairs, axis, exact=True), width + axis, exact=True)
                inside *= size * size
        kept = "".join(chr(97 + axis) for axis in range(width))
        other = "".join(chr(97 + axis if axis in axes else 110 + axis) for axis in range(width))
        trace = int(np.einsum(f"{kept}{other}->", pairs))
        dimension = prod(self.shape[axis] - 1 for axis in axes)
        outside = prod(size for axis, size in enumerate(self.shape) if axis not in axes)
        gain = self.odds.gain
        return gain * gain * outside + gain * Fraction(trace, inside * self.cells * dimension)

    def seconds(self, weights: Floats) -> Floats:
        """One report is r·Σ w(v)·s(v), with s the signs of a column, likelier where that of the answer is +."""
        gain = float(self.odds.gain)
        signs = np.zeros((len(weights), self.order))
        signs[:, 1 : self.cells + 1] = weights
        squares = _walsh(_walsh(signs) ** 2) / self.order
        return np.asarray(gain**2 * squares[:, :1] + gain * squares[:, 1 : self.cells + 1])

    def covariance(self, shares: Floats) -> Floats:
        gain = float(self.odds.gain)
        seen = np.where(self._third >= 0, shares[self._third], 0.0) / gain
        seen[np.diag_indices_from(seen)] = 1.0
        return np.asarray((seen - np.outer(shares, shares) / gain**2) / 4)

    def tally(self, columns: Columns) -> Integers:
        return np.bincount(columns[0], minlength=self.order).astype(np.int64)

    def supported(self, tally: Integers) -> Integers:
        signs = _walsh(tally.astype(np.int64))[1 : self.cells + 1]
        return np.asarray((int(tally.sum()) + signs) // 2)


def _walsh(values: Array) -> Array:
    """The product of each row with the Hadamard matrix of its length; whole numbers stay whole numbers."""
    found, half = values, 1
    while half < values.shape[-1]:
        pairs = found.reshape(*values.shape[:-1], -1, 2, half)
        left, right = pairs[..., 0, :], pairs[..., 1, :]
        found = np.stack([left + right, left - right], axis=-2).reshape(values.shape)
        half *= 2
    return found
