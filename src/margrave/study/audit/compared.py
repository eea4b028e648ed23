"""Whole releases of two data sets, scored in two ways: by likelihood, and by two numbers of a release compared.

Noise that two numbers share tells what it should hide. Each of them may have the right distribution, and a score that
looks at them one by one sees nothing. So of all pairs of numbers the one whose noise is equal, or opposite, most often
is chosen on one part of the releases; on the rest it is counted how often the two data sets would make it so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.budget.units import Budget
from margrave.noise import Noise
from margrave.study.audit.bounds import CHOOSING, ShownLoss, loss_at_least
from margrave.study.audit.findings import Effort, Finding
from margrave.study.audit.mechanism import log_ratio

_MOVED, _KEPT = 12, 60
"""So many numbers that the step moves are compared with so many numbers of a release, at most."""


@dataclass(frozen=True, eq=False)
class Watched:
    """Which numbers of a release are compared: their places among all, the answers on the near data set, and how far
    these are moved on the far one."""

    places: Integers
    near: Integers
    change: Integers

    @classmethod
    def of(cls, near: Sequence[Integers], far: Sequence[Integers]) -> Watched:
        """Numbers that are moved, then some of the others, from all over the release."""
        x, y = (np.concatenate([np.ravel(one) for one in side]) for side in (near, far))
        moved, rest = np.flatnonzero(x != y)[:_MOVED], np.flatnonzero(x == y)
        some = rest[np.unique(np.linspace(0, max(0, len(rest) - 1), _KEPT - len(moved)).astype(np.intp))[: len(rest)]]
        places = np.concatenate([moved, some])
        return cls(places, x[places], (y - x)[places])

    def noise(self, outputs: Sequence[Integers]) -> Integers:
        """What a release added to these numbers, if it was of the near data set."""
        return np.asarray(np.concatenate([np.ravel(one) for one in outputs])[self.places] - self.near)


@dataclass(frozen=True)
class _Pair:
    """The noise of one number is ``sign`` times that of another."""

    one: int
    other: int
    sign: int

    def holds(self, noise: Integers) -> Floats:
        return np.asarray(noise[:, self.one] == self.sign * noise[:, self.other], dtype=np.float64)


def shared_noise(stated: Budget, near: Integers, far: Integers, change: Integers, confidence: float) -> ShownLoss:
    """The loss that comparing two numbers shows. ``near``, ``far``: for each release of either data set a row, the
    noise of each number as if it were of the near one; ``change``: what to take off if it is of the far one."""
    first = len(near) // CHOOSING
    pairs = [
        _Pair(one, other, sign)
        for one in np.flatnonzero(change).tolist()
        for other in range(len(change))
        for sign in (1, -1)
        if one != other and change[one] != sign * change[other]
    ]
    if not pairs:
        return ShownLoss(0.0, 0.0, False, 0, 0)
    early = np.concatenate([near[:first], far[:first] - change])
    pair = max(pairs, key=lambda one: float(one.holds(early).mean()))
    scores = [pair.holds(noise) - pair.holds(noise - change) for noise in (near, far)]
    return loss_at_least(stated, scores[0], scores[1], confidence)


class Sampled:
    """Releases of two data sets as they are made. ``times``: how often the stated loss lies between the two."""

    def __init__(
        self, stated: Budget, noises: Sequence[Noise], near: Sequence[Integers], far: Sequence[Integers], times: int = 1
    ) -> None:
        self.stated, self.noises, self.near, self.far, self.times = stated, noises, near, far, times
        self._watched = Watched.of(near, far)
        self._scores: dict[bool, list[float]] = {True: [], False: []}
        self._noise: dict[bool, list[Integers]] = {True: [], False: []}

    def add(self, near: bool, outputs: Sequence[Integers]) -> None:
        """A release of the near data set, or of the far one."""
        whole = zip(self.noises, outputs, self.near, self.far, strict=True)
        ratios = (log_ratio(noise, drawn.reshape(x.shape), x, y).sum() for noise, drawn, x, y in whole)
        self._scores[near].append(float(sum(ratios)))
        self._noise[near].append(self._watched.noise(outputs))

    def findings(self, effort: Effort) -> tuple[Finding, Finding]:
        """What the likelihood shows, and what two numbers show."""
        here, there = (np.array(self._scores[side]) for side in (True, False))
        likely = loss_at_least(self.stated, here, there, effort.confidence)
        near, far = (np.stack(self._noise[side]) for side in (True, False))
        shared = shared_noise(self.stated, near, far, self._watched.change, effort.confidence)
        names = (("releases end to end", likely), ("two numbers compared", shared))
        stated, made = float(self.stated.amount), sum(map(len, self._scores.values()))
        one, other = (Finding(name, "sampled", stated, shown.loss / self.times, made) for name, shown in names)
        return one, other
