"""Intervals by turning a test round: every value of a number that the evidence does not reject.

At a value ψ, the table that fits best among those with that value is found, and the evidence's distance from it in the
direction of the number is compared with what sampling and noise explain. So standard errors are those at ψ, not at the
estimate: an estimate of zero is not taken to be sure of itself, and where the evidence rejects no large value the
interval has no end.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.special import ndtri

from margrave.algebra.arrays import Floats
from margrave.inference.quasi import FitState, Quantity, Quasi

FAR = 18.0
"""A log odds (ratio) beyond this, odds of 66 million to one, is taken for infinite."""

_EXACT, _TURNS = 0.005, 40


@dataclass(frozen=True, eq=False)
class Contrast:
    """A weighted sum of the logarithms of cells: a log odds, a log odds ratio, an interaction."""

    weights: Floats

    def value(self, logs: Floats) -> float:
        return float(self.weights @ logs)

    def slope(self, logs: Floats) -> Floats:
        return self.weights


@dataclass(frozen=True, eq=False)
class LogOdds:
    """The log odds of falling into a set of cells: ``inside`` is one there and zero elsewhere."""

    inside: Floats

    def value(self, logs: Floats) -> float:
        table = np.exp(logs)
        return float(np.log(self.inside @ table) - np.log((1.0 - self.inside) @ table))

    def slope(self, logs: Floats) -> Floats:
        table = np.exp(logs)
        there, elsewhere = self.inside * table, (1.0 - self.inside) * table
        return np.asarray(there / there.sum() - elsewhere / elsewhere.sum())


def interval(quasi: Quasi, fitted: FitState, target: Quantity, level: float) -> tuple[float, float]:
    """The least and the largest value of a target that a test at the given level does not reject."""
    estimate, error = target.value(fitted.logs), quasi.direction(fitted, target)[1]
    low, high = (_end(quasi, fitted, target, estimate, error, level, side) for side in (-1, 1))
    return low, high


@dataclass
class _Test:
    """Whether a value is rejected on one side: positive when it is not. Each call starts where the last one ended."""

    quasi: Quasi
    target: Quantity
    level: float
    side: int
    theta: Floats

    def __call__(self, value: float) -> float:
        state = self.quasi.solve(self.theta, self.target, value)
        self.theta = state.theta
        distance, skewness, kurtosis = self.quasi.statistic(state, self.target)
        # A value above the estimate has evidence on its negative side.
        return critical(self.level, -self.side * skewness, kurtosis) + self.side * distance


def critical(level: float, skewness: float, kurtosis: float) -> float:
    """The quantile at (1 + level)/2 of a number of variance 1 with small cumulants, by Cornish and Fisher's expansion.

    Cumulants are held within the range where the expansion grows with the level.
    """
    z = float(ndtri((1 + level) / 2))
    third, fourth = float(np.clip(skewness, -1.0, 1.0)), min(kurtosis, 4.0)
    shift = (z**2 - 1) * third / 6 + (z**3 - 3 * z) * fourth / 24 - (2 * z**3 - 5 * z) * third**2 / 36
    return z + shift


def _end(
    quasi: Quasi, fitted: FitState, target: Quantity, estimate: float, error: float, level: float, side: int
) -> float:
    """Where the test begins to reject on one side: by false position between a kept and a rejected value."""
    test = _Test(quasi, target, level, side, fitted.theta)
    inner = outer = estimate
    kept = rejected = test(estimate)
    step = 2.0 * min(max(error, 1e-6), 4.0)
    # The estimate itself may be rejected: it is drawn a little towards zero. Then the end is on its other side.
    while kept <= 0:
        if abs(inner) > FAR:
            return estimate
        inner = estimate - side * step
        kept, step = test(inner), 2.0 * step
    while rejected > 0:
        if abs(outer) > FAR:
            return side * inf
        inner, kept = outer, rejected
        outer = estimate + side * step
        rejected, step = test(outer), 2.0 * step
    for _ in range(_TURNS):
        middle = inner + (outer - inner) * kept / (kept - rejected)
        found = test(middle)
        if abs(found) < _EXACT or abs(outer - inner) < 1e-6:
            break
        # The side that stays is halved, so that both ends move.
        if found > 0:
            inner, kept, rejected = middle, found, rejected / 2
        else:
            outer, rejected, kept = middle, found, kept / 2
    return middle if abs(middle) < FAR else side * inf
