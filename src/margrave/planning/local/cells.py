"""Reports about the whole answer: each tells about every residual below its margin.

    response    the answer itself, or any answer at random: Warner's two coins, for any number of answers
    subset      a set of w answers, more often with the true one in it than not
    unary       a bit for each answer, each flipped by a coin of its own
    hadamard    a column of a Hadamard matrix (`hadamard`)

All have the same form: an answer v is *supported* by a symbol with probability a if it is the true one and b if not,
so ``(number that support v / n − b) / (a − b)`` is an unbiased share of v.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.errors import UsageError
from margrave.noise.tape import Tape
from margrave.planning.local.mechanism import (
    EXACT_CELLS,
    Axes,
    Columns,
    Field,
    Mechanism,
    Symbol,
    chosen_many,
    mask_of,
    multivariate,
)

if TYPE_CHECKING:
    from margrave.noise import Generator


class CellMechanism(Mechanism):
    """What all four have in common."""

    whole: ClassVar[bool] = True

    @property
    @abstractmethod
    def support(self) -> tuple[Fraction, Fraction]:
        """a and b: the chances that an answer is supported, the true one and any other."""

    @abstractmethod
    def supported(self, tally: Integers) -> Integers:
        """For each answer, the number of reports that support it."""

    @abstractmethod
    def covariance(self, shares: Floats) -> Floats:
        """Of which answers one report supports, for somebody from a population with these shares."""

    @property
    def tally_shape(self) -> tuple[int, ...]:
        return (self.cells,)

    @cached_property
    def gap(self) -> Fraction:
        """a − b."""
        return self.support[0] - self.support[1]

    def shares(self, tally: Integers, reports: int) -> Floats:
        rate = self.supported(tally) / reports
        return np.asarray((rate - float(self.support[1])) / float(self.gap)).reshape(self.shape)

    def again(self, shares: Floats, reports: int, normals: Floats) -> Floats:
        flat = shares.ravel()
        if self.cells > EXACT_CELLS:
            size = float(self.spread(tuple(range(len(self.shape))))) / reports
            moved = (normals - normals.mean()) * np.sqrt(size)
            return np.asarray((flat + moved).reshape(self.shape))
        moved = multivariate(self.covariance(flat), normals)
        return np.asarray((flat + moved / float(self.gap) / np.sqrt(reports)).reshape(self.shape))


class Exchangeable(CellMechanism):
    """One that treats all answers but the true one alike: its noise is alike in all directions."""

    @property
    @abstractmethod
    def together(self) -> tuple[Fraction, Fraction]:
        """The chances that two answers are both supported: where the true one is among them, and where it is not."""

    @property
    @abstractmethod
    def moments(self) -> tuple[Fraction, Fraction]:
        """The mean of the number of supported answers, and of its square."""

    def supported(self, tally: Integers) -> Integers:
        return tally

    @cached_property
    def norm(self) -> Fraction:
        """The mean squared length of one report's centred table: (E m − E m²/K)/(a − b)², m answers supported."""
        mean, square = self.moments
        return (mean - square / self.cells) / self.gap**2

    def spread(self, axes: Axes) -> Fraction:
        outside = prod(size for axis, size in enumerate(self.shape) if axis not in axes)
        return self.norm / (self.cells - 1) * outside

    def seconds(self, weights: Floats) -> Floats:
        own, other = map(float, self.support)
        near, far = map(float, self.together)
        total = weights.sum(axis=1, keepdims=True)
        every = (other - far) * (weights**2).sum(axis=1, keepdims=True) + (far - other**2) * total**2
        mixed = 2 * (near - far - other * (own - other)) * total * weights
        return np.asarray((every + mixed + (own - other - 2 * (near - far)) * weights**2) / (own - other) ** 2)

    def rate(self, shares: Floats) -> Floats:
        """How likely each answer is to be supported."""
        return np.asarray(float(self.support[1]) + float(self.gap) * shares)

    def covariance(self, shares: Floats) -> Floats:
        near, far = map(float, self.together)
        rate = self.rate(shares)
        found = far + (near - far) * (shares[:, np.newaxis] + shares) - np.outer(rate, rate)
        found[np.diag_indices_from(found)] = rate * (1 - rate)
        return np.asarray(found)


@dataclass(frozen=True)
class Response(Exchangeable):
    """With probability (e^ε − 1)/(e^ε − 1 + K) the true answer, otherwise any of the K. K = 2: Warner's two coins."""

    name: ClassVar[str] = "response"

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field(self.cells),)

    @cached_property
    def _parts(self) -> tuple[int, int]:
        """Of all draws, those that tell the truth, and those that say each one answer."""
        return self.odds.numerator - self.odds.denominator, self.odds.denominator

    @property
    def _draws(self) -> int:
        return self._parts[0] + self.cells * self._parts[1]

    def encode(self, codes: Sequence[int], tape: Tape) -> Symbol:
        truth, each = self._parts
        drawn = tape.below(self._draws)
        return (self.cell(codes) if drawn < truth else (drawn - truth) // each,)

    def encode_many(self, codes: Integers, generator: Generator) -> Columns:
        truth, each = self._parts
        drawn = generator.below(self._draws, len(codes))
        return [np.where(drawn < truth, cell_numbers(codes, self.shape), (drawn - truth) // each)]

    def symbols(self) -> Iterator[Symbol]:
        return ((number,) for number in range(self.cells))

    def chance(self, codes: Sequence[int], symbol: Symbol) -> Fraction:
        return self.support[symbol[0] != self.cell(codes)]

    @cached_property
    def support(self) -> tuple[Fraction, Fraction]:
        truth, each = self._parts
        return Fraction(truth + each, self._draws), Fraction(each, self._draws)

    @property
    def together(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(0)

    @property
    def moments(self) -> tuple[Fraction, Fraction]:
        return Fraction(1), Fraction(1)

    def tally(self, columns: Columns) -> Integers:
        return np.bincount(columns[0], minlength=self.cells).astype(np.int64)


@dataclass(frozen=True)
class Subset(Exchangeable):
    """A set of ``w`` answers; sets that hold the true one are e^ε times as likely as those that do not."""

    w: int = 0
    name: ClassVar[str] = "subset"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.w == 0:
            object.__setattr__(self, "w", self._best())
        if not 1 <= self.w < self.cells:
            raise UsageError("a set to report has at least one answer, and not all of them")

    def _best(self) -> int:
        """The size with the least variance, which is near K/(e^ε + 1)."""
        about = int(self.cells / (1 + self.odds.ratio))
        near = {min(max(size, 1), self.cells - 1) for size in range(about - 1, about + 3)}
        return min(sorted(near), key=lambda size: Subset(self.shape, self.odds, size).norm)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field(self.cells, mask=True, chosen=self.w),)

    def extra(self) -> dict[str, int]:
        return {"w": self.w}

    @property
    def _parts(self) -> tuple[int, int]:
        """Of all draws, those for sets with the true answer, and those for sets without it."""
        return self.w * self.odds.numerator, (self.cells - self.w) * self.odds.denominator

    def encode(self, codes: Sequence[int], tape: Tape) -> Symbol:
        own, inside = self.cell(codes), tape.below(sum(self._parts)) < self._parts[0]
        others = tape.chosen(self.cells - 1, self.w - inside)
        low = others & ((1 << own) - 1)
        return ((others - low) << 1 | low | inside << own,)

    def encode_many(self, codes: Integers, generator: Generator) -> Columns:
        own = cell_numbers(codes, self.shape)
        inside = generator.below(sum(self._parts), len(own)) < self._parts[0]
        others = chosen_many(self.w - inside.astype(np.int64), self.cells - 1, generator)
        places = np.arange(self.cells - 1) + (np.arange(self.cells - 1) >= own[:, np.newaxis])
        found = np.zeros((len(own), self.cells), dtype=bool)
        np.put_along_axis(found, places, others, axis=1)
        found[np.arange(len(own)), own] = inside
        return [found]

    def symbols(self) -> Iterator[Symbol]:
        return ((mask_of(bits),) for bits in combinations(range(self.cells), self.w))

    def chance(self, codes: Sequence[int], symbol: Symbol) -> Fraction:
        inside = symbol[0] >> self.cell(codes) & 1
        sets = comb(self.cells - 1, self.w - inside)
        return Fraction(self._parts[1 - inside], sum(self._parts) * sets)

    @cached_property
    def support(self) -> tuple[Fraction, Fraction]:
        own = Fraction(self._parts[0], sum(self._parts))
        return own, (self.w - own) / (self.cells - 1)

    @cached_property
    def together(self) -> tuple[Fraction, Fraction]:
        own, rest = self.support[0], self.cells - 1
        near = own * Fraction(self.w - 1, rest)
        if rest < 2:
            return near, Fraction(0)
        pairs = own * comb(self.w - 1, 2) + (1 - own) * comb(self.w, 2)
        return near, pairs / comb(rest, 2)

    @property
    def moments(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.w), Fraction(self.w**2)

    def tally(self, columns: Columns) -> Integers:
        return np.asarray(columns[0].sum(axis=0, dtype=np.int64))


@dataclass(frozen=True)
class Unary(Exchangeable):
    """Optimised unary encoding: the bit of the true answer is a fair coin, every other is set with 1/(e^ε + 1)."""

    name: ClassVar[str] = "unary"

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field(self.cells, mask=True),)

    def encode(self, codes: Sequence[int], tape: Tape) -> Symbol:
        own, found = self.cell(codes), 0
        for place in range(self.cells):
            heads = tape.below(2) if place == own else tape.below(self._draws) < self.odds.denominator
            found |= int(heads) << place
        return (found,)

    @property
    def _draws(self) -> int:
        return self.odds.numerator + self.odds.denominator

    def encode_many(self, codes: Integers, generator: Generator) -> Columns:
        drawn = generator.below(self._draws, len(codes) * self.cells).reshape(len(codes), self.cells)
        found = drawn < self.odds.denominator
        found[np.arange(len(codes)), cell_numbers(codes, self.shape)] = generator.below(2, len(codes)) == 1
        return [found]

    def symbols(self) -> Iterator[Symbol]:
        return ((mask,) for mask in range(1 << self.cells))

    def chance(self, codes: Sequence[int], symbol: Symbol) -> Fraction:
        others = symbol[0] & ~(1 << self.cell(codes))
        set_bits = others.bit_count()
        flipped = self.support[1]
        return Fraction(1, 2) * flipped**set_bits * (1 - flipped) ** (self.cells - 1 - set_bits)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        return Fraction(1, 2), Fraction(self.odds.denominator, self._draws)

    @property
    def together(self) -> tuple[Fraction, Fraction]:
        own, other = self.support
        return own * other, other * other

    @property
    def moments(self) -> tuple[Fraction, Fraction]:
        own, other = self.support
        mean = own + (self.cells - 1) * other
        return mean, own * (1 - own) + (self.cells - 1) * other * (1 - other) + mean**2

    def tally(self, columns: Columns) -> Integers:
        return np.asarray(columns[0].sum(axis=0, dtype=np.int64))


def cell_numbers(codes: Integers, shape: tuple[int, ...]) -> Integers:
    """The number of each answer among all."""
    return np.asarray(np.ravel_multi_index(tuple(codes.T), shape), dtype=np.int64)
