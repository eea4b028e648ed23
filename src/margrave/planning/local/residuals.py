"""Reports about one residual alone: what a few answers say together that no fewer of them say.

    signs      the product of a sign for each answer, flipped by a coin; of two values the sign is ±1, of more values
               it is drawn on the device which half of them has +
    modular    y₁ + c₂y₂ + c₃y₃ … mod k with random c ≠ 0, for attributes of one prime size k, reported as a subset

The signs and the c are drawn independently of the answers and are part of the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import comb, prod
from typing import Any, ClassVar

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.residual import centre
from margrave.errors import UsageError
from margrave.noise import Generator
from margrave.noise.tape import Tape
from margrave.planning.local.cells import Response, Subset
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


class ResidualMechanism(Mechanism):
    """What the two have in common: in the mean over the answers, noise that is alike in all directions."""

    whole: ClassVar[bool] = False

    def told(self, weights: Floats) -> Floats:
        """What is centred along every attribute."""
        return _centred(weights.reshape(-1, *self.shape), 1).reshape(len(weights), -1)

    def again(self, shares: Floats, reports: int, normals: Floats) -> Floats:
        """With a second moment of σ²·I on the residual, the covariance is that less the residual's own square."""
        residual, noise = _centred(shares), _centred(normals.reshape(self.shape))
        spread = float(self.spread(tuple(range(len(self.shape)))))
        length = float((residual**2).sum())
        if length > 0:
            along = float((noise * residual).sum()) / length * residual
            noise = noise - (1 - np.sqrt(max(1 - length / spread, 0.0))) * along
        return np.asarray(residual + noise * np.sqrt(spread / reports))


@dataclass(frozen=True)
class Signs(ResidualMechanism):
    """The product over the attributes of ±1, told truly with probability e^ε/(e^ε + 1)."""

    name: ClassVar[str] = "signs"

    @cached_property
    def _wide(self) -> Axes:
        """The attributes of more than two values, whose signs are drawn."""
        return tuple(axis for axis, size in enumerate(self.shape) if size > 2)

    @cached_property
    def _coin(self) -> Response:
        return Response((2,), self.odds)

    @property
    def fields(self) -> tuple[Field, ...]:
        sizes = (self.shape[axis] for axis in self._wide)
        return (*(Field(size, mask=True, chosen=size // 2) for size in sizes), Field(2))

    @property
    def tally_shape(self) -> tuple[int, ...]:
        return self.shape

    def encode(self, codes: Sequence[int], tape: Tape) -> Symbol:
        plus = [tape.chosen(self.shape[axis], self.shape[axis] // 2) for axis in self._wide]
        return (*plus, *self._coin.encode((self._minus(codes, plus),), tape))

    def _minus(self, codes: Sequence[int], plus: Sequence[int]) -> int:
        """1 where the product of the signs is −1: of two values the second has −, of more those outside the mask."""
        masks = dict(zip(self._wide, plus, strict=True))
        return sum(1 - (masks.get(axis, 1) >> code & 1) for axis, code in enumerate(codes)) & 1

    def encode_many(self, codes: Integers, generator: Generator) -> Columns:
        plus: list[Any] = []
        minus = np.zeros(len(codes), dtype=np.int64)
        for axis, size in enumerate(self.shape):
            if size == 2:
                minus += codes[:, axis]
                continue
            plus.append(chosen_many(np.full(len(codes), size // 2), size, generator))
            minus += ~plus[-1][np.arange(len(codes)), codes[:, axis]]
        return [*plus, *self._coin.encode_many((minus & 1)[:, np.newaxis], generator)]

    def symbols(self) -> Iterator[Symbol]:
        halves = [
            [mask_of(bits) for bits in combinations(range(k), k // 2)] for k in map(self.shape.__getitem__, self._wide)
        ]
        return ((*plus, bit) for plus in product(*halves) for bit in (0, 1))

    def chance(self, codes: Sequence[int], symbol: Symbol) -> Fraction:
        masks = prod(comb(self.shape[axis], self.shape[axis] // 2) for axis in self._wide)
        return self._coin.chance((self._minus(codes, symbol[:-1]),), symbol[-1:]) / masks

    def tally(self, columns: Columns) -> Integers:
        """For each answer, the reported signs times the signs that were drawn for it, added up."""
        signs = 1 - 2 * columns[-1].astype(np.float64)
        plus = iter(columns[:-1])
        found = signs[np.newaxis, :]
        # Sums of ±1 are exact in floating point, whose matrix product is much faster.
        for axis, size in enumerate(self.shape):
            rows = np.array([[1.0], [-1.0]]) if size == 2 else np.where(next(plus).T, 1.0, -1.0)
            if axis == len(self.shape) - 1:
                rows = np.broadcast_to(rows, (size, len(signs)))
                return np.asarray(np.rint(found @ rows.T), dtype=np.int64).reshape(self.shape)
            found = (found[:, np.newaxis] * rows).reshape(-1, len(signs))
        raise AssertionError("a margin has an attribute")

    def shares(self, tally: Integers, reports: int) -> Floats:
        factor = float(self.odds.gain / prod(map(_echo, self.shape)))
        return _centred(tally.astype(np.float64) * (factor / reports))

    def seconds(self, weights: Floats) -> Floats:
        length = (weights**2).sum(axis=1, keepdims=True)
        return np.broadcast_to(length * float(self.spread(tuple(range(len(self.shape))))), weights.shape)

    def spread(self, axes: Axes) -> Fraction:
        return self.odds.gain**2 / prod(map(_echo, self.shape))


@dataclass(frozen=True)
class Modular(ResidualMechanism):
    """A sum of the answers modulo their prime number of values, with random factors, reported as a subset."""

    name: ClassVar[str] = "modular"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not modular_applies(self.shape):
            raise UsageError("sums modulo k need two attributes or more, all with the same prime number of values")

    @property
    def size(self) -> int:
        return self.shape[0]

    @cached_property
    def _factors(self) -> int:
        """How many factors are drawn: the first is 1."""
        return len(self.shape) - 1

    @cached_property
    def _subset(self) -> Subset:
        return Subset((self.size,), self.odds)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (*(Field(self.size, least=1) for _ in range(self._factors)), *self._subset.fields)

    def extra(self) -> dict[str, int]:
        return self._subset.extra()

    @property
    def tally_shape(self) -> tuple[int, ...]:
        return (*(self.size - 1 for _ in range(self._factors)), self.size)

    def encode(self, codes: Sequence[int], tape: Tape) -> Symbol:
        factors = [1 + tape.below(self.size - 1) for _ in range(self._factors)]
        return (*factors, *self._subset.encode((self._sum(codes, factors),), tape))

    def _sum(self, codes: Sequence[int], factors: Sequence[int]) -> int:
        return sum(factor * code for factor, code in zip((1, *factors), codes, strict=True)) % self.size

    def encode_many(self, codes: Integers, generator: Generator) -> Columns:
        factors = [1 + generator.below(self.size - 1, len(codes)) for _ in range(self._factors)]
        rows = [codes[:, 0], *(factor * codes[:, 1 + axis] for axis, factor in enumerate(factors))]
        sums = np.sum(rows, axis=0) % self.size
        return [*factors, *self._subset.encode_many(sums[:, np.newaxis], generator)]

    def symbols(self) -> Iterator[Symbol]:
        factors = product(range(1, self.size), repeat=self._factors)
        return ((*one, *last) for one in factors for last in self._subset.symbols())

    def chance(self, codes: Sequence[int], symbol: Symbol) -> Fraction:
        last = self._subset.chance((self._sum(codes, symbol[:-1]),), symbol[-1:])
        return last * Fraction(1, (self.size - 1) ** self._factors)

    def tally(self, columns: Columns) -> Integers:
        found = np.zeros((prod(self.tally_shape[:-1]), self.size), dtype=np.int64)
        numbers = np.ravel_multi_index(tuple(one - 1 for one in columns[:-1]), self.tally_shape[:-1])
        for value in range(self.size):
            found[:, value] = np.bincount(numbers[columns[-1][:, value]], minlength=len(found))
        return found.reshape(self.tally_shape)

    def _sums(self) -> Iterator[tuple[Symbol, Integers]]:
        """For every choice of factors the sum of each answer."""
        codes = np.indices(self.shape)
        for factors in product(range(1, self.size), repeat=self._factors):
            yield factors, (codes[0] + sum(one * codes[1 + axis] for axis, one in enumerate(factors))) % self.size

    @cached_property
    def _scale(self) -> float:
        """Each sum is seen by one in (k − 1)^(d−1) respondents, and k^(d−1) answers have it."""
        return float(Fraction((self.size - 1) ** self._factors, self.size**self._factors) / self._subset.gap)

    def shares(self, tally: Integers, reports: int) -> Floats:
        found = np.zeros(self.shape)
        for factors, sums in self._sums():
            found += tally[tuple(one - 1 for one in factors)][sums]
        return _centred(found * (self._scale / reports))

    def seconds(self, weights: Floats) -> Floats:
        """Of the sum with each choice of factors, which are equally likely, as of a subset of its k values."""
        found = np.zeros(weights.shape)
        for _, sums in self._sums():
            places = np.eye(self.size)[sums.ravel()]
            found += self._subset.seconds(weights @ places)[:, sums.ravel()]
        scale = self._scale * float(self._subset.gap)
        return np.asarray(found * (scale**2 / (self.size - 1) ** self._factors))

    def again(self, shares: Floats, reports: int, normals: Floats) -> Floats:
        """By the exact covariance: only for answers that are spread evenly is the second moment alike everywhere."""
        if self.cells > EXACT_CELLS:
            return super().again(shares, reports, normals)
        moved = multivariate(self.covariance(shares), normals) / np.sqrt(reports)
        return np.asarray(_centred(shares) + moved.reshape(self.shape))

    def covariance(self, shares: Floats) -> Floats:
        """Of one report's estimate of the residual, for somebody from a population with these shares."""
        found = np.zeros((self.cells, self.cells))
        for _, sums in self._sums():
            places = np.eye(self.size)[sums.ravel()]
            own = shares.ravel() @ places
            rate = self._subset.rate(own)
            found += places @ (self._subset.covariance(own) + np.outer(rate, rate)) @ places.T
        second = self.told(self.told(found).T) * (self._scale**2 / (self.size - 1) ** self._factors)
        residual = _centred(shares).ravel()
        return np.asarray(second - np.outer(residual, residual))

    def spread(self, axes: Axes) -> Fraction:
        size, more = self.size, self._factors
        found: Fraction = self._subset.norm * Fraction((size - 1) ** (more - 1), size**more)
        return found


def modular_applies(shape: tuple[int, ...]) -> bool:
    """Whether all sizes are one prime above 2 (for 2, signs do the same)."""
    size = shape[0]
    prime = size > 2 and all(size % divisor for divisor in range(2, int(size**0.5) + 1))
    return len(shape) > 1 and set(shape) == {size} and prime


def _echo(size: int) -> Fraction:
    """α with E h(x)(h(y) − mean) = α(1[x = y] − 1/k) for signs h, half of them + (of an odd k, one fewer than half)."""
    return Fraction(size, size - 1) if size % 2 == 0 else Fraction(size + 1, size)


def _centred(values: Floats, first: int = 0) -> Floats:
    """Centred along every axis from the first on."""
    for axis in range(first, values.ndim):
        values = centre(values, axis)
    return values
