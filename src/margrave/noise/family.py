"""What all kinds of noise have in common: their interface, their register, and the checks on their parameters.

A kind of noise is a frozen dataclass of exact parameters, in a file of its own, that registers itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, TypeVar

import numpy.typing as npt

from margrave.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from margrave.algebra.arrays import Floats, Integers
    from margrave.noise.generator import Generator


_SHORT = 1 << 40  # numerators and denominators below this are kept as they are
_SIGNIFICANT = 34  # significant bits kept of the others


class Noise(Protocol):
    """A symmetric, unimodal distribution on the integers that can be sampled exactly."""

    kind: ClassVar[str]
    """Its name in bundles and ledgers: never changes."""
    called: ClassVar[str]
    """Its name in tables for people."""
    pure: ClassVar[bool]
    """Whether it pays with a pure ε, for a distance in L1; otherwise with ρ, for a squared distance in L2."""

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        """What its distribution depends on, by name."""

    @classmethod
    def of(cls, **parameters: Fraction) -> Self:
        """The noise with exactly these parameters."""

    def dearer(self, factor: Fraction) -> Self:
        """The same kind of noise at ``factor`` times the price."""

    @staticmethod
    def distance(l1: int, l2_squared: int) -> int:
        """The one of the two distances that its price is proportional to."""

    def price(self, l1: int, l2_squared: int) -> Fraction:
        """What a move by the given distances costs: ε, or ρ."""

    @property
    def fourth_cumulant(self) -> float:
        """E z⁴ − 3·variance²."""

    @property
    def variance(self) -> float:
        """The variance of one draw."""

    def sample(self, size: int, generator: Generator) -> Integers:
        """``size`` independent draws."""

    def pmf(self, z: npt.ArrayLike) -> Floats:
        """P(Z = z) for each z."""

    def log_characteristic(self, t: npt.ArrayLike) -> Floats:
        """log E cos(tZ) for each t; the characteristic function is positive."""

    def tail(self, z: npt.ArrayLike) -> Floats:
        """P(|Z| > z), or an upper bound, for each z >= 0."""

    def safe_tail(self, count: int) -> int:
        """See the function of this name."""


N = TypeVar("N", bound=type[Noise])

NOISES: dict[str, type[Noise]] = {}
"""Every kind of noise by its name in bundles."""


def registered(kind: N) -> N:
    """Enter a kind of noise in the register, by which bundles are read."""
    NOISES[kind.kind] = kind
    return kind


def safe_tail(noise: Noise, count: int) -> int:
    """T such that P(any of ``count`` draws has |Z| > T) < 2^-100, so that n + T < 2^62 can be checked beforehand."""
    return noise.safe_tail(checked_size(count))


def nats_for(count: int) -> Fraction:
    """A rational upper bound on log(count · 2^100), by count < 2^bits and log 2 < 7/10."""
    return Fraction(7, 10) * (count.bit_length() + 100)


def checked_size(size: int) -> int:
    """``size`` if it is a number of draws."""
    if size < 0:
        raise UsageError(f"the number of draws ({size}) must not be negative")
    return size


def checked_parameter(name: str, value: object, least: Fraction, most: Fraction) -> Fraction:
    """``value`` as a Fraction if it is exact and between the two limits, which keep every draw within 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise RefusedError(f"{name} must be a Fraction, not {type(value).__name__}: give Fraction('0.1'), not 0.1")
    if not value > 0:
        raise RefusedError(f"{name} ({value}) must be positive: without noise there is no privacy")
    if not least <= value <= most:
        shown = Decimal(value.numerator) / Decimal(value.denominator)  # a float might overflow here
        raise RefusedError(
            f"{name} ({shown:.4g}) must lie between {float(least):.3g} and {float(most):.3g}, where every draw "
            "fits in 64 bits: change the budget or measure smaller tables"
        )
    return Fraction(value)


def grid_up(value: Fraction) -> Fraction:
    """The value, or the next fraction above it with 34 significant bits if its own numerator or denominator is long."""
    if value.numerator < _SHORT and value.denominator < _SHORT:
        return value
    shift = _SIGNIFICANT - (value.numerator.bit_length() - value.denominator.bit_length())
    step = Fraction(1, 2) ** shift
    return -(-value // step) * step
