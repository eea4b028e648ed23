from fractions import Fraction
from math import log, sqrt

import pytest

from margrave.budget.accountant import epsilon_of, rho_within, rounded_down

DELTA = Fraction(1, 10**6)


def test_zcdp_to_approximate_is_between_the_best_possible_and_the_simple_bound():
    for rho in (Fraction(1, 1000), Fraction(1, 10), Fraction(2)):
        found = float(epsilon_of(rho, DELTA))
        simple = float(rho) + 2 * sqrt(float(rho) * log(1e6))
        assert 0.7 * simple < found < simple


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/1000", "1/10", "1", "20"])
@pytest.mark.parametrize("delta", ["1/1000000000", "1/100"])
def test_the_largest_rho_is_within_and_tight(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    rho = rho_within(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho * (1 + Fraction(1, 10**6)), delta) > epsilon


def test_rounding_down_loses_little_and_never_gains():
    for number in (Fraction(1, 3), Fraction(10**30, 7), Fraction(1, 10**30)):
        down = rounded_down(number)
        assert down <= number <= down * (1 + Fraction(1, 2**38))
    assert rounded_down(Fraction(0)) == 0
