"""(ε, δ) limits that hold when each request may depend on the answers to the ones before (docs/curator.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from margrave.budget.accountant import epsilon_of, rho_within, rounded_down
from margrave.budget.numbers import exact_number, exact_text, readable
from margrave.budget.units import ApproxDP, Budget, Spent, budget_from_dict
from margrave.errors import RefusedError, UsageError

_ROUNDING = 1 + Fraction(1, 10**9)
"""So far may the ε of a stored ρ, worked out by another version of the accountant, lie from the one found here."""
_FINE = 1 << 40


@dataclass(frozen=True)
class Filter(ApproxDP):
    """An (ε, δ) limit with the sums that keep it.

    Charges are within it while their ε together are at most ``epsilon``, or their ρ together at most ``rho``; in both
    cases those with a δ of their own have together at most ``events``, a part of ``delta`` that is set apart for them.
    ``rho`` is such that ρ-zCDP implies (``epsilon``, ``delta`` − ``events``).
    """

    events: Fraction
    rho: Fraction
    adaptive = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.events <= self.delta:
            raise UsageError(
                f"the δ set apart for requests with a δ of their own ({readable(self.events)}) must be a part of that "
                f"of the limit ({readable(self.delta)})"
            )
        if self.rho < 0:
            raise UsageError(f"the ρ of a limit ({readable(self.rho)}) must not be negative")

    def as_dict(self) -> dict[str, str]:
        return {**super().as_dict(), "events": exact_text(self.events), "rho": exact_text(self.rho)}

    def within(self, other: Budget) -> bool:
        return super().within(other) and not (isinstance(other, Filter) and self.events > other.events)

    def holds(self, spent: Spent) -> bool:
        """Whether charges are within it, each of which may depend on the answers to the ones before."""
        epsilon = spent.all_epsilon
        by_sums = (epsilon is not None and epsilon <= self.epsilon) or spent.all_rho <= self.rho
        return spent.delta <= self.events and by_sums

    def together(self, spent: Spent) -> ApproxDP | None:
        """The charges as the least limit of the same δ that would still hold them."""
        candidates = [] if spent.all_epsilon is None else [spent.all_epsilon]
        if self.delta > self.events:
            candidates.append(epsilon_of(spent.all_rho, self.delta - self.events))
        if spent.empty or spent.delta > self.events or not candidates:
            return None
        return ApproxDP(min(candidates), self.delta)

    def left(self, spent: Spent) -> Fraction:
        """The largest pure ε of one more request."""
        return self.room(spent)[0] if self.holds(spent) else Fraction(0)

    def room(self, spent: Spent) -> tuple[Fraction, Fraction]:
        """The largest pure ε, and the largest ρ, of one more request."""
        free = max(self.rho - spent.all_rho, Fraction(0))
        squared = Fraction(isqrt(int(2 * free * _FINE * _FINE)), _FINE)
        epsilon = spent.all_epsilon
        return max(squared, Fraction(0) if epsilon is None else self.epsilon - epsilon), free

    def check(self) -> None:
        """Refuse a ρ that does not imply the limit."""
        if self.rho and epsilon_of(self.rho, self.delta - self.events) > self.epsilon * _ROUNDING:
            raise RefusedError(f"a limit of {self} is not kept by ρ = {readable(self.rho)}")


def kept(limit: Budget, events: Fraction = Fraction(0)) -> Budget:
    """The limit as it is kept: one in (ε, δ) with its sums, every other as it is."""
    if not limit.delta:
        if events:
            raise UsageError(f"a limit of {limit} has no δ, of which a part could be set apart")
        return limit
    return limit if limit.adaptive else _filter(limit.amount, limit.delta, events)


@lru_cache(maxsize=256)
def _filter(epsilon: Fraction, delta: Fraction, events: Fraction) -> Filter:
    checked = Filter(epsilon, delta, events, Fraction(0))
    if events == delta:
        return checked
    try:
        return Filter(epsilon, delta, events, rounded_down(rho_within(epsilon, delta - events)))
    except RefusedError:  # so small that no ρ is small enough: the sum of ε is left
        return checked


def limit_from_dict(mapping: Mapping[str, str]) -> Budget:
    """The limit that `as_dict` wrote."""
    if "events" not in mapping:
        return budget_from_dict(mapping)
    own = {name: exact_number(text) for name, text in mapping.items()}
    if own.keys() != {"delta", "epsilon", "events", "rho"}:
        raise UsageError(f"a limit in (ε, δ) has epsilon, delta, events and rho, not {', '.join(sorted(own))}")
    return Filter(**own)
