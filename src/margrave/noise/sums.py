"""The distribution of a weighted sum of independent noise, by inverting its characteristic function.

A published cell is such a sum. ±1.96 standard deviations would cover 93.7 % of a Laplace distribution, not 95 %, so
error bars and forecasts come from the distribution itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi, sqrt

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.errors import UsageError
from margrave.noise.family import Noise

_SMOOTHING = 0.005
"""A little Gaussian blur, in standard deviations, makes the distribution of a lattice sum continuous and its
characteristic function vanish beyond a known frequency. Half-widths are given three blurs of room, so that they still
reach the lattice point that they are meant to include."""
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
    """The sum of all terms: symmetric about zero. No terms: the constant zero."""

    terms: tuple[Term, ...]

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
        frequency = np.asarray(step * (np.arange(int(6 / _SMOOTHING / step)) + 0.5), dtype=np.float64)
        scale = 1 / sqrt(self.variance)
        log: Floats = np.asarray(-0.5 * (_SMOOTHING * frequency) ** 2, dtype=np.float64)
        if len(self.terms) > _FEW_TERMS:
            return frequency, np.exp(self._added(log, scale * frequency))
        for term in self.terms:
            log = log + term.count * term.noise.log_characteristic(term.weight * scale * frequency)
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

    def within(self, half_width: float) -> float:
        """P(|X| ≤ half_width), up to the blur."""
        if not self.terms:
            return 1.0
        frequency, weight = self._kernel
        inside = (np.sin(frequency * (half_width / sqrt(self.variance))) * weight).sum()
        return float(min(max(inside, 0.0), 1.0))

    def half_width(self, level: float) -> float:
        """The smallest h, and a hair more, with P(|X| ≤ h) ≥ level."""
        if not 0 < level < 1:
            raise UsageError(f"a level ({level}) must lie between 0 and 1")
        if not self.terms:
            return 0.0
        sigma = sqrt(self.variance)
        low, high = 0.0, sigma
        while self.within(high) < level and high < _SPAN / 2 * sigma:
            low, high = high, 2 * high
        for _ in range(24):
            middle = (low + high) / 2
            if self.within(middle) < level:
                low = middle
            else:
                high = middle
        return high + 3 * _SMOOTHING * sigma

    def mean_absolute(self) -> float:
        """E|X|."""
        if not self.terms:
            return 0.0
        frequency, characteristic = self._frequencies
        step = pi / _SPAN
        body = ((1 - characteristic) / frequency**2).sum() * step
        tail = 1 / (frequency[-1] + step / 2)
        return float(2 / pi * (body + tail)) * sqrt(self.variance)
