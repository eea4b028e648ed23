"""The likelihood ratio: a simple fraction, at most e^ε, and hardly below it."""

from fractions import Fraction
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.errors import RefusedError
from margrave.noise.exact import exp_bounds
from margrave.planning.local.odds import Odds, simplest


def test_the_logarithm_of_three_gives_three():
    assert Odds.of(Fraction("1.0986122886681098")) == Odds(3, 1)
    assert str(Odds(3, 1)) == "3"
    assert Odds(3, 1).gain == 2


@given(st.fractions(Fraction(1, 100), 20, max_denominator=10**6))
def test_odds_are_at_most_e_to_epsilon_and_hardly_below(epsilon):
    odds = Odds.of(epsilon)
    low = exp_bounds(epsilon, 200)[0]
    assert odds.ratio * low <= 1 << 200  # odds ≤ e^ε, exactly
    assert odds.epsilon == pytest.approx(float(epsilon), abs=2e-6)
    assert odds.denominator <= 10_000


@pytest.mark.parametrize("epsilon", ["0.001", "21"])
def test_an_epsilon_that_helps_nobody_is_refused(epsilon):
    with pytest.raises(RefusedError, match=r"between 0\.01 and 20"):
        Odds.of(Fraction(epsilon))


@given(st.fractions(1, 100), st.fractions(Fraction(1, 1000), 1))
def test_the_simplest_fraction_lies_in_the_interval_and_no_simpler_one_does(low, width):
    found = simplest(low, low + width)
    assert low <= found <= low + width
    assert not any(
        low <= Fraction(round(float(low + width / 2) * d), d) <= low + width for d in range(1, found.denominator)
    )


def test_epsilon_of_the_coins_is_told():
    assert Odds(5, 2).epsilon == pytest.approx(log(2.5))
    assert exp(Odds.of(Fraction(1)).epsilon) == pytest.approx(2.718281, abs=3e-6)
