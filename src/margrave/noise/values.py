"""A weighted sum of independent noise value by value, where its values can be listed, and in narrow bins where not.

Draws of the same weight are summed first: their sum is a whole number times that weight. The weights are then dealt to
two halves of the sum, and the values of each half are listed with their probabilities. P(|X| ≤ h) is the sum over the
values of one half of what the other holds between −h and h less that value. Only what is far too rare to matter is left
out, and how much that is in all is known, so that a probability is never said to be larger than it is.

Where there are too many, each value of the sum of draws of one weight goes to the nearest of many bins of width s.
With m weights no value of the whole sum moves by more than m·s/2, so P(|X| ≤ h) is at least what the bins hold up to
h − m·s/2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, sqrt

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.noise.family import Noise

MOST = 1 << 16
"""Values of one half, at most."""
QUICK = 1 << 12
"""Up to so many values of a half are listed at once, without asking first whether that is needed."""
_REACH = 40.0
"""A sum of draws lies further out, in standard deviations and two more, with a probability of at most 1e-13."""
COARSE, FINE = 1 << 15, 1 << 20
"""Numbers of bins."""
_SPAN, _WEIGHTS, _WIDEST = 80.0, 64, 1 << 20
"""How many standard deviations the bins span in all, for how many weights they are narrow enough, and how far draws
of one weight may reach."""
_RARE = 1e-18
"""A value of a half with a smaller probability is left out."""
_ROUNDED = 1e-9
"""Values are double precision: those that differ by less, relative to the largest weight, are the same."""
_CERTAIN = 1e-10
"""No probability is too large by more: what transforms round, and what they take from beyond the reach."""

Draws = tuple[float, int, Noise]
"""A weight, how many draws have it, and their noise."""


@dataclass(frozen=True, eq=False)
class ListedSum:
    """Both halves of a sum, each with its values in order and their probabilities."""

    one: tuple[Floats, Floats]
    other: tuple[Floats, Floats]

    @classmethod
    def of(cls, draws: Iterable[Draws], most: int = MOST) -> ListedSum | None:
        """The values of a sum; None where a half would have more than ``most`` of them."""
        found = sorted(_by_weight(draws).items(), key=lambda same: -_reach(same[1]))
        if found and _reach(found[0][1]) > most:
            return None
        halves: list[tuple[Floats, Floats]] = [(np.zeros(1), np.ones(1)), (np.zeros(1), np.ones(1))]
        for weight, same in found:
            part = _summed(weight, same)
            least = min((0, 1), key=lambda index: len(halves[index][0]))
            if len(halves[least][0]) * len(part[0]) > 4 * most:
                return None
            halves[least] = _added(halves[least], part)
        return cls(*halves) if max(len(half[0]) for half in halves) <= most else None

    @property
    def largest(self) -> float:
        """The largest value."""
        return float(self.one[0][-1] + self.other[0][-1])

    def within(self, half_width: float) -> float:
        """P(|X| ≤ half_width), or less by no more than 1e-9."""
        (few, chances), (many, weights) = sorted((self.one, self.other), key=lambda half: len(half[0]))
        below = np.append(0.0, np.cumsum(weights))
        room = half_width + _ROUNDED * max(half_width, 1.0)
        inside = below[np.searchsorted(many, room - few, "right")] - below[np.searchsorted(many, -room - few, "left")]
        return max(float(inside @ chances) - _CERTAIN, 0.0)

    def half_width(self, level: float) -> float | None:
        """The least h with P(|X| ≤ h) ≥ level; None where only values that were left out could tell."""
        low, high = -1.0, self.largest
        if self.within(high) < level:
            return None
        while high - low > _ROUNDED * max(high, 1.0) / 4:
            middle = (low + high) / 2
            low, high = (middle, high) if self.within(middle) < level else (low, middle)
        near = float(round(high))
        return near if abs(high - near) <= 4 * _ROUNDED * max(high, 1.0) else max(high, 0.0)


@dataclass(frozen=True, eq=False)
class BinnedSum:
    """What lies in each of many bins of a width, zero in the middle; ``slack``: how far a value is from its bin."""

    width: float
    slack: float
    chances: Floats

    @classmethod
    def of(cls, draws: Iterable[Draws], number: int = FINE) -> BinnedSum | None:
        """The bins of a sum; None where it has too many weights, or draws of one weight too many values."""
        found = _by_weight(draws)
        if len(found) > _WEIGHTS or any(_reach(same) > _WIDEST for same in found.values()):
            return None
        parts = [_summed(weight, same) for weight, same in found.items()]
        width = _SPAN * sqrt(sum(float(values**2 @ chances) for values, chances in parts)) / number
        spectrum: Floats = np.ones(number // 2 + 1)
        for values, chances in parts:
            places = np.rint(values / width).astype(np.int64) % number
            # Both noise and bins are symmetric, and so the transform is real.
            spectrum = spectrum * np.fft.rfft(np.bincount(places, weights=chances, minlength=number)).real
        return cls(width, len(parts) * width / 2, np.fft.irfft(spectrum, n=number))

    def within(self, half_width: float) -> float:
        """P(|X| ≤ half_width), or less by what lies within twice the slack of that."""
        return max(self._inside(half_width - self.slack) - _CERTAIN, 0.0)

    def at_most(self, half_width: float) -> float:
        """P(|X| ≤ half_width), or more by what lies within twice the slack of that."""
        return min(self._inside(half_width + self.slack) + _CERTAIN, 1.0)

    def _inside(self, half_width: float) -> float:
        """What the bins hold up to a distance."""
        room = half_width + _ROUNDED * max(half_width, 1.0)
        last = min(floor(room / self.width), len(self.chances) // 2 - 1)
        return 0.0 if last < 0 else float(self.chances[0] + 2 * self.chances[1 : last + 1].sum())


def _by_weight(draws: Iterable[Draws]) -> dict[float, list[Draws]]:
    """Draws of the same weight together; every noise is symmetric, so that the sign of a weight says nothing."""
    found: dict[float, list[Draws]] = {}
    for weight, count, noise in draws:
        found.setdefault(float(f"{abs(weight):.11g}"), []).append((weight, count, noise))
    return found


def _reach(same: Sequence[Draws]) -> int:
    """How far draws of one weight reach in all, in whole numbers."""
    return ceil(_REACH * sqrt(sum(count * noise.variance for _, count, noise in same))) + 2


def _summed(weight: float, same: Sequence[Draws]) -> tuple[Floats, Floats]:
    """The values of the sum of all draws of one weight, and their probabilities."""
    reach = _reach(same)
    z = np.arange(-reach, reach + 1)
    spectrum: Floats = np.ones(reach + 1)
    for _, count, noise in same:
        spectrum = spectrum * np.fft.rfft(np.fft.ifftshift(noise.pmf(z))).real ** count
    alone = len(same) == 1 and same[0][1] == 1
    chances = same[0][2].pmf(z) if alone else np.fft.fftshift(np.fft.irfft(spectrum, n=len(z)))
    kept = chances > _RARE if alone else chances > 100 * _RARE
    return np.asarray(weight * z[kept], dtype=np.float64), np.asarray(chances[kept], dtype=np.float64)


def _added(half: tuple[Floats, Floats], part: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """All sums of a value of each, in order."""
    values = np.add.outer(half[0], part[0]).ravel()
    chances = np.multiply.outer(half[1], part[1]).ravel()
    kept = chances > _RARE
    order = np.argsort(values[kept], kind="stable")
    return np.asarray(values[kept][order]), np.asarray(chances[kept][order])
