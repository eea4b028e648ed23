"""The distribution of a weighted sum of independent noise, by inverting its characteristic function.

A published cell is such a sum. ±1.96 standard deviations would cover 93.7 % of a Laplace distribution, not 95 %, so
error bars and forecasts come from the distribution itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, inf, pi, sqrt

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.errors import UsageError
from margrave.noise.family import Noise
from margrave.noise.values import COARSE, QUICK, BinnedSum, Draws, ListedSum

_SMOOTHING = 0.005
"""A little Gaussian blur, in standard deviations, makes the distribution of a sum continuous and its characteristic
function vanish beyond a known frequency. Where no single value weighs much, it moves a half-width by about one part in
80,000, outwards. Where one does that it would hide, half-widths get three times as much as room, unless all values
can be listed."""
_ROOM = 3
_SHARP = _SMOOTHING / 16
"""The blur where it has to be told whether a distance is enough."""
_SURELY = 7
"""No more than 3e-12 of a blur lies further out, in its standard deviations. With what the inversion leaves out, this
is less than `_CERTAIN`."""
_CERTAIN = 1e-9
_EVEN = 1.5
"""Where the probability on both sides of a point differs by less than this factor, no single value weighs much."""
_FINEST = 1 << 10
"""A sum on a lattice finer than so many steps to the standard deviation is as good as smooth, but for its last step."""
_SAME = 1e-9
"""Weights that differ by less, relative to the largest, are taken to be the same: they come from double precision."""
_SMALL = 1e-5
"""Terms that are smaller, in standard deviations, are next to nothing: 40 times as much is the most they add."""
_FEW_TERMS, _MANY_TERMS = 64, 1024
_NOTHING = -50.0
"""The logarithm of a number that is as good as zero."""
_SPAN = 60.0
"""Half the period of the inversion in standard deviations: far beyond any quantile that is asked for."""


@dataclass(frozen=True)
class Term:
    """``count`` independent draws of the same noise, each times ``weight``."""

    weight: float
    count: int
    noise: Noise


@dataclass(frozen=True)
class WeightedSum:
    """The sum of all terms: symmetric about zero. No terms: the constant zero.

    ``blur``: how much its distribution is blurred, in standard deviations, where it is on no coarse lattice.
    """

    terms: tuple[Term, ...]
    blur: float = _SMOOTHING

    @classmethod
    def of(cls, terms: Sequence[Term]) -> WeightedSum:
        """The sum of the terms that are not zero; where there are many, equal ones are counted together."""
        found = tuple(term for term in terms if term.weight and term.count)
        if len(found) <= _MANY_TERMS:
            return cls(found)
        counts: Counter[tuple[float, Noise]] = Counter()
        for term in found:
            counts[float(f"{term.weight:.12g}"), term.noise] += term.count
        return cls(tuple(Term(weight, count, noise) for (weight, noise), count in counts.items()))

    @cached_property
    def variance(self) -> float:
        return sum(term.count * term.weight**2 * term.noise.variance for term in self.terms)

    @cached_property
    def _frequencies(self) -> tuple[Floats, Floats]:
        """Frequencies in units of 1/σ, and the characteristic function there (of the standardised, blurred sum)."""
        step = pi / _SPAN
        frequency = np.asarray(step * (np.arange(int(6 / self.blur / step)) + 0.5), dtype=np.float64)
        scale = 1 / sqrt(self.variance)
        log: Floats = np.asarray(-0.5 * (self.blur * frequency) ** 2, dtype=np.float64)
        if len(self.terms) > _FEW_TERMS:
            return frequency, np.exp(self._added(log, scale * frequency))
        left = slice(None) if len(self.terms) == 1 else np.arange(len(log))
        for number, term in enumerate(self.terms, 1):
            log[left] = log[left] + term.count * term.noise.log_characteristic(term.weight * scale * frequency[left])
            if not isinstance(left, slice) and number & (number - 1) == 0:  # after 1, 2, 4, 8 … terms
                left = left[log[left] > _NOTHING]
        return frequency, np.asarray(np.exp(log), dtype=np.float64)

    def _added(self, log: Floats, frequency: Floats) -> Floats:
        """The logarithm of the characteristic function of many terms, the largest first.

        No term can raise it, so a frequency at which it is as good as zero is not looked at again.
        """
        left = np.arange(len(log))
        largest = sorted(self.terms, key=lambda term: -term.count * term.weight**2 * term.noise.variance)
        for number, term in enumerate(largest):
            log[left] += term.count * term.noise.log_characteristic(term.weight * frequency[left])
            if number % _FEW_TERMS == 0:
                left = left[log[left] > _NOTHING]
        return log

    @cached_property
    def _kernel(self) -> tuple[Floats, Floats]:
        """The frequencies that matter, and their weights in the inversion formula (2/π) ∫ sin(th) φ(t)/t dt."""
        frequency, characteristic = self._frequencies
        matters = characteristic > 1e-14
        return frequency[matters], 2 / _SPAN * characteristic[matters] / frequency[matters]

    @cached_property
    def step(self) -> float | None:
        """The step of the lattice that holds every value of the sum; None where that is no coarser than the noise."""
        weights = {abs(term.weight) for term in self.terms}
        largest = max(weights, default=0.0)
        nothing = largest * _SAME
        lost = sum(
            term.count * term.weight**2 * term.noise.variance for term in self.terms if abs(term.weight) <= nothing
        )
        found = 0.0
        for weight in weights:
            found = _common(found, weight, nothing)
        if not weights or found < largest * sqrt(_SAME) or lost > _SAME**2 * self.variance:
            return None
        near = float(Fraction(found).limit_denominator(1 << 20))
        return near if abs(near - found) <= found * _SAME else found

    @property
    def _parts(self) -> int:
        """How many steps of the lattice hold all but next to nothing of the sum."""
        return max(_FEW_TERMS, ceil(_SPAN * sqrt(self.variance) / (self.step or inf)))

    @cached_property
    def _lattice(self) -> tuple[Floats, Floats] | None:
        """The same for the sum in steps of a coarse lattice: P(|X| ≤ m steps) is exact, but for what is 60σ away.

        Frequencies are taken at the middle of equal parts of half a turn, with the weights of the inversion formula
        (1/π) ∫ φ(t) sin((m + ½)t)/sin(t/2) dt.
        """
        if self.step is None or sqrt(self.variance) > _FINEST * self.step:
            return None
        parts = self._parts
        frequency = np.asarray(pi / parts * (np.arange(parts) + 0.5), dtype=np.float64)
        log: Floats = np.zeros(parts)
        for term in self.terms:
            log = log + term.count * term.noise.log_characteristic(round(term.weight / self.step) * frequency)
        weight = np.exp(log) / (parts * np.sin(frequency / 2))
        matters = weight > 1e-18
        return frequency[matters], np.asarray(weight[matters])

    def within(self, half_width: float) -> float:
        """P(|X| ≤ half_width); up to the blur where the sum is on no coarse lattice."""
        if not self.terms:
            return 1.0
        if self._lattice is not None and self.step is not None:
            turn, part = self._lattice
            # Beyond half the period there is nothing, but the formula would come round again.
            steps = min(floor(half_width / self.step + sqrt(_SAME)), self._parts)
            return float(min(max((np.sin((steps + 0.5) * turn) * part).sum(), 0.0), 1.0))
        frequency, weight = self._kernel
        inside = (np.sin(frequency * min(half_width / sqrt(self.variance), _SPAN)) * weight).sum()
        return float(min(max(inside, 0.0), 1.0))

    def half_width(self, level: float) -> float:
        """The smallest h with P(|X| ≤ h) ≥ level: a value of the sum where it has few of them or is on a lattice."""
        if not 0 < level < 1:
            raise UsageError(f"a level ({level}) must lie between 0 and 1")
        if not self.terms:
            return 0.0
        if self._lattice is not None and self.step is not None:
            return self._least(level) * self.step
        if self._few_values is not None and (found := self._few_values.half_width(level)) is not None:
            return found + self._small
        reached = self._reached(level)
        if self.step is not None:
            # Up to half a step beyond the value is nearer to it than to the next one.
            return ceil(reached / self.step - 0.5) * self.step
        if self._smooth(reached):
            return reached
        found = None if self._values is None else self._values.half_width(level)
        return reached + _ROOM * self.blur * sqrt(self.variance) if found is None else found + self._small

    def reaches(self, half_width: float, level: float) -> bool:
        """Whether P(|X| ≤ half_width) ≥ level: never said where it is not so, but for rounding of the half-width.

        On a coarse lattice, and where all values can be listed, it is said wherever it is so; in bins wherever a hair
        less would do, too. Before, a blurred sum is asked, which is quick: a blur B is at most b but for next to
        nothing, so that P(|X + B| ≤ h − b) ≤ P(|X| ≤ h) ≤ P(|X + B| ≤ h + b).
        """
        if not self.terms or self._lattice is not None:
            return self.within(half_width) >= level
        if self._few_values is not None:
            return self._few_values.within(half_width - self._small) >= level
        room = _SURELY * self.blur * sqrt(self.variance)
        if self.within(half_width - room) >= level + _CERTAIN:
            return True
        if self.within(half_width + room) < level - _CERTAIN:
            return False
        coarse = BinnedSum.of(self._draws, COARSE)
        less, more = half_width - self._small, half_width + self._small
        if coarse is not None and (coarse.within(less) >= level or coarse.at_most(more) < level):
            return coarse.within(less) >= level
        listed = self._values or (coarse and BinnedSum.of(self._draws))
        if listed is not None:
            return listed.within(less) >= level
        sharp, room = replace(self, blur=_SHARP), _SURELY * _SHARP * sqrt(self.variance)
        return sharp.within(half_width - room) >= level + _CERTAIN

    @cached_property
    def _draws(self) -> tuple[Draws, ...]:
        """What is drawn, but for what is `_small`."""
        return tuple(
            (term.weight, term.count, term.noise) for term in self.terms if _variance(term) > _SMALL**2 * self.variance
        )

    @cached_property
    def _small(self) -> float:
        """How much terms that are next to nothing beside the others can add together; in double precision, maybe 0."""
        small = sum(found for term in self.terms if (found := _variance(term)) <= _SMALL**2 * self.variance)
        return 40 * sqrt(small) if small > _SAME**2 * self.variance else 0.0

    @cached_property
    def _few_values(self) -> ListedSum | None:
        """All values of the sum, where there are so few that they are quickly listed."""
        return ListedSum.of(self._draws, QUICK)

    @cached_property
    def _values(self) -> ListedSum | None:
        """All values of the sum, where they can be listed."""
        return self._few_values or ListedSum.of(self._draws)

    def _smooth(self, place: float) -> bool:
        """Whether no single value near a place weighs so much that the blur would hide it."""
        beside, here = _ROOM * self.blur * sqrt(self.variance), self.within(place)
        above, below = self.within(place + beside) - here, here - self.within(place - beside)
        return above < _EVEN * below and below < _EVEN * above

    def _least(self, level: float) -> int:
        """The least number of steps of the lattice that are enough."""
        assert self.step is not None
        low, high = -1, 1
        while self.within(high * self.step) < level and high < _SPAN * _FINEST:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.within(middle * self.step) < level else (low, middle)
        return high

    def _reached(self, level: float) -> float:
        """Where the blurred distribution reaches a level."""
        sigma = sqrt(self.variance)
        low, high = 0.0, sigma
        while self.within(high) < level and high < _SPAN / 2 * sigma:
            low, high = high, 2 * high
        for _ in range(32):
            middle = (low + high) / 2
            low, high = (middle, high) if self.within(middle) < level else (low, middle)
        return high

    def mean_absolute(self) -> float:
        """E|X|."""
        if not self.terms:
            return 0.0
        frequency, characteristic = self._frequencies
        step = pi / _SPAN
        body = ((1 - characteristic) / frequency**2).sum() * step
        tail = 1 / (frequency[-1] + step / 2)
        return float(2 / pi * (body + tail)) * sqrt(self.variance)


def _variance(term: Term) -> float:
    return term.count * term.weight**2 * term.noise.variance


def _common(one: float, other: float, nothing: float) -> float:
    """The largest number that both are multiples of, by Euclid; what is below ``nothing`` is zero."""
    while other > nothing:
        rest = one % other
        one, other = other, min(rest, other - rest)
    return one
