"""What an attacker can reach at most, whatever she knows and computes, by the guarantee alone (docs/mathematics.md).

A guarantee between data sets n steps apart implies (L, δ)-indistinguishability for one or for many pairs (L, δ): every
event has P(E) ≤ e^L Q(E) + δ, and the other way round. Each bound here is proved for one such pair, and the least over
all of them holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, expm1, inf, log, sqrt

import numpy as np

from margrave.budget.units import Budget
from margrave.errors import UsageError

_SLACK = 1 + 1e-12
"""Covers the rounding errors of double precision."""
_LARGEST = 700.0
"""Powers of e beyond this do not fit in double precision: nothing is promised by them."""
_ORDERS = 1 + np.geomspace(1e-3, 1e4, 400)
"""Rényi orders; any of them is valid."""
_LEVELS = np.concatenate([[0.0], np.geomspace(1e-3, 200.0, 400)])
"""The values of L at which ρ-zCDP is restated; any of them is valid."""


@dataclass(frozen=True)
class EpsilonDelta:
    """No event is more than ``e^loss`` times as likely, plus ``delta``, on one of two data sets than on the other."""

    loss: float
    delta: float


def implied(cost: Budget, steps: int) -> tuple[EpsilonDelta, ...]:
    """What a guarantee implies between data sets so many steps apart."""
    if steps < 1:
        raise UsageError(f"steps ({steps}) must be at least 1")
    epsilon, rho, approx, delta = map(float, cost.parts)
    if rho:
        return tuple(_concentrated(rho * steps * steps * _SLACK))
    return (_chain(approx, delta, steps) if delta else EpsilonDelta(epsilon * steps * _SLACK, 0.0),)


def _chain(epsilon: float, delta: float, steps: int) -> EpsilonDelta:
    """(ε, δ) between neighbours is (nε, δ(1 + e^ε + … + e^{(n−1)ε})) between data sets n steps apart."""
    loss = epsilon * steps * _SLACK
    if loss > _LARGEST:
        return EpsilonDelta(inf, 0.0)
    return EpsilonDelta(loss, min(1.0, delta * expm1(epsilon * steps) / expm1(epsilon) * _SLACK))


def _concentrated(rho: float) -> Iterator[EpsilonDelta]:
    """ρ-zCDP bounds the distance of the two distributions (Pinsker; Bretagnolle and Huber), which is δ at L = 0.

    For each other L, δ is the least over Rényi orders a of exp((a−1)(aρ−L))/(a−1)·(1−1/a)^a (Canonne, Kamath and
    Steinke 2020).
    """
    yield EpsilonDelta(0.0, min(sqrt(rho / 2), sqrt(-expm1(-rho))) * _SLACK)
    a = _ORDERS
    for loss in _LEVELS.tolist():
        logs = (a - 1) * (a * rho - loss) - np.log(a - 1) + a * np.log1p(-1 / a)
        least = float(logs.min())
        if least < 0:
            yield EpsilonDelta(loss, exp(least) * _SLACK)


def advantage(cost: Budget, steps: int) -> float:
    """How much more often at most a test says "yes" where that is true than where it is false."""
    return min(1.0, *(_advantage(pair) for pair in implied(cost, steps)))


def _advantage(pair: EpsilonDelta) -> float:
    if pair.loss > _LARGEST:
        return 1.0
    return (expm1(pair.loss) + 2 * pair.delta) / (exp(pair.loss) + 1)


def power(cost: Budget, steps: int, false_alarms: float) -> float:
    """How often at most a test finds what is true if it raises so many false alarms where it is false."""
    if not 0 <= false_alarms <= 1:
        raise UsageError(f"a share of false alarms ({false_alarms}) lies between 0 and 1")
    return min(1.0, *(_power(pair, false_alarms) for pair in implied(cost, steps)))


def _power(pair: EpsilonDelta, alarms: float) -> float:
    if pair.loss > _LARGEST:
        return 1.0
    return min(exp(pair.loss) * alarms + pair.delta, 1 - exp(-pair.loss) * max(0.0, 1 - pair.delta - alarms))


def guessed(cost: Budget, steps: int, before: float) -> float:
    """How often at most a guess is right, if ``before`` is how often the best guess without the release is.

    Of any number of possible values, by somebody who knows everything else.
    """
    if not 0 < before < 1:
        raise UsageError(f"how often a guess is right beforehand ({before}) lies between 0 and 1")
    return min(1.0, *(_guessed(pair, before) for pair in implied(cost, steps)))


def _guessed(pair: EpsilonDelta, before: float) -> float:
    if pair.loss > _LARGEST:
        return 1.0
    odds = before / (1 - before) * exp(pair.loss)
    return (odds + pair.delta) / (odds + 1)


def epsilon_for(before: float, after: float, steps: int) -> float:
    """The pure ε at which a guess that was right ``before`` can become right ``after`` and no more often."""
    if not 0 < before < after < 1:
        raise UsageError("a guess must become better, and neither be certain")
    return (log(after / (1 - after)) - log(before / (1 - before))) / steps
