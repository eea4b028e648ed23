"""The discrete Gaussian distribution, P(z) ∝ exp(−z²/(2σ²)) on the integers, sampled exactly.

Canonne, Kamath and Steinke (2020): propose y from the discrete Laplace of whole scale t = ⌊σ⌋ + 1 and accept it with
probability exp(−γ), γ = (|y| − σ²/t)²/(2σ²). The acceptance is decided in double precision wherever a proven error
bound allows, and by big integers elsewhere; docs/noise.md has both proofs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from margrave.algebra.arrays import Flags, Floats, Integers
from margrave.noise.exact import Chance, exp_bounds
from margrave.noise.family import checked_parameter, checked_size, grid_up, nats_for, registered
from margrave.noise.generator import Generator
from margrave.noise.laplace import BLOCK, Magnitudes

_LEAST, _MOST = Fraction(1, 1 << 40), Fraction(1 << 100)
_REVEALED = 32  # bits of U that the filter looks at
_SLACK = 2.0**-24  # more than the filter's error (2^-26) and the width of what is revealed of U (2^-32)
_STEPS = 256  # table entries per unit of γ
_FAR = 32  # exp(−γ) beyond this is below 2^-46, far inside the slack


@registered
@dataclass(frozen=True)
class DiscreteGaussian:
    """Noise z with P(z) ∝ exp(−z²/(2·sigma_squared)); at L2 sensitivity Δ it gives Δ²/(2·sigma_squared)-zCDP."""

    sigma_squared: Fraction
    kind: ClassVar[str] = "discrete-gaussian"
    called: ClassVar[str] = "Gauss"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_squared", checked_parameter("sigma_squared", self.sigma_squared, _LEAST, _MOST))

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        return {"sigma_squared": self.sigma_squared}

    @classmethod
    def of(cls, **parameters: Fraction) -> Self:
        return cls(**parameters)

    def dearer(self, factor: Fraction) -> Self:
        return replace(self, sigma_squared=self.sigma_squared / factor)

    @classmethod
    def at_least(cls, variance: Fraction) -> DiscreteGaussian:
        """The distribution whose σ² is ``variance`` or, if its fraction is long, larger by at most one part in 2^33."""
        return cls(grid_up(checked_parameter("variance", variance, _LEAST, _MOST)))

    @staticmethod
    def parameter_for(price: Fraction, l1: int, l2_squared: int) -> Fraction:
        """The σ² at which a move by the given distances has the given price."""
        return l2_squared / (2 * price)

    @staticmethod
    def distance(l1: int, l2_squared: int) -> int:
        return l2_squared

    def price(self, l1: int, l2_squared: int) -> Fraction:
        """ρ = l2_squared/(2·sigma_squared)."""
        return Fraction(l2_squared) / (2 * self.sigma_squared)

    def sample(self, size: int, generator: Generator) -> Integers:
        """``size`` independent draws."""
        out = np.empty(checked_size(size), dtype=np.int64)
        proposals, acceptance = Magnitudes.of(_whole_scale(self.sigma_squared)), Acceptance.of(self.sigma_squared)
        filled = 0
        while filled < size:
            # About three in four are accepted. Any surplus is dropped by position, which says nothing of its value.
            count = min(BLOCK, (size - filled) * 3 // 2 + 16)
            drawn, negative = proposals.sample(count, generator)
            accepted = acceptance.judge(drawn, generator)
            np.negative(drawn, out=drawn, where=negative)
            kept = drawn[accepted][: size - filled]
            out[filled : filled + kept.size] = kept
            filled += kept.size
        return out

    @property
    def variance(self) -> float:
        """The true variance; σ² where both agree in double precision (σ² > 8) or, as a weight, where it underflows."""
        if self.sigma_squared > 8 or self.sigma_squared * 1400 <= 1:
            return float(self.sigma_squared)
        z = np.arange(1, 64, dtype=np.float64)
        return float(2 * np.sum(z**2 * self.pmf(z)))

    @property
    def fourth_cumulant(self) -> float:
        """As good as zero."""
        return 0.0

    @property
    def _norm(self) -> float:
        """Σ exp(−z²/(2σ²)), or the same by Poisson summation: √(2πσ²) Σ exp(−2π²σ²k²)."""
        v, k = float(self.sigma_squared), np.arange(1, 8, dtype=np.float64)
        if v < 0.25:
            return float(1 + 2 * np.sum(np.exp(-(k**2) / (2 * v))))
        return float(math.sqrt(2 * math.pi * v) * (1 + 2 * np.sum(np.exp(-2 * math.pi**2 * v * k**2))))

    def pmf(self, z: npt.ArrayLike) -> Floats:
        """P(Z = z) for each z."""
        square = np.asarray(z, dtype=np.float64) ** 2
        return np.asarray(np.exp(-square / (2 * float(self.sigma_squared))) / self._norm)

    def log_characteristic(self, t: npt.ArrayLike) -> Floats:
        """log E cos(tZ), by the sum over z for small σ and by Poisson summation, Σ exp(−σ²(t + 2πk)²/2), for large."""
        v, angle = float(self.sigma_squared), np.asarray(t, dtype=np.float64)
        if v < 0.25:
            z = np.arange(1, 8)
            return np.asarray(np.log1p(2 * (np.cos(np.multiply.outer(angle, z)) - 1) @ self.pmf(z)))
        angle = angle - 2 * math.pi * np.rint(angle / (2 * math.pi))
        around = 2 * math.pi * np.arange(-4, 5)
        shifted = np.add.outer(angle, around) ** 2 - angle[..., np.newaxis] ** 2
        scale = math.log(math.sqrt(2 * math.pi * v) / self._norm)
        return np.asarray(-v * angle**2 / 2 + np.log(np.sum(np.exp(-v * shifted / 2), axis=-1)) + scale)

    def tail(self, z: npt.ArrayLike) -> Floats:
        """P(|Z| > z) for each z >= 0: its sum where σ <= 1000, else the upper bound erfc(⌊z⌋/(σ√2))."""
        floor = np.floor(np.asarray(z, dtype=np.float64))
        sigma = math.sqrt(self.sigma_squared)
        if sigma > 1000:
            return np.asarray(np.vectorize(math.erfc, otypes=[np.float64])(floor / (sigma * math.sqrt(2))))
        reach = math.ceil(40 * sigma) + 1
        above = np.cumsum(self.pmf(np.arange(reach, 0, -1)))[::-1]  # above[m] = P(Z > m)
        return np.asarray(2 * np.append(above, 0.0)[np.minimum(floor, reach).astype(np.int64)])

    def safe_tail(self, count: int) -> int:
        """T with P(any of ``count`` draws has |Z| > T) < 2^-100, because P(|Z| > T) <= exp(−T²/(2σ²))."""
        square = math.ceil(2 * self.sigma_squared * nats_for(count))
        return math.isqrt(square) + 1


def _whole_scale(sigma_squared: Fraction) -> Fraction:
    """t = ⌊σ⌋ + 1, the scale of the proposals."""
    return Fraction(math.isqrt(math.floor(sigma_squared)) + 1)


@lru_cache(maxsize=1)
def _exponentials() -> Floats:
    """exp(−i/256) for i = 0 … 32·256, each within 2^-50: powers in 128-bit fixed point, losing 2 units at each step."""
    factor, power, powers = exp_bounds(Fraction(1, _STEPS), 128)[0], 1 << 128, []
    for _ in range(_FAR * _STEPS + 1):
        powers.append(power * 2.0**-128)
        power = power * factor >> 128
    return np.array(powers)


class Acceptance:
    """Accepts |y| with probability exactly exp(−γ), γ = (|y| − σ²/t)²/(2σ²)."""

    def __init__(self, sigma_squared: Fraction) -> None:
        self._sigma_squared = sigma_squared
        self._centre = sigma_squared / _whole_scale(sigma_squared)
        self._shift, self._factor = float(self._centre), float(1 / (2 * sigma_squared))
        self._table = _exponentials()

    @staticmethod
    @lru_cache(maxsize=256)
    def of(sigma_squared: Fraction) -> Acceptance:
        """The judge for this σ², kept for the next call."""
        return Acceptance(sigma_squared)

    def approximate(self, magnitudes: Integers) -> Floats:
        """exp(−γ) within 2^-26, by a table and sums and products of doubles: no library's exp is trusted."""
        gamma = magnitudes - self._shift
        gamma *= gamma
        gamma *= self._factor
        np.minimum(gamma, _FAR, out=gamma)
        index = (gamma * _STEPS).astype(np.int32)
        gamma -= index * (1 / _STEPS)
        return np.asarray(self._table[index] * (1 - gamma * (1 - 0.5 * gamma)))

    def chance(self, magnitude: int) -> Chance:
        """exp(−γ) exactly."""
        return Chance((magnitude - self._centre) ** 2 / (2 * self._sigma_squared))

    def judge(self, magnitudes: Integers, generator: Generator) -> Flags:
        """Which proposals to accept. Where 32 bits of U are within the slack of exp(−γ), big integers decide."""
        revealed = generator.octets(4 * magnitudes.size).view("<u4")
        margin = self.approximate(magnitudes)
        margin -= revealed * 2.0**-_REVEALED
        accepted: Flags = margin > 0
        for index in np.flatnonzero(np.abs(margin) <= _SLACK):
            chance = self.chance(int(magnitudes[index]))
            accepted[index] = chance.settle(int(revealed[index]), _REVEALED, generator)
        return accepted
