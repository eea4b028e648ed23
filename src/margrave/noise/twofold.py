"""Two noises on one count, each of the full scale: a discrete Laplace, and a truncated one that somebody else added.

Each alone protects against the other's owner, who can take the own one away. For everybody else the sum protects at
least as well as the first alone: what is added to it is independent. So in price it is the first, in width both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from margrave.algebra.arrays import Floats, Integers
from margrave.noise.family import registered
from margrave.noise.generator import Generator
from margrave.noise.laplace import DiscreteLaplace
from margrave.noise.truncated import TruncatedLaplace

_LEAST = 1e-300


@registered
@dataclass(frozen=True)
class TwofoldLaplace(DiscreteLaplace):
    """The sum of a discrete Laplace noise and an independent one of the same scale that reaches no further."""

    reach: int
    kind: ClassVar[str] = "discrete-laplace-twice"
    called: ClassVar[str] = "Laplace, twice"

    def __post_init__(self) -> None:
        super().__post_init__()
        TruncatedLaplace(self.scale, self.reach)

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        return {"scale": self.scale, "reach": Fraction(self.reach)}

    @classmethod
    def of(cls, **parameters: Fraction) -> Self:
        return cls(parameters["scale"], int(parameters["reach"]))

    @property
    def fourth_cumulant(self) -> float:
        """The sum of both."""
        first, z = super().variance, np.arange(1, self.reach + 1, dtype=np.float64)
        second = float(2 * (z**4 * self.second.pmf(z)).sum()) - 3 * self.second.variance**2
        return first + 3 * first**2 + second

    @cached_property
    def second(self) -> TruncatedLaplace:
        """The truncated noise."""
        return TruncatedLaplace(self.scale, self.reach)

    def sample(self, size: int, generator: Generator) -> Integers:
        return super().sample(size, generator) + self.second.sample(size, generator)

    @property
    def variance(self) -> float:
        return super().variance + self.second.variance

    def pmf(self, z: npt.ArrayLike) -> Floats:
        values = np.asarray(z, dtype=np.float64)
        inner = np.arange(-self.reach, self.reach + 1)
        found = super().pmf(values[..., np.newaxis] - inner) @ self.second.pmf(inner)
        return np.asarray(found, dtype=np.float64)

    def log_characteristic(self, t: npt.ArrayLike) -> Floats:
        """The sum of both, the second one's being a sum of cosines; where it is as good as zero it is held above."""
        angle = np.asarray(t, dtype=np.float64)
        ratio = np.exp(-1 / float(self.scale) + 1j * angle)
        half = (1 - ratio ** (self.reach + 1)) / (1 - ratio)
        second = (2 * half.real - 1) * float(self.second.pmf(0))
        return np.asarray(super().log_characteristic(angle) + np.log(np.maximum(second, _LEAST)))

    def tail(self, z: npt.ArrayLike) -> Floats:
        """P(|Z| > z) is at most what it would be if both were within half of it."""
        half = np.floor(np.asarray(z, dtype=np.float64) / 2)
        return np.asarray(np.minimum(2 * super().tail(half), 1.0))

    def safe_tail(self, count: int) -> int:
        return super().safe_tail(count) + self.reach
