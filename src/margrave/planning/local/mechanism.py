"""What every way to randomise an answer has in common: its symbols, its exact chances, and what its reports tell.

A mechanism is about a margin: the answers to a few questions of one respondent, as codes. From these and a tape of
random bytes it makes a *symbol*, a tuple of whole numbers. No symbol is more than `odds` times as likely under one
answer as under another; that alone protects her (docs/local.md has the proofs). Reports are added up to a *tally*,
whole numbers again, from which an unbiased table of shares follows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Flags, Floats, Integers
from margrave.errors import UsageError
from margrave.noise.tape import Tape
from margrave.planning.local.odds import Odds

if TYPE_CHECKING:
    from margrave.noise import Generator

Symbol = tuple[int, ...]
Axes = tuple[int, ...]
"""Which attributes of a margin, by position."""
Columns = list[NDArray[Any]]
"""Many symbols, field by field: a row of whole numbers, or for a mask one row of bits for each report."""
EXACT_CELLS = 2048
"""Answers up to which simulated reports have the exact covariance, a matrix of that size."""
_STEPS = 40
"""A third of what is left is cut off so many times: to 10⁻⁷ of where the search began."""


@dataclass(frozen=True)
class Field:
    """One part of a symbol: a number below ``size``, or where ``mask`` a set among ``size`` things.

    ``chosen``: how many things the set has; None where it may have any number. ``least``: the smallest number.
    """

    size: int
    mask: bool = False
    chosen: int | None = None
    least: int = 0

    @property
    def digits(self) -> int:
        """How many hexadecimal digits it is written with."""
        return -(-self.size // 4) if self.mask else max(1, -(-(self.size - 1).bit_length() // 4))

    def holds(self, value: int) -> bool:
        """Whether a number is one that this part can have."""
        if self.mask:
            return 0 <= value < 1 << self.size and self.chosen in (None, value.bit_count())
        return self.least <= value < self.size


@dataclass(frozen=True)
class Mechanism(ABC):
    """A way to randomise the answers to the attributes of a margin with ``shape`` values each."""

    shape: tuple[int, ...]
    odds: Odds

    name: ClassVar[str]
    """One word, as plans and pages have it."""
    whole: ClassVar[bool]
    """Whether it tells about every residual below its margin, or only about that of the margin itself."""
    alike: ClassVar[bool] = True
    """Whether every answer is treated as every other: some renaming takes any of them to any other."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        if not self.shape or min(self.shape) < 2:
            raise UsageError("a respondent reports on attributes of two values or more")

    @cached_property
    def cells(self) -> int:
        """K: the number of answers there are."""
        return prod(self.shape)

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """What a symbol consists of."""

    @property
    @abstractmethod
    def tally_shape(self) -> tuple[int, ...]:
        """The shape of the whole numbers that reports are added up to."""

    @abstractmethod
    def encode(self, codes: Sequence[int], tape: Tape) -> Symbol:
        """The symbol of one respondent."""

    @abstractmethod
    def encode_many(self, codes: Integers, generator: Generator) -> Columns:
        """The symbols of many respondents, a row of ``codes`` each, for experiments."""

    @abstractmethod
    def symbols(self) -> Iterator[Symbol]:
        """Every symbol there is."""

    @abstractmethod
    def chance(self, codes: Sequence[int], symbol: Symbol) -> Fraction:
        """The exact probability of a symbol."""

    @abstractmethod
    def tally(self, columns: Columns) -> Integers:
        """Many symbols added up."""

    @abstractmethod
    def shares(self, tally: Integers, reports: int) -> Floats:
        """A table over the margin whose residuals, those that the mechanism tells about, are unbiased."""

    @abstractmethod
    def spread(self, axes: Axes) -> Fraction:
        """σ²_T of one report about the residual of some attributes: its second moment for each dimension.

        The variance over respondents drawn from a population is this less the square of the residual itself.
        """

    @abstractmethod
    def seconds(self, weights: Floats) -> Floats:
        """The mean square of one report's sums Σ_v w(v)·share(v), for each answer that may be the true one.

        ``weights``: a row of a number for each answer, for each sum, of which the mechanism tells all (`told`).
        """

    def told(self, weights: Floats) -> Floats:
        """The part of sums over the answers that reports tell about: all of it, for reports about the whole answer."""
        return weights

    def variances(self, weights: Floats, shares: Floats) -> Floats:
        """The variance of one report's sums, for somebody drawn from a population with these shares.

        The population's sampling is part of it.
        """
        told, flat = self.told(weights), shares.ravel()
        return np.asarray(np.maximum(self.seconds(told) @ flat - (told @ flat) ** 2, 0.0))

    def largest(self, weights: Floats) -> Floats:
        """The largest such variance, whatever the population.

        With c(v) the mean squares and w(v) the weights it is max_x c·x − (w·x)² over all shares x, which is
        min_λ max_v c(v) − 2λw(v) + λ²: whichever λ is taken, nothing is larger than what follows from it.
        """
        told = self.told(weights)
        seconds, low, high = self.seconds(told), told.min(axis=1), told.max(axis=1)

        def bound(level: Floats) -> Floats:
            return np.asarray((seconds - 2 * level[:, np.newaxis] * told).max(axis=1) + level**2)

        for _ in range(_STEPS):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            less = bound(left) <= bound(right)
            low, high = np.where(less, low, left), np.where(less, right, high)
        return bound((low + high) / 2)

    @abstractmethod
    def again(self, shares: Floats, reports: int, normals: Floats) -> Floats:
        """What `shares` would be for so many respondents of a population with these shares, in large numbers.

        ``normals``: as many standard normal numbers as the margin has cells.
        """

    def extra(self) -> dict[str, int]:
        """What a mechanism is beside its sizes and its odds, for a device that makes its reports."""
        return {}

    @property
    def digits(self) -> int:
        """How many hexadecimal digits a symbol is written with."""
        return sum(field.digits for field in self.fields)

    def written(self, symbol: Symbol) -> str:
        """A symbol as text."""
        return "".join(f"{value:0{field.digits}x}" for field, value in zip(self.fields, symbol, strict=True))

    def cell(self, codes: Sequence[int]) -> int:
        """The number of an answer among all."""
        return int(np.ravel_multi_index(tuple(codes), self.shape))

    def tells(self, axes: Axes) -> bool:
        """Whether a report says something about the residual of some attributes."""
        return self.whole or len(axes) == len(self.shape)


def multivariate(covariance: Floats, normals: Floats) -> Floats:
    """Normal numbers with a covariance, made of standard ones."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors @ (np.sqrt(np.maximum(values, 0.0)) * normals))


def mask_of(bits: Collection[int]) -> int:
    """The mask with these bits set."""
    return sum(1 << place for place in bits)


def masked(values: Sequence[int], size: int) -> Flags:
    """Masks as rows of bits."""
    width = (size + 7) // 8
    packed = np.frombuffer(b"".join(value.to_bytes(width, "little") for value in values), dtype=np.uint8)
    return np.unpackbits(packed.reshape(-1, width), axis=1, count=size, bitorder="little").astype(bool)


def chosen_many(sizes: Integers, size: int, generator: Generator) -> Flags:
    """For each row a set of ``sizes[i]`` among ``size`` things, each such set being as likely as any other.

    The things of the smallest of 64-bit words, drawn again for rows where two words are equal.
    """
    words = generator.words(len(sizes) * size).reshape(len(sizes), size)
    while True:
        order = np.sort(words, axis=1)
        tied = np.flatnonzero((order[:, 1:] == order[:, :-1]).any(axis=1))
        if not tied.size:
            break
        words[tied] = generator.words(len(tied) * size).reshape(len(tied), size)
    ranks = np.argsort(np.argsort(words, axis=1), axis=1)
    return np.asarray(ranks < sizes[:, np.newaxis])
