"""What events cost together, and what a cost means in other units. Every rounding is to the safe side.

Discrete Laplace noise is accounted as a generic pure-ε event (with sensitivity 1 it is randomised response, the worst
there is), discrete Gaussian noise as ρ-zCDP only. Conversions are dp-accounting's.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, floor

from margrave.budget.units import ZCDP, ApproxDP, Budget, PureDP
from margrave.errors import RefusedError

GRID = 1 << 40
"""Numbers that leave floating point are rounded to multiples of 1/GRID, always to the safe side."""

_SLACK = 1 + 1e-9
"""Covers the rounding errors of a conversion in double precision."""


@lru_cache(maxsize=1024)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """An ε such that ρ-zCDP implies (ε, δ)-differential privacy."""
    from dp_accounting import ZCDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=_orders())
    accountant.compose(ZCDpEvent(float(rho) * _SLACK))
    return _up(accountant.get_epsilon(float(delta) / _SLACK) * _SLACK)


@lru_cache(maxsize=1)
def _orders() -> list[float]:
    """Rényi orders so dense that the best of them is as good as the best real number. Any order is valid."""
    return [1 + 1.02**power for power in range(-400, 1200)]


@lru_cache(maxsize=256)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ, on a fine grid, such that ρ-zCDP implies (ε, δ)-differential privacy."""
    low, high = Fraction(0), epsilon
    while high - low > high / (1 << 36):
        middle = (low + high) / 2
        if epsilon_of(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    if low == 0:
        raise RefusedError(f"no Gaussian noise gives ε = {float(epsilon):g} at δ = {float(delta):g}: raise one of them")
    return low


def compose(costs: Sequence[Budget], delta: Fraction | None = None) -> Budget:
    """The cost of several releases together: the best of basic and advanced composition.

    Without δ the costs must all be pure, or all zCDP, and add up exactly. With δ the answer is (ε, δ) for the given δ.
    """
    if not costs:
        raise RefusedError("there is nothing to compose")
    if delta is None:
        return _add_exactly(costs)
    spent = sum((cost.delta for cost in costs if isinstance(cost, ApproxDP)), Fraction(0))
    if spent >= delta:
        raise RefusedError(f"the releases together already have δ = {float(spent):g}: ask for a larger δ")
    basic = sum((cost.epsilon for cost in costs if isinstance(cost, ApproxDP)), Fraction(0))
    pure = [cost.epsilon for cost in costs if isinstance(cost, PureDP)]
    rho = sum((cost.rho for cost in costs if isinstance(cost, ZCDP)), Fraction(0))
    rest = delta - spent
    # A pure ε event is also ε²/2-zCDP, so it may be counted either way.
    candidates = [epsilon_of(rho + sum((e * e for e in pure), Fraction(0)) / 2, rest)]
    candidates.append(sum(pure, Fraction(0)) + (epsilon_of(rho, rest) if rho else Fraction(0)))
    if pure and not rho:
        candidates.append(_privacy_loss(tuple(sorted(pure)), rest))
    return ApproxDP(basic + min(candidates), delta)


def _add_exactly(costs: Sequence[Budget]) -> Budget:
    pure = [cost.epsilon for cost in costs if isinstance(cost, PureDP)]
    rho = [cost.rho for cost in costs if isinstance(cost, ZCDP)]
    if len(pure) + len(rho) < len(costs):
        raise RefusedError("costs of the form (ε, δ) compose to (ε, δ): name the δ of the whole")
    if not rho:
        return PureDP(sum(pure, Fraction(0)))
    return ZCDP(sum(rho, Fraction(0)) + sum((epsilon**2 for epsilon in pure), Fraction(0)) / 2)


@lru_cache(maxsize=256)
def _privacy_loss(epsilons: tuple[Fraction, ...], delta: Fraction) -> Fraction:
    """Numerical composition of generic pure-ε events, by pessimistic privacy loss distributions."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    total = None
    for epsilon in sorted(set(epsilons)):
        one = pld.from_privacy_parameters(
            DifferentialPrivacyParameters(float(epsilon) * _SLACK, 0.0), value_discretization_interval=1e-3
        ).self_compose(epsilons.count(epsilon))
        total = one if total is None else total.compose(one)
    assert total is not None
    return _up(total.get_epsilon_for_delta(float(delta) / _SLACK) * _SLACK)


def groups(cost: Budget, sizes: Sequence[int] = (2, 5, 10)) -> dict[int, Budget]:
    """What the same release guarantees to several units together: c·ε, c²·ρ, and for (ε, δ) also e^{(c−1)ε}·c·δ."""
    return {size: _group(cost, size) for size in sizes if _group_delta(cost, size) < 1}


def _group_delta(cost: Budget, size: int) -> Fraction:
    if not isinstance(cost, ApproxDP):
        return Fraction(0)
    exponent = float(cost.epsilon) * (size - 1)
    return Fraction(1) if exponent > 700 else _up(exp(exponent) * _SLACK) * size * cost.delta


def _group(cost: Budget, size: int) -> Budget:
    match cost:
        case PureDP(epsilon):
            return PureDP(epsilon * size)
        case ZCDP(rho):
            return ZCDP(rho * size * size)
        case ApproxDP(epsilon, _):
            return ApproxDP(epsilon * size, _group_delta(cost, size))


def _up(number: float) -> Fraction:
    return Fraction(ceil(Fraction(number) * GRID), GRID)


def rounded_down(number: Fraction) -> Fraction:
    """The largest number with 40 significant bits that is not larger: shares that add up never exceed the budget."""
    if number == 0:
        return number
    shift = GRID.bit_length() - (number.numerator.bit_length() - number.denominator.bit_length())
    scale = Fraction(2) ** shift
    return floor(number * scale) / scale
