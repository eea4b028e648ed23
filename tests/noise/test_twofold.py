"""Two noises on one count: the distribution of the sum, neither narrower nor wider, and that it costs no more."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from margrave.errors import UsageError
from margrave.noise import DiscreteLaplace, Generator, TwofoldLaplace
from margrave.noise.sums import Term, WeightedSum

NOISES = [TwofoldLaplace(Fraction(1), 20), TwofoldLaplace(Fraction(4), 60), TwofoldLaplace(Fraction(1, 2), 3)]


@pytest.mark.parametrize("noise", NOISES)
def test_its_moments_and_its_characteristic_function_are_those_of_its_distribution(noise):
    z = np.arange(-600, 601)
    p = noise.pmf(z)
    assert p.sum() == pytest.approx(1, abs=1e-9)
    assert (p * z**2).sum() == pytest.approx(noise.variance, rel=1e-9)
    for t in (0.1, 1.0, 3.0):
        assert np.exp(noise.log_characteristic(t)) == pytest.approx((p * np.cos(t * z)).sum(), rel=1e-6)
    for far in (3, 10, 40):
        assert float(noise.tail(far)) >= p[np.abs(z) > far].sum() * (1 - 1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_what_is_drawn_has_its_variance_and_no_other(noise):
    drawn = noise.sample(60_000, Generator.seeded("twofold"))
    assert drawn.var() == pytest.approx(noise.variance, rel=0.06)
    assert drawn.var() != pytest.approx(DiscreteLaplace(noise.scale).variance, rel=0.3)
    width = WeightedSum.of([Term(1.0, 1, noise)]).half_width(0.95)
    assert (np.abs(drawn) <= width).mean() > 0.945 > (np.abs(drawn) < int(width)).mean() - 0.01


@pytest.mark.parametrize("noise", NOISES)
def test_to_everybody_else_it_protects_at_least_as_well_as_the_first_alone(noise):
    z = np.arange(-80, 81)
    here, there = noise.pmf(z), noise.pmf(z - 1)
    assert (here / there).max() <= exp(1 / float(noise.scale)) * (1 + 1e-9)


def test_it_is_no_plain_laplace_and_needs_a_reach():
    assert TwofoldLaplace(Fraction(1), 20) != DiscreteLaplace(Fraction(1))
    assert TwofoldLaplace(Fraction(1), 20) != TwofoldLaplace(Fraction(1), 21)
    assert TwofoldLaplace(Fraction(1), 20).safe_tail(4) == DiscreteLaplace(Fraction(1)).safe_tail(4) + 20
    with pytest.raises(UsageError, match="reach"):
        TwofoldLaplace(Fraction(1), 0)
