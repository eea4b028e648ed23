"""How the budget of a plan that looks at the data is divided among its rounds, before any data is opened.

The rounds are public: their number, and in each the rate of the selection and the noise of what is selected. Only
*which* tables are selected comes from the data. Later rounds get more: while the model is wrong in many places little
noise is not needed to see where. What is left for the end is divided by what was seen
(:mod:`margrave.planning.looking.dividing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt

from margrave.budget.accountant import rounded_down
from margrave.budget.events import Protection, Rest, Round, Selection, moved_cells
from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.noise.selection import checked_rate

SELECTING = Fraction(1, 10)
"""The part of a round that pays for its selection."""
_MOST_ROUNDS = 96
_PARTS, _FEWEST = 8, 1024
"""The rest of a budget has so many parts for each query that can get some, and at least so many."""


@dataclass(frozen=True)
class Pace:
    """How what is left after the fixed measurements is spent. ``rounds``: how many there are for each attribute.

    ``stages``: what a round gets, relative to others, in each of equally long runs of rounds; a few sizes for all,
    since the cost is an exact fraction, whose digits grow with the number of different ones. ``looking``: the part of
    it that rounds get; the rest is divided after them.
    """

    rounds: Fraction
    stages: tuple[int, ...]
    looking: Fraction

    def count(self, attributes: int) -> int:
        """How many rounds there are for so many attributes."""
        return min(ceil(self.rounds * attributes), _MOST_ROUNDS)

    def sizes(self, count: int) -> list[int]:
        """What each of so many rounds gets, relative to others."""
        return [self.stages[at * len(self.stages) // count] for at in range(count)]


LAPLACE, GAUSSIAN = Pace(Fraction(3, 2), (1, 2, 4), Fraction(1)), Pace(Fraction(1), (1, 2), Fraction(5, 11))
"""Laplace noise does worse the more questions share a budget, so that nothing is left to be divided among many."""


def pace(gaussian: bool) -> Pace:
    return GAUSSIAN if gaussian else LAPLACE


def make_rest(budget: Fraction, queries: int) -> Rest:
    """What is left of a budget, for one record, in parts that so many queries can get."""
    parts = rest_parts(queries)
    return Rest(parts, rounded_down(budget / parts))


def rest_parts(queries: int) -> int:
    """How many parts the rest of a budget has for so many queries."""
    return max(_FEWEST, 1 << (_PARTS * queries - 1).bit_length())


def make_rounds(budget: Fraction, count: int, gaussian: bool, protection: Protection, weight: int) -> tuple[Round, ...]:
    """So many rounds that together cost one record no more than the budget. ``weight``: see `Selection`."""
    moved = moved_cells(protection)
    sizes = pace(gaussian).sizes(count)
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
