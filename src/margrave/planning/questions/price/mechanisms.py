"""The noise or selection that hides one unit, for a budget: pure ε by Laplace noise, ρ by Gaussian noise.

Shares are rounded down and scales up, and the cost is computed again from what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt, log
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from margrave.budget.events import price
from margrave.budget.numbers import exact_text
from margrave.budget.units import ZCDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.noise.selection import checked_rate
from margrave.planning.defaults import LEVEL
from margrave.planning.questions.language.aggregates import Aggregate, Choose, Cumulative, Quantiles
from margrave.planning.questions.price.price import Neighbours, UnitMove, added_rows
from margrave.planning.questions.price.trees import variances_at
from margrave.planning.written import noise_json

if TYPE_CHECKING:
    from margrave.planning.questions.programs.sought import Sought

FEW_QUANTILES = 4
"""Up to so many quantiles are selected one by one; more come from one tree of counts."""
_ROOT_BITS = 40
_SPOTS = 257

Price = PureDP | ZCDP
AnswerNoise = DiscreteLaplace | DiscreteGaussian


@dataclass(frozen=True)
class Noisy:
    """Every sum gets noise of its own."""

    noise: AnswerNoise
    move: UnitMove
    selected: ClassVar[int] = 0

    @property
    def amount(self) -> Fraction:
        return price(self.noise, self.move.l1, self.move.l2_squared)

    def to_json(self) -> dict[str, object]:
        return dict(noise_json(self.noise))

    def said(self) -> str:
        return f"{noise_said(self.noise)} noise on each sum"


@dataclass(frozen=True)
class Selected:
    """For each share a candidate is selected by its loss, a whole number, at a rate.

    ``rates``: one for each share. ``amount``: what all of them cost together. ``flips``: by permute-and-flip, which is
    at least as near in pure ε; otherwise with probability ∝ exp(−rate · loss), which is a quarter as dear in ρ.
    ``ends``: where intervals are asked for, the rate of the two selections of its ends for each share, and how far from
    the share they aim, in units of the loss.
    """

    rates: tuple[Fraction, ...]
    amount: Fraction
    flips: bool = False
    ends: tuple[tuple[Fraction, int], ...] = ()

    def __post_init__(self) -> None:
        for rate in (*self.rates, *(rate for rate, _ in self.ends)):
            checked_rate(rate)

    @property
    def selected(self) -> int:
        """How many values are selected in each group: for each share one, or one and the two ends."""
        return len(self.rates) + 2 * len(self.ends)

    def to_json(self) -> dict[str, object]:
        found: dict[str, object] = {"kind": self._kind.replace(" ", "-"), "rates": _listed(self.rates)}
        return found if not self.ends else {**found, "ends": _listed(rate for rate, _ in self.ends)}

    @property
    def _kind(self) -> str:
        return "permute-and-flip" if self.flips else "exponential mechanism"

    def said(self) -> str:
        return self._kind + (", for each value and for both ends of its interval" if self.ends else "")


@dataclass(frozen=True)
class Tree:
    """Counts of ever larger stretches of a grid, each with noise of its own: ``levels`` levels of ``branching``."""

    noise: AnswerNoise
    move: UnitMove
    branching: int
    levels: int
    selected: ClassVar[int] = 0

    @property
    def amount(self) -> Fraction:
        return price(self.noise, self.move.l1, self.move.l2_squared)

    def to_json(self) -> dict[str, object]:
        return {**noise_json(self.noise), "branching": str(self.branching), "levels": str(self.levels)}

    def said(self) -> str:
        return (
            f"a tree of counts, {self.levels} levels of {self.branching}, with {noise_said(self.noise)} noise on each"
        )


def _listed(rates: Iterable[Fraction]) -> str:
    return ", ".join(exact_text(rate) for rate in rates)


Mechanism = Noisy | Selected | Tree


def noise_said(noise: AnswerNoise) -> str:
    return "discrete Laplace" if noise.pure else "discrete Gaussian"


def mechanism_of(aggregate: Aggregate, sought: Sought, budget: Price, neighbours: Neighbours) -> Mechanism:
    """The best mechanism known for what is asked, at a cost of at most the budget."""
    if isinstance(aggregate, Choose):
        return _chosen(sought, budget, neighbours)
    if isinstance(aggregate, Quantiles) and len(aggregate.shares) <= FEW_QUANTILES:
        spent = None if aggregate.interval is None else aggregate.interval.value
        return _quantiles([one.value for one in aggregate.shares], sought, budget, neighbours, spent)
    if isinstance(aggregate, Quantiles) and aggregate.interval is not None:
        raise UsageError(f"more than {FEW_QUANTILES} quantiles have intervals already: leave 'interval' out")
    if isinstance(aggregate, Quantiles | Cumulative):
        branching, levels = tree_shape(sought.grid_size, not budget.gaussian[0], isinstance(aggregate, Quantiles))
        move = sought.move.times(levels)
        return Tree(noise_for(move, budget), move, branching, levels)
    return Noisy(noise_for(sought.move, budget), sought.move)


def noise_for(move: UnitMove, budget: Price) -> AnswerNoise:
    """The least noise that hides a move at no more than the budget."""
    kind = DiscreteGaussian if budget.gaussian[0] else DiscreteLaplace
    try:
        return kind.at_least(kind.parameter_for(budget.amount, move.l1, move.l2_squared))
    except RefusedError:
        raise RefusedError(
            "this budget needs noise too large or too small to be drawn exactly: change the budget, or ask about a "
            "coarser number, such as income // 100"
        ) from None


@lru_cache(maxsize=256)
def tree_shape(size: int, pure: bool, shares: bool = False) -> tuple[int, int]:
    """The branching and the levels below the root with the least mean variance of sums from the start of a grid; with
    ``shares``, of these less their share of all, which is what quantiles are found by.

    With h levels of b the variance of each count is h² times that of a single one in ε, and h times in ρ; what all
    levels say together is known before anything is drawn. Large grids are looked at in some places.
    """
    spots = np.unique(np.linspace(1, size, _SPOTS).astype(np.int64))

    def error(shape: tuple[int, int]) -> float:
        branching, levels = shape
        less = spots / size if shares else 0.0
        return float(variances_at(spots, branching, levels, less).mean()) * levels ** (2 if pure else 1)

    shapes = {(max(2, ceil(size ** (1 / h) - 1e-9)), h) for h in range(1, max(2, size.bit_length()))}
    return min(sorted(shape for shape in shapes if shape[0] ** shape[1] >= size), key=error)


def _quantiles(
    shares: list[Fraction], sought: Sought, budget: Price, neighbours: Neighbours, spent: Fraction | None
) -> Selected:
    """Loss |(q − p) · below − p · above| for the share p/q: a row changes it by at most max(p, q − p), and so it does
    the losses of the ends of an interval (`end_losses`), on which a share of the budget may be spent.
    """
    pure, parts = not budget.gaussian[0], [(share, larger_of(share)) for share in shares]
    value = 1 - (spent or Fraction(0))
    several = [_rate(share, value / len(shares), sought, budget, neighbours) for share in shares]
    rates = [row / (2 * larger * share.denominator) for (row, _), (share, larger) in zip(several, parts, strict=True)]
    amount = sum((cost for _, cost in several), start=Fraction(0))
    if spent is None:
        return Selected(tuple(rates), amount, flips=pure)
    of_ends = [_rate(share, spent / (2 * len(shares)), sought, budget, neighbours) for share in shares]
    found = [row / (2 * larger * share.denominator) for (row, _), (share, larger) in zip(of_ends, parts, strict=True)]
    nats = log(sought.grid_size) + log(2 / (1 - LEVEL))
    ends = tuple((rate, ceil(nats / float(rate))) for rate in found)
    amount += sum((2 * cost for _, cost in of_ends), start=Fraction(0))
    return Selected(tuple(rates), amount, pure, ends)


def larger_of(share: Fraction) -> Fraction:
    return max(share, 1 - share)


def _rate(
    share: Fraction, part: Fraction, sought: Sought, budget: Price, neighbours: Neighbours
) -> tuple[Fraction, Fraction]:
    """How much a row may change the log of a probability, for a part of the budget, and what that costs.

    A probability ∝ exp(−γ · loss / (2 max(p, q − p))) moves by a factor of at most e^γ for each row that comes or goes,
    so for all groups together by e^(γ · rows). A replaced unit takes rows away and adds others.
    """
    added = added_rows(sought.bounds)
    single = sought.bounds.cells == 1
    factor = Fraction(1) if neighbours == "add-remove" else 1 / larger_of(share) if single else Fraction(2)
    return _selection(budget, part, added.l1 * factor, added.l2_squared * factor**2)


def _chosen(sought: Sought, budget: Price, neighbours: Neighbours) -> Selected:
    """Loss: how many rows fewer than the most. A unit raises all counts by 0 to its rows, so differences of losses
    change by at most that; a replaced one lowers one count and raises another. Either selection costs that range times
    the rate, the exponential mechanism the square of it over 8 in ρ.
    """
    reach = sought.bounds.rows * (1 if neighbours == "add-remove" else 2)
    rate, cost = _selection(budget, Fraction(1), Fraction(reach), Fraction(reach**2))
    return Selected((rate,), cost, flips=not budget.gaussian[0])


def _selection(budget: Price, part: Fraction, l1: Fraction, l2_squared: Fraction) -> tuple[Fraction, Fraction]:
    """The rate of selections whose losses move by so much, for a part of the budget, and what that costs."""
    if budget.gaussian[0]:
        rate = _root(8 * budget.amount * part / l2_squared)
        return rate, rate**2 * l2_squared / 8
    rate = _short(budget.amount * part / l1)
    return rate, rate * l1


def _root(square: Fraction) -> Fraction:
    """The square root, rounded down to about forty binary digits."""
    shift = max(0, _ROOT_BITS - (square.numerator.bit_length() - square.denominator.bit_length()) // 2)
    found = Fraction(isqrt((square.numerator << 2 * shift) // square.denominator), 1 << shift)
    if not found:
        raise RefusedError("the budget is too small for a selection: spend more")
    return found


def _short(rate: Fraction) -> Fraction:
    """The rate itself, or a shorter fraction just below it."""
    if rate.denominator < 1 << 40:
        return rate
    shift = max(0, _ROOT_BITS - (rate.numerator.bit_length() - rate.denominator.bit_length()))
    return Fraction((rate.numerator << shift) // rate.denominator, 1 << shift)
