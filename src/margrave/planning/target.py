"""Error against budget: what each budget buys, and the least budget that buys a wanted accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from margrave.errors import RefusedError, UsageError
from margrave.planning.plan import Plan
from margrave.planning.planner import best_plan, candidates
from margrave.spec.spec import Spec

_MOST = Fraction(1 << 10)
_LEAST = Fraction(1, 1 << 20)


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
    """The plan of least budget that meets a target, within one part in ten thousand; refused where none can."""
    choices = candidates(spec)

    def attempt(value: Fraction) -> tuple[Plan, bool]:
        plan = best_plan(replace(spec, budget=spec.budget.with_amount(value)), choices)
        return plan, _meets(plan, target)

    low, high = _LEAST, _LEAST
    plan, enough = attempt(high)
    while not enough:
        if high >= _MOST:
            raise RefusedError(f"no budget up to {float(_MOST):g} brings every cell within ±{target.half_width:g}")
        low, high = high, high * 4
        plan, enough = attempt(high)
    if low == high:
        return plan
    while high - low > high / 10_000:
        middle = _short((low + high) / 2)
        middle_plan, enough = attempt(middle)
        if enough:
            plan, high = middle_plan, middle
        else:
            low = middle
    return plan


def _short(number: Fraction) -> Fraction:
    """A nearby number with few digits, so that the budget found can be written down."""
    return Fraction(f"{float(number):.6g}")


def _meets(plan: Plan, target: Target) -> bool:
    return max(row.half_width for row in plan.forecast_at(target.level)) <= target.half_width
