"""A lower bound on the privacy loss from samples of two neighbours, by Clopper and Pearson.

An event E with probabilities p on one data set and q on the other shows a loss: ε ≥ log(p/q), ε ≥ log((p − δ)/q) given
δ, and ρ ≥ D_a(p, q)/a for every order a, where D_a is the Rényi divergence of two coins. The most telling event is
chosen on one part of the samples, and p and q are bounded on the rest: choosing costs no confidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from margrave.algebra.arrays import Floats
from margrave.budget.units import Budget

_EVENTS = 200
"""Thresholds that are tried on the first part."""
CHOOSING = 4
"""A quarter of the samples chooses: a bound needs more of them than a choice does."""
_ORDERS = 1 + np.geomspace(1e-3, 1e3, 120)


@dataclass(frozen=True)
class ShownLoss:
    """The loss that an event shows; the event is "the score is at least ``threshold``", or at most if ``below``."""

    loss: float
    threshold: float
    below: bool
    hits: int
    misses: int


def clopper_pearson(hits: npt.ArrayLike, trials: int, error: float) -> tuple[Floats, Floats]:
    """Bounds on a probability from so many hits, each of which fails with probability at most ``error``."""
    k = np.asarray(hits, dtype=np.float64)
    low = np.where(k > 0, beta.ppf(error, np.maximum(k, 0.5), trials - k + 1), 0.0)
    high = np.where(k < trials, beta.ppf(1 - error, k + 1, np.maximum(trials - k, 0.5)), 1.0)
    return low, high


def loss_shown(stated: Budget, low: Floats, high: Floats) -> Floats:
    """The least loss, in the unit of the budget, with events of at least ``low`` here and at most ``high`` there."""
    if stated.parts.rho:
        return _concentrated(low, high)
    above = low - float(stated.delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.where(above > 0, np.log(np.maximum(above, 1e-300)) - np.log(high), -inf)
    return np.asarray(np.maximum(shown, 0.0))


def _concentrated(low: Floats, high: Floats) -> Floats:
    """ρ ≥ log(p^a q^{1−a} + (1−p)^a (1−q)^{1−a})/(a(a−1)): grows with p and falls with q where p > q."""
    telling = low > high
    p, q = np.where(telling, low, 0.5)[:, None], np.where(telling, high, 0.5)[:, None]
    a = _ORDERS[None, :]
    with np.errstate(divide="ignore"):
        first = a * np.log(p) + (1 - a) * np.log(q)
        second = a * np.log1p(-p) + (1 - a) * np.log1p(-q)
    shown = (np.logaddexp(first, second) / (a * (a - 1))).max(axis=1)
    return np.where(telling, np.maximum(shown, 0.0), 0.0)


def loss_at_least(stated: Budget, near: Floats, far: Floats, confidence: float) -> ShownLoss:
    """A lower bound on the loss between two data sets from scores of equally many releases of each.

    It holds with the given confidence. A high score should speak for the first data set; if it does not, the bound is
    low, and still holds.
    """
    first = len(near) // CHOOSING
    error = (1 - confidence) / 2
    best = _choose(stated, near[:first], far[:first], error)
    hits, misses = _counts(near[first:], far[first:], best)
    trials = len(near) - first
    low, _ = clopper_pearson(hits, trials, error)
    _, high = clopper_pearson(misses, trials, error)
    loss = float(loss_shown(stated, np.atleast_1d(low), np.atleast_1d(high))[0])
    return ShownLoss(loss, best.threshold, best.below, hits, misses)


def _counts(near: Floats, far: Floats, event: ShownLoss) -> tuple[int, int]:
    """How often the event happened on the data set that it speaks for, and on the other."""
    if event.below:
        return int((far <= event.threshold).sum()), int((near <= event.threshold).sum())
    return int((near >= event.threshold).sum()), int((far >= event.threshold).sum())


def _choose(stated: Budget, near: Floats, far: Floats, error: float) -> ShownLoss:
    """The most telling event of the first part: thresholds over its range, the tails among them."""
    options = []
    for below, (one, other) in ((False, (near, far)), (True, (-far, -near))):
        one, other = np.sort(one), np.sort(other)
        places = np.unique(np.concatenate([_ranks(len(one)), len(one) - 1 - _ranks(len(one))]))
        thresholds = np.unique(one[places])
        hits = len(one) - np.searchsorted(one, thresholds)
        misses = len(other) - np.searchsorted(other, thresholds)
        # As the rest of the samples will tell it: with as many hits in proportion, and rather a miss more.
        trials = len(one) * (CHOOSING - 1)
        low, _ = clopper_pearson(hits * (CHOOSING - 1), trials, error)
        _, high = clopper_pearson(np.minimum(misses * (CHOOSING - 1) + 1, trials), trials, error)
        losses = loss_shown(stated, low, high)
        at = int(losses.argmax())
        threshold = float(-thresholds[at] if below else thresholds[at])
        options.append(ShownLoss(float(losses[at]), threshold, below, int(hits[at]), int(misses[at])))
    return max(options, key=lambda shown: shown.loss)


def _ranks(size: int) -> npt.NDArray[np.int64]:
    """Ranks that are dense in the upper tail and cover the rest evenly."""
    tail = np.geomspace(1, size, _EVENTS // 2).astype(np.int64) - 1
    even = np.linspace(0, size - 1, _EVENTS // 2).astype(np.int64)
    return np.unique(np.concatenate([tail, even]))
