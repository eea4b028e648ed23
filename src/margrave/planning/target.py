"""Error against budget: what each budget buys, and the least budget that buys a wanted accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from margrave.budget.units import amount
from margrave.errors import RefusedError, UsageError
from margrave.planning.plan import Plan
from margrave.planning.planner import Choice, best_plan, candidates
from margrave.spec.choices import Strategy
from margrave.spec.spec import Spec

_FIRST, _MOST, _LEAST = Fraction(1), Fraction(1 << 10), Fraction(1, 1 << 20)
"""The search begins with the first budget, and goes neither above the most nor below the least."""
_STEP = 4
_NOTICED = Fraction(999, 1000)
"""Another strategy is looked at only if it needs less by at least one part in a thousand."""


@dataclass(frozen=True)
class Target:
    """Each cell of each wanted table within ± ``half_width`` of the truth with probability ``level``."""

    half_width: float
    level: float

    def __post_init__(self) -> None:
        if not 0 < self.half_width < float("inf"):
            raise UsageError(f"a target's half-width ({self.half_width}) must be a positive number")
        if not 0 < self.level < 1:
            raise UsageError(f"a target's level ({self.level}) must lie between 0 % and 100 %")

    @classmethod
    def parse(cls, text: str) -> Target:
        """From ``5@95%``: within ±5 with probability 95 %."""
        width, at, level = text.partition("@")
        try:
            if not at or not level.endswith("%"):
                raise ValueError
            return cls(float(width), float(level[:-1]) / 100)
        except ValueError:
            raise UsageError(f"a target reads like 5@95%, within ±5 with probability 95 %; not {text!r}") from None


def sweep(spec: Spec, amounts: Sequence[Fraction]) -> list[Plan]:
    """The best plan for each ε (or ρ); the search for a strategy is done once."""
    choices = candidates(spec)
    return [best_plan(replace(spec, budget=spec.budget.with_amount(value)), choices) for value in amounts]


def plan_for(spec: Spec, target: Target) -> Plan:
    """The plan of least budget that meets a target, within one part in ten thousand; refused where none can.

    Where the strategy is open, it is that of least budget. The spec of the plan names it if it is not the one that
    would be taken for this budget without the target.
    """
    best: Plan | None = None
    for choice in candidates(spec, every=True):
        search = _Search(spec, target, choice)
        if best is None or _if_any(search.attempt, amount(best.spec.budget) * _NOTICED) is not None:
            found = search.least(_FIRST if best is None else amount(best.spec.budget))
            best = found if found is not None else best
    if best is None:
        raise RefusedError(f"no budget up to {float(_MOST):g} brings every cell within ±{target.half_width:g}")
    usual = best_plan(best.spec, candidates(spec))
    if meets(usual, target):
        return usual
    return replace(best, spec=replace(best.spec, strategy=cast(Strategy, best.strategy)))


@dataclass(frozen=True)
class _Search:
    """The least budget at which one choice of a strategy meets a target."""

    spec: Spec
    target: Target
    choice: Choice

    def attempt(self, value: Fraction) -> Plan | None:
        """The plan at a budget, if that is enough."""
        plan = best_plan(replace(self.spec, budget=self.spec.budget.with_amount(value)), [self.choice])
        return plan if meets(plan, self.target) else None

    def least(self, first: Fraction) -> Plan | None:
        """The plan of least budget, looking from the first budget on; none if the largest budget is not enough."""
        low, high, plan = first, first, self.attempt(first)
        while plan is None and high < _MOST:
            low, high = high, high * _STEP
            plan = self.attempt(high)
        while low == high and high > _LEAST and plan is not None:
            low = max(high / _STEP, _LEAST)
            found = _if_any(self.attempt, low)
            if found is not None:
                plan, high = found, low
        while plan is not None and high - low > high / 10_000:
            middle = _short((low + high) / 2)
            found = _if_any(self.attempt, middle)
            if found is None:
                low = middle
            else:
                plan, high = found, middle
        return plan


def _if_any(attempt: Callable[[Fraction], Plan | None], value: Fraction) -> Plan | None:
    """The plan of a budget below one for which there is a plan; a budget too small for any noise is not enough."""
    try:
        return attempt(value)
    except RefusedError:
        return None


def _short(number: Fraction) -> Fraction:
    """A nearby number with few digits, so that the budget found can be written down."""
    return Fraction(f"{float(number):.6g}")


def meets(plan: Plan, target: Target) -> bool:
    """Whether every cell of every wanted table is as near as is wanted."""
    return all(error.reaches(target.half_width, target.level) for error in plan.cell_errors())
