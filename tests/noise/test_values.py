"""The values of a sum one by one, and in bins: never more than is true, and all of it where they can be listed."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.noise.sums import Term, WeightedSum
from margrave.noise.values import BinnedSum, ListedSum

GOLDEN = (sqrt(5) - 1) / 2
SUMS = [
    [(GOLDEN, 1, DiscreteGaussian(Fraction(2))), (1 - GOLDEN, 1, DiscreteGaussian(Fraction(3)))],
    [(GOLDEN, 2, DiscreteLaplace(Fraction(1, 2))), (1.0, 1, DiscreteLaplace(Fraction(1, 3)))],
    [(0.3, 1, DiscreteGaussian(Fraction(1))), (0.3 * GOLDEN, 2, DiscreteLaplace(Fraction(1, 3)))],
]


def convolved(draws):
    """Every value, to ten digits, with its probability."""
    values, chances = np.zeros(1), np.ones(1)
    for weight, count, noise in draws:
        z = np.arange(-16, 17)
        for _ in range(count):
            every = np.round(np.add.outer(values, weight * z).ravel(), 10)
            values, places = np.unique(every, return_inverse=True)
            chances = np.bincount(places, weights=np.multiply.outer(chances, noise.pmf(z)).ravel())
    return values, chances


@pytest.mark.parametrize("draws", SUMS)
def test_listed_values_and_bins_say_what_a_convolution_says(draws):
    at, chances = convolved(draws)
    values, bins = ListedSum.of(draws), BinnedSum.of(draws)
    for half_width in (0.0, 1.0, 1.5, 2.0, 2.0 * GOLDEN, 3.0, 1 + GOLDEN):
        exact = chances[np.abs(at) <= half_width + 1e-8].sum()
        assert exact - 1e-8 <= values.within(half_width) <= exact
        assert bins.within(half_width) <= exact
        assert bins.within(half_width + 3 * bins.slack) >= exact - 1e-8
        assert bins.at_most(half_width) >= exact


@pytest.mark.parametrize("draws", SUMS)
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_a_half_width_is_the_least_value_that_is_enough_and_it_reaches(draws, level):
    at, chances = convolved(draws)
    order = np.argsort(np.abs(at))
    least = np.abs(at)[order][np.searchsorted(np.cumsum(chances[order]), level)]
    sums = WeightedSum.of([Term(*one) for one in draws])
    assert sums.half_width(level) == pytest.approx(least, abs=1e-6)
    assert sums.reaches(least, level)
    assert not sums.reaches(least - 1e-4, level)


def test_too_many_values_are_not_listed_and_bins_round_to_the_safe_side():
    """A Gaussian of ten weights: a half-width that is short by a thousandth of σ is not said to be enough."""
    terms = [Term(1 + GOLDEN * index, 2, DiscreteGaussian(Fraction(40))) for index in range(10)]
    sums, normal = WeightedSum.of(terms), 2.5758293
    assert ListedSum.of([(term.weight, term.count, term.noise) for term in terms]) is None
    sigma = sqrt(sums.variance)
    assert sums.reaches((normal + 0.002) * sigma, 0.99)
    assert not sums.reaches((normal - 0.0005) * sigma, 0.99)
    assert sums.half_width(0.99) == pytest.approx(normal * sigma, rel=3e-5)


def test_without_a_list_or_bins_a_finer_blur_tells():
    """Noise of a million values with two weights: neither can be listed."""
    noise = DiscreteGaussian(Fraction(10**11))
    sums = WeightedSum.of([Term(1.0, 1, noise), Term(GOLDEN, 1, noise)])
    sigma = sqrt(sums.variance)
    assert BinnedSum.of([(1.0, 1, noise)]) is None
    assert sums.reaches(1.965 * sigma, 0.95) and not sums.reaches(1.9595 * sigma, 0.95)
