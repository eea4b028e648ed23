"""Probabilities known to any number of binary digits, and coins that fall with exactly those probabilities.

A coin compares a uniform number U in [0, 1) with the probability p. U is revealed a few bits at a time: the coin is
heads as soon as the bits show U < p, tails as soon as they show U > p, and more bits are drawn until one is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from margrave.algebra.arrays import Flags, Octets
    from margrave.noise.generator import Generator


FIRST = 8  # bits of U revealed at once; a coin is still open after them with probability 2^-8
NEXT = 64  # bits revealed together whenever a coin is still open


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers ``low <= 2^bits · exp(−x) <= high`` for x >= 0, at most 2 apart.

    Decimal's exp is correctly rounded, so its neighbours enclose the true value.
    """
    if x == 0:
        return 1 << bits, 1 << bits
    if x >= bits:
        return 0, 1
    digits = bits // 3 + 24
    down = Context(digits, ROUND_FLOOR, MIN_EMIN, MAX_EMAX)
    up = Context(digits, ROUND_CEILING, MIN_EMIN, MAX_EMAX)
    numerator, denominator, unit = Decimal(-x.numerator), Decimal(x.denominator), Decimal(1 << bits)
    low = down.multiply(down.next_minus(down.exp(down.divide(numerator, denominator))), unit)
    high = up.multiply(up.next_plus(up.exp(up.divide(numerator, denominator))), unit)
    return int(low.to_integral_value(ROUND_FLOOR)), int(high.to_integral_value(ROUND_CEILING))


@dataclass(frozen=True)
class Chance:
    """The probability ``multiple · r / (1 + weight · r)`` with r = exp(−exponent).

    (multiple, weight) = (1, 0) is r itself, (1, 1) the chance of one of two outcomes with odds r, (2, 1) twice that.
    For a rational exponent > 0 the value is irrational, so its binary digits settle every comparison.
    """

    exponent: Fraction
    multiple: int = 1
    weight: int = 0

    def bounds(self, bits: int) -> tuple[int, int]:
        """Integers ``low <= 2^bits · p <= high``; the value grows with r."""
        one = 1 << bits
        low, high = exp_bounds(self.exponent, bits)
        return (
            self.multiple * low * one // (one + self.weight * low),
            -(-self.multiple * high * one // (one + self.weight * high)),
        )

    def digits(self, bits: int) -> int:
        """⌊2^bits · p⌋, from bounds made finer until both agree."""
        spare = 32
        while True:
            low, high = (bound >> spare for bound in self.bounds(bits + spare))
            if low == high:
                return low
            spare *= 2

    def settle(self, prefix: int, bits: int, generator: Generator) -> bool:
        """Whether U < p, where ``prefix`` is the first ``bits`` bits of U; draws more only while they leave it open."""
        while True:
            digits = self.digits(bits)
            if prefix != digits:
                return prefix < digits
            prefix = prefix << NEXT | int(generator.words(1)[0])
            bits += NEXT

    def flip(self, generator: Generator) -> bool:
        """One coin."""
        return self.settle(int(generator.octets(1)[0]), FIRST, generator)


class Coins:
    """A column of coins of fixed chances, all strictly between 0 and 1, flipped together for many draws."""

    def __init__(self, chances: Sequence[Chance]) -> None:
        self.chances = tuple(chances)
        digits = [chance.digits(FIRST + NEXT) for chance in self.chances]
        self._first = np.array([value >> NEXT for value in digits], dtype=np.uint8)
        self._next = np.array([value % (1 << NEXT) for value in digits], dtype=np.uint64)

    def __len__(self) -> int:
        return len(self.chances)

    def judge(self, revealed: Octets, generator: Generator) -> Flags:
        """Row i: heads of coin i for each draw, from the first byte of each U; open coins draw their next word."""
        first = self._first[:, np.newaxis]
        heads: Flags = revealed < first
        still_open = np.flatnonzero(revealed == first)
        coin = still_open // max(revealed.shape[1], 1)
        words, limits = generator.words(still_open.size), self._next[coin]
        flat = heads.reshape(-1)
        flat[still_open] = words < limits
        for index in np.flatnonzero(words == limits):
            prefix = int(self._first[coin[index]]) << NEXT | int(words[index])
            flat[still_open[index]] = self.chances[coin[index]].settle(prefix, FIRST + NEXT, generator)
        return heads
