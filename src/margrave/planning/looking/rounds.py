"""How the budget of a plan that looks at the data is divided among its rounds, before any data is opened.

The rounds are public: their number, and in each the rate of the selection and the noise of what is selected. Only
*which* tables are selected comes from the data. Later rounds get more: while the model is wrong in many places little
noise is not needed to see where, and what is measured at the end is where most is to be gained.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isqrt

from margrave.budget.accountant import rounded_down
from margrave.budget.events import Protection, Round, Selection, moved_cells
from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.noise.selection import checked_rate

SELECTING = Fraction(1, 10)
"""The part of a round that pays for its selection."""
STAGES = (1, 2, 4)
"""What a round gets, relative to others, in the first third of the rounds, in the second and in the last. A few sizes
for all: the cost is an exact fraction, whose digits grow with the number of different ones.
"""
_PER_ATTRIBUTE, _MOST_ROUNDS = Fraction(3, 2), 96
"""Rounds for each attribute, and the most there are."""


def round_count(attributes: int) -> int:
    """How many rounds there are for so many attributes."""
    return min(ceil(_PER_ATTRIBUTE * attributes), _MOST_ROUNDS)


def make_rounds(budget: Fraction, count: int, gaussian: bool, protection: Protection, weight: int) -> tuple[Round, ...]:
    """So many rounds that together cost one record no more than the budget. ``weight``: see `Selection`."""
    moved = moved_cells(protection)
    sizes = [STAGES[at * len(STAGES) // count] for at in range(count)]
    kind = DiscreteGaussian if gaussian else DiscreteLaplace
    rounds = []
    for size in sizes:
        share = budget * size / sum(sizes)
        epsilon = _root(8 * share * SELECTING) if gaussian else share * SELECTING
        rate = checked_rate(rounded_down(epsilon / (2 * weight * moved)))
        noise = kind.at_least(kind.parameter_for(rounded_down(share * (1 - SELECTING)), moved, moved))
        rounds.append(Round(Selection(rate, not gaussian, weight), noise))
    return tuple(rounds)


def _root(number: Fraction) -> Fraction:
    """The square root, rounded down to about 64 bits."""
    scale = 1 << max(0, 64 - (number.numerator.bit_length() - number.denominator.bit_length()) // 2)
    return Fraction(isqrt(number.numerator * scale**2 // number.denominator), scale)
