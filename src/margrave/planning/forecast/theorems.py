"""What theorems promise of the tables of a plan, beside its forecast."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from margrave.algebra.domain import Margin
from margrave.noise import DiscreteLaplace

if TYPE_CHECKING:
    from margrave.planning.plan import Plan


def theorem_bounds(plan: Plan, delta: float) -> dict[Margin, float]:
    """Bounds on the L1 error of each table with probability 1 − δ; none where no theorem is known."""
    noise = plan.measurements[0].noise
    if plan.strategy not in ("fourier", "efron-stein") or not isinstance(noise, DiscreteLaplace):
        return {}
    number = sum(measurement.query.outputs(plan.domain) for measurement in plan.measurements)
    # Half a count more than the continuous tail bound covers the discrete one: P(|Z| > t) ≤ exp(−(t − ½)/scale).
    largest = float(noise.scale) * log(number / delta) + 0.5
    # Scales are those of whole-number answers: contrasts, or ∏k_j times the blocks f^S.
    rounding = number if plan.strategy == "fourier" else number / 2
    bounds = {}
    for margin in plan.spec.margins:
        width = len(plan.measured_margin(margin))
        bounds[margin] = 2**width * 2 * largest + rounding
    return bounds
