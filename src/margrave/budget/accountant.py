"""What a cost means in other units, by numbers alone. Every rounding is to the safe side.

Discrete Laplace noise is accounted as a generic pure-ε event (with sensitivity 1 it is randomised response, the worst
there is), discrete Gaussian noise as ρ-zCDP only. Conversions are dp-accounting's.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from margrave.errors import RefusedError

GRID = 1 << 40
"""Numbers that leave floating point are rounded to multiples of 1/GRID, always to the safe side."""

SLACK = 1 + 1e-9
"""Covers the rounding errors of a conversion in double precision."""


@lru_cache(maxsize=1024)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """An ε such that ρ-zCDP implies (ε, δ)-differential privacy."""
    from dp_accounting import ZCDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=_orders())
    accountant.compose(ZCDpEvent(float(rho) * SLACK))
    return rounded_up(accountant.get_epsilon(float(delta) / SLACK) * SLACK)


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


@lru_cache(maxsize=256)
def privacy_loss(epsilons: tuple[Fraction, ...], delta: Fraction) -> Fraction:
    """Numerical composition of generic pure-ε events, by pessimistic privacy loss distributions."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    total = None
    for epsilon in sorted(set(epsilons)):
        one = pld.from_privacy_parameters(
            DifferentialPrivacyParameters(float(epsilon) * SLACK, 0.0), value_discretization_interval=1e-3
        ).self_compose(epsilons.count(epsilon))
        total = one if total is None else total.compose(one)
    assert total is not None
    return rounded_up(total.get_epsilon_for_delta(float(delta) / SLACK) * SLACK)


def rounded_up(number: float) -> Fraction:
    """The next multiple of 1/GRID that is not smaller."""
    return Fraction(ceil(Fraction(number) * GRID), GRID)


def rounded_down(number: Fraction) -> Fraction:
    """The largest number with 40 significant bits that is not larger: shares that add up never exceed the budget."""
    if number == 0:
        return number
    shift = GRID.bit_length() - (number.numerator.bit_length() - number.denominator.bit_length())
    scale = Fraction(2) ** shift
    return floor(number * scale) / scale
