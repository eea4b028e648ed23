"""What several charges cost together, kept as exact sums, and whether they stay within a limit."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

from margrave.budget.accountant import compose, epsilon_of, rho_within
from margrave.budget.units import ZCDP, ApproxDP, Budget, PureDP
from margrave.errors import RefusedError, VerificationError
from margrave.ledger.rules.limits import Filter

MOST_KINDS = 32
"""So many different pure costs are remembered one by one, for the composition that looks at each."""
MOST_EVENTS = 512
_LONGEST = 2048
_COARSE = 1 << 256
_ZERO = Fraction(0)


class Totals(NamedTuple):
    """What follows from some charges for any composition of them.

    ``pure`` says how often each pure ε, as text and in order, was spent. Once there were too many different ones it is
    empty, and ``unlisted`` has Σε and Σε² instead. ``rho`` is Σρ of the zCDP charges; ``approx``, ``approx_squares``
    and ``delta`` are Σε, Σε² and Σδ of the (ε, δ) ones.
    """

    approx: Fraction = _ZERO
    approx_squares: Fraction = _ZERO
    delta: Fraction = _ZERO
    pure: Mapping[str, int] = MappingProxyType({})
    rho: Fraction = _ZERO
    unlisted: tuple[Fraction, Fraction] | None = None

    @property
    def epsilon(self) -> Fraction:
        """Σε of the pure charges."""
        return _short(_sum(self.pure)) if self.unlisted is None else self.unlisted[0]

    @property
    def squares(self) -> Fraction:
        """Σε² of the pure charges."""
        return _short(_sum(self.pure, 2)) if self.unlisted is None else self.unlisted[1]

    @property
    def all_epsilon(self) -> Fraction | None:
        """Σε of all charges; None where one of them, by Gaussian noise, has no ε."""
        return None if self.rho else self.approx + self.epsilon

    @property
    def all_rho(self) -> Fraction:
        """Σρ of all charges, an ε counting as ε²/2."""
        return self.rho + (self.squares + self.approx_squares) / 2

    @property
    def empty(self) -> bool:
        return not (self.epsilon or self.rho or self.approx)

    def plus(self, cost: Budget, times: int = 1) -> Totals:
        """The totals with one more charge; with ``times`` = -1, with one less."""
        if isinstance(cost, ZCDP):
            return self._replace(rho=_short(self.rho + times * cost.rho))
        if isinstance(cost, ApproxDP):
            approx = _short(self.approx + times * cost.epsilon)
            squares = _short(self.approx_squares + times * cost.epsilon**2)
            return self._replace(approx=approx, approx_squares=squares, delta=_short(self.delta + times * cost.delta))
        if self.unlisted is None:
            pure = _counted(self.pure, str(cost.epsilon), times)
            if len(pure) <= MOST_KINDS:
                return Totals(self.approx, self.approx_squares, self.delta, pure, self.rho)
            return self._replace(pure={}, unlisted=(_short(_sum(pure)), _short(_sum(pure, 2))))
        epsilon, squares = self.unlisted
        more = (_short(epsilon + times * cost.epsilon), _short(squares + times * cost.epsilon**2))
        return self._replace(unlisted=more)

    def minus(self, cost: Budget) -> Totals:
        """The totals without a charge that was taken back."""
        return self.plus(cost, -1)

    @property
    def text(self) -> str:
        """What is not zero, as canonical JSON: the fields are in the order of the alphabet."""
        parts = [f'"{name}":{_part(value)}' for name, value in zip(self._fields, self, strict=True) if value]
        return f"{{{','.join(parts)}}}"

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Totals:
        """The totals with that text, or as they were written before, with Σε and Σε² beside the list."""
        numbers = {name: _fraction(value[name]) for name in _NUMBERS if name in value}
        unlisted = value.get("unlisted")
        if "squares" in value and value.get("pure", {}) is None:
            unlisted = value["epsilon"], value["squares"]
        found = cls(
            pure=value.get("pure") or {},
            unlisted=None if unlisted is None else (_fraction(unlisted[0]), _fraction(unlisted[1])),
            **numbers,
        )
        if any(name in value and not _near(_fraction(value[name]), getattr(found, name)) for name in _WRITTEN_BEFORE):
            raise VerificationError("the sums of charges are not those of the charges")
        return found


_NUMBERS = ("approx", "approx_squares", "delta", "rho")
_WRITTEN_BEFORE = ("epsilon", "squares")


def _near(one: Fraction, other: Fraction) -> bool:
    """Whether two sums differ by no more than what `_short` adds, however often."""
    return abs(one - other) < Fraction(1, _COARSE >> 56)


def alike(one: Totals, other: Totals) -> bool:
    """Whether totals are of the same charges, though sums may have been rounded up in another order.

    The first may have been written when the squares of (ε, δ) charges were not kept.
    """
    unlisted = (one.unlisted is None) == (other.unlisted is None)
    sums = _near(one.epsilon, other.epsilon) and _near(one.squares, other.squares)
    squares = one.approx_squares or other.approx_squares
    same = one._replace(unlisted=None, approx_squares=squares) == other._replace(unlisted=None)
    return unlisted and sums and same


def _part(value: Fraction | Mapping[str, int] | tuple[Fraction, Fraction]) -> str:
    """A field of totals as JSON."""
    if isinstance(value, Fraction):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f'["{value[0]}","{value[1]}"]'
    times = ",".join([f'"{epsilon}":{count}' for epsilon, count in value.items()])
    return f"{{{times}}}"


def _counted(pure: Mapping[str, int], epsilon: str, times: int) -> Mapping[str, int]:
    found = {**pure, epsilon: pure.get(epsilon, 0) + times}
    if found[epsilon] <= 0:
        del found[epsilon]
    elif len(found) > len(pure):
        found = dict(sorted(found.items()))
    return found


def _sum(pure: Mapping[str, int], power: int = 1) -> Fraction:
    """The sum of a power of all pure charges, in whole numbers, which takes half as long as to add fractions."""
    above, below = 0, 1
    for text, times in pure.items():
        over, under = _fraction(text).as_integer_ratio()
        over, under = times * over**power, under**power
        above, below = (over, under) if not above else (above * under + over * below, below * under)
    return Fraction(above, below)


def _short(number: Fraction) -> Fraction:
    """The number itself, or, if it takes thousands of bits to write, a larger one that does not."""
    if number.denominator.bit_length() <= _LONGEST:
        return number
    return Fraction(ceil(number * _COARSE), _COARSE)


@lru_cache(maxsize=1024)
def _fraction(text: str) -> Fraction:
    above, _, below = text.partition("/")
    return Fraction(int(above), int(below or 1))


def fits(spent: Totals, limit: Budget) -> bool:
    """Whether charges stay within a limit.

    An (ε, δ) limit that is no `Filter` is about charges that are fixed beforehand, such as one request: the best
    composition known counts.
    """
    match limit:
        case Filter():
            return limit.admits(spent.all_epsilon, spent.all_rho, spent.delta)
        case PureDP(epsilon):
            return not (spent.rho or spent.approx) and spent.epsilon <= epsilon
        case ZCDP(rho):
            return not spent.approx and spent.rho + spent.squares / 2 <= rho
        case ApproxDP(epsilon, delta):
            if _easily_fits(spent, limit):
                return True
            found = epsilon_at(spent, delta)
            return found is not None and found <= epsilon


def _easily_fits(spent: Totals, limit: ApproxDP) -> bool:
    """A sufficient condition that needs no conversion beyond one that is remembered."""
    if spent.delta > limit.delta:
        return False
    if not spent.rho and spent.approx + spent.epsilon <= limit.epsilon:
        return True
    if spent.approx:
        return False
    try:
        return spent.rho + spent.squares / 2 <= rho_within(limit.epsilon, limit.delta)
    except RefusedError:
        return False


def epsilon_at(spent: Totals, delta: Fraction) -> Fraction | None:
    """The least ε known so that the charges together are (ε, δ)-differentially private; None where δ is too small."""
    rest = delta - spent.delta
    candidates = [] if spent.rho else [spent.epsilon]
    if rest > 0:
        if spent.rho or spent.squares:
            candidates.append(_epsilon([ZCDP(spent.rho + spent.squares / 2)], rest))
        if spent.rho and spent.epsilon:
            candidates.append(spent.epsilon + _epsilon([ZCDP(spent.rho)], rest))
        if spent.pure and not spent.rho and sum(spent.pure.values()) <= MOST_EVENTS:
            candidates.append(_epsilon(_listed(spent.pure), rest))
    if rest < 0 or not candidates:
        return None
    return spent.approx + min(candidates)


def _listed(pure: Mapping[str, int]) -> list[Budget]:
    return [PureDP(_fraction(text)) for text, times in pure.items() for _ in range(times)]


def _epsilon(costs: list[Budget], delta: Fraction) -> Fraction:
    together = compose(costs, delta)
    assert isinstance(together, ApproxDP)
    return together.epsilon


def together(spent: Totals, limit: Budget) -> Budget | None:
    """The charges as one budget in the unit of a limit; None where nothing was spent, or the unit cannot hold it."""
    if spent.empty:
        return None
    match limit:
        case PureDP():
            return PureDP(spent.epsilon) if not (spent.rho or spent.approx) else None
        case ZCDP():
            return ZCDP(spent.rho + spent.squares / 2) if not spent.approx else None
        case Filter(delta=delta):
            least = _least_filter(spent, limit)
            return None if least is None else ApproxDP(least, delta)
        case ApproxDP(_, delta):
            found = epsilon_at(spent, delta)
            return None if not found else ApproxDP(found, delta)


def _least_filter(spent: Totals, limit: Filter) -> Fraction | None:
    """The least ε with which the limit would still admit the charges."""
    candidates = [] if spent.all_epsilon is None else [spent.all_epsilon]
    if limit.delta > limit.events:
        candidates.append(epsilon_of(spent.all_rho, limit.delta - limit.events))
    return min(candidates, default=None) if spent.delta <= limit.events else None


def left(spent: Totals, limit: Budget) -> Fraction:
    """How much of the ε or ρ of a limit is left; of an (ε, δ) limit, the largest pure ε of one more request."""
    if isinstance(limit, Filter):
        return limit.room(spent.all_epsilon, spent.all_rho)[0] if fits(spent, limit) else _ZERO
    used = together(spent, limit)
    return amount(limit) - (amount(used) if used is not None else _ZERO)


def amount(budget: Budget) -> Fraction:
    """The ρ or ε of a budget."""
    return budget.rho if isinstance(budget, ZCDP) else budget.epsilon


def unit(budget: Budget) -> type:
    """`PureDP`, `ApproxDP` or `ZCDP`."""
    return ApproxDP if isinstance(budget, ApproxDP) else type(budget)


def same_unit(one: Budget, other: Budget) -> bool:
    return unit(one) is unit(other)


def no_more(one: Budget, other: Budget) -> bool:
    """Whether a budget is within another of the same unit, in ε (or ρ), in δ, and in what is set apart of δ."""
    if not same_unit(one, other) or amount(one) > amount(other):
        return False
    if isinstance(one, Filter) and isinstance(other, Filter) and one.events > other.events:
        return False
    return not (isinstance(one, ApproxDP) and isinstance(other, ApproxDP)) or one.delta <= other.delta
