"""The discrete Laplace distribution cut off at ±reach, sampled exactly, and the δ that cutting it off costs.

P(z) ∝ r^|z| for |z| <= reach, with r = exp(−1/scale). A count that moves by one moves the distribution by one, and
then a single end of it, of probability P(reach), lies where the other has nothing; everywhere else the ratio is r or
1/r. So a truncated noise is (1/scale, P(reach))-differentially private for a count of sensitivity one, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from margrave.algebra.arrays import Floats, Integers
from margrave.errors import UsageError
from margrave.noise.exact import exp_bounds
from margrave.noise.family import checked_size, grid_up
from margrave.noise.generator import Generator
from margrave.noise.laplace import DiscreteLaplace

MOST_REACH = 1 << 24
"""Noise of a reach R takes 2R rows of a message for each cell: beyond this no message could be sent."""
_SPARE_BITS = 128
_MOST_BITS = 1 << 12
"""A δ below 2^-4096 is stated as that: nobody needs to know it better, and its digits take long."""


@dataclass(frozen=True)
class TruncatedLaplace:
    """Noise z with P(z) ∝ exp(−|z|/scale) for |z| <= reach, and nothing beyond."""

    scale: Fraction
    reach: int

    def __post_init__(self) -> None:
        DiscreteLaplace(self.scale)
        if type(self.reach) is not int or not 0 < self.reach <= MOST_REACH:
            raise UsageError(f"the reach of truncated noise ({self.reach}) must be between 1 and {MOST_REACH}")

    @classmethod
    def for_delta(cls, scale: Fraction, delta: Fraction) -> TruncatedLaplace:
        """The noise of the least reach whose `delta` is at most the given one."""
        if not 0 < delta < 1:
            raise UsageError(f"delta ({float(delta):.3g}) must be greater than 0 and less than 1")
        low, high = 0, 1
        while cls(scale, high).delta > delta:
            if high == MOST_REACH:
                raise UsageError(
                    f"no noise of this scale ({float(scale):.3g}) that reaches at most {MOST_REACH} has a δ of "
                    f"{float(delta):.3g}: raise epsilon or delta"
                )
            low, high = high, min(2 * high, MOST_REACH)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cls(scale, middle).delta > delta else (low, middle)
        return cls(scale, high)

    @cached_property
    def delta(self) -> Fraction:
        """P(reach) = r^reach (1 − r)/(1 + r − 2 r^(reach + 1)), rounded up: by one part in 2^33, or to 2^-4096."""
        bits = min(math.ceil(self.reach / self.scale * Fraction(3, 2)), _MOST_BITS) + _SPARE_BITS
        one = 1 << bits
        low = exp_bounds(1 / self.scale, bits)[0]
        end, beyond = (exp_bounds(steps / self.scale, bits)[1] for steps in (self.reach, self.reach + 1))
        return min(grid_up(Fraction(end * (one - low), one * (one + low - 2 * beyond))), Fraction(1))

    @cached_property
    def variance(self) -> float:
        z = np.arange(1, self.reach + 1, dtype=np.float64)
        return float(2 * (z * z * self.pmf(z)).sum())

    def sample(self, size: int, generator: Generator) -> Integers:
        """``size`` independent draws: of the whole distribution, drawn again where they reach too far."""
        whole = DiscreteLaplace(self.scale)
        out = whole.sample(checked_size(size), generator)
        while (far := np.flatnonzero(np.abs(out) > self.reach)).size:
            out[far] = whole.sample(far.size, generator)
        return out

    def pmf(self, z: npt.ArrayLike) -> Floats:
        """P(Z = z) for each z."""
        values = np.abs(np.asarray(z, dtype=np.float64))
        inside = np.exp(-np.arange(1, self.reach + 1) / float(self.scale)).sum()
        return np.asarray(np.where(values <= self.reach, np.exp(-values / float(self.scale)) / (1 + 2 * inside), 0.0))
