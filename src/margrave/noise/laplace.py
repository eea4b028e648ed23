"""The discrete Laplace distribution, P(z) ∝ exp(−|z|/scale) on the integers, sampled exactly and without rejection.

With r = exp(−1/scale): z = 0 has probability (1 − r)/(1 + r); otherwise the sign is fair and |z| − 1 is geometric,
P(x) = (1 − r) r^x. The binary digits of a geometric number are independent, digit i being 1 with odds r^(2^i), and so
is its quotient by 2^K, geometric again with ratio r^(2^K). Each draw is therefore one coin per digit; docs/noise.md
has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from margrave.algebra.arrays import Flags, Floats, Integers
from margrave.noise.exact import Chance, Coins
from margrave.noise.family import checked_parameter, checked_size, grid_up, nats_for, registered
from margrave.noise.generator import Generator

BLOCK = 1 << 13  # draws worked on together, so that they stay in the processor's cache
_UNDERFLOW = 700  # from 1/scale = 745 on the variance is zero in double precision
_LEAST, _MOST = Fraction(1, 1 << 40), Fraction(1 << 50)


@registered
@dataclass(frozen=True)
class DiscreteLaplace:
    """Noise z with P(z) ∝ exp(−|z|/scale); at L1 sensitivity Δ and scale Δ/ε it gives ε-differential privacy."""

    scale: Fraction
    kind: ClassVar[str] = "discrete-laplace"
    called: ClassVar[str] = "Laplace"
    pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_parameter("scale", self.scale, _LEAST, _MOST))

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        return {"scale": self.scale}

    @classmethod
    def of(cls, **parameters: Fraction) -> Self:
        return cls(**parameters)

    def dearer(self, factor: Fraction) -> Self:
        return replace(self, scale=self.scale / factor)

    @classmethod
    def at_least(cls, scale: Fraction) -> DiscreteLaplace:
        """The distribution whose scale is ``scale`` or, if its fraction is long, larger by at most one part in 2^33."""
        return cls(grid_up(checked_parameter("scale", scale, _LEAST, _MOST)))

    @staticmethod
    def parameter_for(price: Fraction, l1: int, l2_squared: int) -> Fraction:
        """The scale at which a move by the given distances has the given price."""
        return l1 / price

    @staticmethod
    def distance(l1: int, l2_squared: int) -> int:
        return l1

    def price(self, l1: int, l2_squared: int) -> Fraction:
        """ε = l1/scale."""
        return Fraction(l1) / self.scale

    def sample(self, size: int, generator: Generator) -> Integers:
        """``size`` independent draws."""
        out = np.empty(checked_size(size), dtype=np.int64)
        magnitudes = Magnitudes.of(self.scale)
        for start in range(0, size, BLOCK):
            part = out[start : start + BLOCK]
            part[:], negative = magnitudes.sample(part.size, generator)
            np.negative(part, out=part, where=negative)
        return out

    @cached_property
    def variance(self) -> float:
        """2r/(1 − r)², the true variance; 2·scale², for use as a weight, where that underflows."""
        if self.scale * _UNDERFLOW <= 1:
            return 2.0 * float(self.scale) ** 2
        return 0.5 / math.sinh(0.5 / float(self.scale)) ** 2

    @property
    def fourth_cumulant(self) -> float:
        """v + 3v² for the variance v."""
        return self.variance + 3 * self.variance**2

    def pmf(self, z: npt.ArrayLike) -> Floats:
        """P(Z = z) for each z."""
        scale = float(self.scale)
        return np.asarray(math.tanh(0.5 / scale) * np.exp(-np.abs(np.asarray(z, dtype=np.float64)) / scale))

    def log_characteristic(self, t: npt.ArrayLike) -> Floats:
        """log E cos(tZ) = −log(1 + (sin(t/2)/sinh(1/(2·scale)))²)."""
        angle = np.asarray(t, dtype=np.float64)
        if self.scale * _UNDERFLOW <= 1:  # sinh² would overflow; the true value is below 10^-303 in size
            return np.zeros_like(angle)
        return np.asarray(-np.log1p((np.sin(angle / 2) / math.sinh(0.5 / float(self.scale))) ** 2))

    def tail(self, z: npt.ArrayLike) -> Floats:
        """P(|Z| > z) = 2 r^(⌊z⌋ + 1)/(1 + r) for each z >= 0."""
        scale, steps = float(self.scale), np.floor(np.asarray(z, dtype=np.float64)) + 1
        return np.asarray(2.0 * np.exp(-steps / scale) / (1.0 + math.exp(-1.0 / scale)))

    def safe_tail(self, count: int) -> int:
        """T with P(any of ``count`` draws has |Z| > T) < 2^-100, because P(|Z| > T) < 2 exp(−T/scale)."""
        return math.ceil(self.scale * nats_for(2 * count))


class Magnitudes:
    """Draws |z| of a discrete Laplace, together with a fair sign; the coins are computed once per scale."""

    def __init__(self, scale: Fraction) -> None:
        step = 1 / scale
        # 2^K >= 16·scale makes the quotient, which is counted one by one, zero but once in e^16 draws.
        self._digits = math.ceil(16 * scale - 1).bit_length()
        self._quotient = Chance(step * (1 << self._digits))
        digits = [Chance(step * (1 << i), 1, 1) for i in range(self._digits)]
        self._coins = Coins([*digits, Chance(step, 2, 1), self._quotient])

    @staticmethod
    @lru_cache(maxsize=256)
    def of(scale: Fraction) -> Magnitudes:
        """The sampler for this scale, kept for the next call."""
        return Magnitudes(scale)

    def sample(self, count: int, generator: Generator) -> tuple[Integers, Flags]:
        """``count`` magnitudes, and whether each is to be negative. Uses one byte per coin and one for the sign."""
        rows = len(self._coins)
        revealed = generator.octets((rows + 1) * count).reshape(rows + 1, count)
        heads = self._coins.judge(revealed[:rows], generator)
        geometric = _from_digits(heads[: self._digits], count)
        for draw in np.flatnonzero(heads[-1]):
            quotient = 1
            while self._quotient.flip(generator):
                quotient += 1
            geometric[draw] = int(geometric[draw]) + (quotient << self._digits)
        geometric += 1
        geometric *= heads[-2]
        return geometric, (revealed[rows] & 1).view(np.bool_)


def _from_digits(digits: Flags, count: int) -> Integers:
    """The integers whose binary digits, lowest first, are the rows; whole bytes are put together before widening."""
    octets = np.zeros((count, 8), dtype=np.uint8)
    planes = digits.view(np.uint8)
    for start in range(0, len(planes), 8):
        group = planes[start : start + 8]
        byte = group[-1].copy()
        for plane in group[-2::-1]:  # doubling by addition: numpy shifts bytes far more slowly
            byte += byte
            byte |= plane
        octets[:, start // 8] = byte
    return octets.view("<i8").reshape(count).astype(np.int64, copy=False)
