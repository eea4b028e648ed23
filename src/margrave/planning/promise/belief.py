"""What somebody who knows everything else can come to believe about one person (docs/mathematics.md, section 11).

A suspicion is about what a unit holds. By Bayes' rule its odds grow by the ratio of the likelihoods of what is
published, and that ratio is bounded by the guarantee for data sets as many steps apart as the suspicion spans.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, expm1, floor, inf, log, log1p, log10, sqrt
from typing import Literal

from margrave.budget.events import Protection
from margrave.budget.units import Budget
from margrave.messages.catalogue import say, spoken
from margrave.spec.choices import Induced

RARELY = 1e-9
"""The probability with which a bound under ρ may fail."""
TIMES_DELTA = 10
"""A bound under (ε, δ) may fail with this many times the δ between the two data sets: less makes it much weaker."""
SUSPICIONS = (0.01, 0.1, 0.5)
"""How sure somebody may be before, for examples."""

_SLACK = 1 + 1e-12
"""Covers the rounding errors of double precision."""
_SURE = 1e-6
_MOST_FACTOR = 50.0
"""A factor of more than e to this power is called no bound."""

Topic = Literal["value", "presence"]


@dataclass(frozen=True)
class Bound:
    """The odds of a suspicion grow by a factor of at most ``e^log_odds``, except with probability ``chance``."""

    log_odds: float
    chance: float

    @property
    def says_little(self) -> bool:
        """Whether the factor is so large that hardly anything is promised."""
        return self.log_odds > _MOST_FACTOR

    @property
    def factor(self) -> float:
        return inf if self.log_odds > 700 else exp(self.log_odds)

    def after(self, before: float) -> float:
        """How sure somebody can be who was ``before`` that sure."""
        return 1 - self.doubt(before)

    def doubt(self, before: float) -> float:
        """The least that is left to certainty."""
        return 1 / (1 + before / (1 - before) * self.factor)


@dataclass(frozen=True)
class Suspicion:
    """Something that is suspected of one unit: ``steps`` neighbours in a row lead from any case of it to any other."""

    topic: Topic
    steps: int


def suspicions(protection: Protection, induced: Induced | None, total_known: bool) -> tuple[Suspicion, ...]:
    """What can be suspected of one unit and is protected, the strongest suspicion first.

    Two values are two steps where a unit is removed and another added. Public facts, if any tells the number of
    records, leave no other step to one record than a change of its values.
    """
    replaced = bool(protection.sensitive) or protection.neighbours == "replace"
    if total_known if induced is not None else replaced:
        return (Suspicion("value", 1),)
    return Suspicion("value", 2), Suspicion("presence", 1)


def bound(cost: Budget, steps: int, chance: float | None = None) -> Bound:
    """The bound between data sets so many steps apart. ``chance``: how often it may fail; pure ε never does."""
    epsilon, rho, approx, delta = map(float, cost.parts)
    if rho:
        apart, rarely = rho * steps * steps, RARELY if chance is None else chance
        return Bound((apart + 2 * sqrt(apart * log(1 / rarely))) * _SLACK, rarely)
    if delta:
        return _approximate(approx, delta, steps, chance)
    return Bound(epsilon * steps * _SLACK, 0.0)


def _approximate(epsilon: float, delta: float, steps: int, chance: float | None) -> Bound:
    """(ε, δ) between neighbours is (nε, δ(1 + e^ε + … + e^{(n−1)ε})) between data sets n steps apart."""
    if epsilon * steps > _MOST_FACTOR:
        return Bound(inf, 0.0)
    apart = delta * expm1(epsilon * steps) / expm1(epsilon) * _SLACK
    rarely = TIMES_DELTA * apart if chance is None else chance
    if rarely >= 1 or apart >= rarely:
        return Bound(inf, 0.0)
    return Bound((epsilon * steps - log1p(-apart / rarely)) * _SLACK, rarely)


def percent(found: Bound, before: float) -> str:
    """How sure somebody can be after, rounded up."""
    doubt = found.doubt(before)
    if doubt < _SURE:
        return say("nearly 100 %")
    places = next(places for places in range(1, 8) if doubt * 100 * 10**places >= 10)
    scale = 10**places
    return spoken().localised(f"{100 - int(doubt * 100 * scale) / scale:.{places}f}") + " %"


def odds(found: Bound) -> str:
    """The factor in three digits, rounded up."""
    return spoken().localised(_up(found.factor, 3))


def exception(found: Bound) -> str:
    """How often the bound may fail, as the end of a sentence; nothing for pure ε."""
    if not found.chance:
        return ""
    return say(", except with a probability of at most %(chance)s", chance=spoken().localised(_up(found.chance, 1)))


def _up(number: float, digits: int) -> str:
    unit = 10.0 ** (floor(log10(number)) + 1 - digits)
    raised = ceil(number / unit * (1 - 1e-9)) * unit
    return f"{raised:.0f}" if 1000 <= raised < 1e6 else f"{raised:.{digits}g}"
