"""What several costs come to together, and what one cost says about several units."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from margrave.budget.accountant import epsilon_of, privacy_loss
from margrave.budget.units import ZCDP, ApproxDP, Budget, PureDP
from margrave.errors import RefusedError


def compose(costs: Sequence[Budget], delta: Fraction | None = None) -> Budget:
    """The cost of several releases together: the best of basic and advanced composition.

    Without δ the costs must all be pure, or all zCDP, and add up exactly. With δ the answer is (ε, δ) for the given δ.
    """
    if not costs:
        raise RefusedError("there is nothing to compose")
    if delta is None:
        return _add_exactly(costs)
    parts = [cost.parts for cost in costs]
    spent = sum((one.delta for one in parts), Fraction(0))
    if spent >= delta:
        raise RefusedError(f"the releases together already have δ = {float(spent):g}: ask for a larger δ")
    basic = sum((one.approx for one in parts), Fraction(0))
    pure = [one.pure for one in parts if one.pure]
    rho = sum((one.rho for one in parts), Fraction(0))
    rest = delta - spent
    # A pure ε event is also ε²/2-zCDP, so it may be counted either way.
    candidates = [epsilon_of(rho + sum((e * e for e in pure), Fraction(0)) / 2, rest)]
    candidates.append(sum(pure, Fraction(0)) + (epsilon_of(rho, rest) if rho else Fraction(0)))
    if pure and not rho:
        candidates.append(privacy_loss(tuple(sorted(pure)), rest))
    return ApproxDP(basic + min(candidates), delta)


def _add_exactly(costs: Sequence[Budget]) -> Budget:
    parts = [cost.parts for cost in costs]
    if any(one.approx for one in parts):
        raise RefusedError("costs of the form (ε, δ) compose to (ε, δ): name the δ of the whole")
    rho = sum((one.rho for one in parts), Fraction(0))
    if not rho:
        return PureDP(sum((one.pure for one in parts), Fraction(0)))
    return ZCDP(rho + sum((one.pure**2 for one in parts), Fraction(0)) / 2)


def groups(cost: Budget, sizes: Sequence[int] = (2, 5, 10)) -> dict[int, Budget]:
    """What the same release guarantees to several units together, as far as that says anything."""
    found = {size: cost.for_units(size) for size in sizes}
    return {size: one for size, one in found.items() if one is not None}
