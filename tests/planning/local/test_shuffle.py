"""Amplification by shuffling: the published theorem, to the safe side, and only where it applies."""

from fractions import Fraction
from math import exp, log, sqrt

import pytest

from margrave.planning.local.odds import Odds
from margrave.planning.local.shuffle import shuffled

DELTA = Fraction(1, 10**9)


def theorem(ratio, reports, delta):
    inside = 8 * sqrt(ratio * log(4 / delta) / reports) + 8 * ratio / reports
    return log(1 + (ratio - 1) / (ratio + 1) * inside)


@pytest.mark.parametrize(("epsilon", "reports"), [("2", 48_842), ("1", 20_000), ("3", 10**6), ("0.5", 10**9)])
def test_the_guarantee_is_that_of_the_theorem_and_never_below(epsilon, reports):
    odds = Odds.of(Fraction(epsilon))
    found = shuffled(odds, reports, DELTA).guarantee
    wanted = theorem(float(odds.ratio), reports, float(DELTA))
    assert wanted - 1e-12 <= found.epsilon <= wanted + 1.1e-6
    assert found.delta == DELTA


def test_two_becomes_three_tenths_for_the_people_of_the_census():
    assert float(shuffled(Odds.of(Fraction(2)), 48_842, DELTA).guarantee.epsilon) == pytest.approx(0.30, abs=0.005)


def test_where_the_condition_fails_nothing_is_promised():
    odds = Odds.of(Fraction(2))
    least = 16 * exp(2) * log(2e9)
    assert shuffled(odds, int(least) - 1, DELTA).guarantee is None
    assert shuffled(odds, int(least) + 2, DELTA).guarantee is not None


def test_the_shuffled_guarantee_is_never_worse_than_the_local_one():
    odds = Odds.of(Fraction(3))
    few = int(16 * exp(3) * log(2e9)) + 2
    assert shuffled(odds, few, DELTA).guarantee.epsilon <= Fraction(3)
