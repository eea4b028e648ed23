"""Lower bounds on the privacy loss: they hold as often as they say, and they reach what there is to see."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Generator
from margrave.study.audit.bounds import clopper_pearson, loss_at_least, loss_shown

pytestmark = pytest.mark.slow

ONE = PureDP(Fraction(1))


def scores(noise, count, generator, shift):
    return (noise.sample(count, generator) + shift).astype(float)


@pytest.mark.parametrize("hits", [0, 1, 7, 50, 100])
def test_the_bounds_on_a_probability_are_those_of_clopper_and_pearson(hits):
    low, high = clopper_pearson(hits, 100, 0.005)
    exact = binomtest(hits, 100).proportion_ci(0.99, method="exact")
    assert (float(low), float(high)) == pytest.approx((exact.low, exact.high))


def test_laplace_noise_shows_nearly_all_of_its_epsilon():
    generator = Generator.seeded("bounds")
    noise = DiscreteLaplace(Fraction(1))
    near, far = (scores(noise, 500_000, generator, shift) for shift in (1, 0))
    shown = loss_at_least(ONE, near, far, 0.999)
    assert 0.95 <= shown.loss <= 1.0


def test_the_bound_fails_no_more_often_than_it_says():
    """At a confidence of 0.8 one bound in five may be too high: with few samples, and the event chosen from them."""
    generator = Generator.seeded("coverage")
    noise = DiscreteLaplace(Fraction(1))
    failed = 0
    for _ in range(400):
        near, far = (scores(noise, 300, generator, shift) for shift in (1, 0))
        failed += loss_at_least(ONE, near, far, 0.8).loss > 1
    assert failed <= 400 * 0.2
    assert failed > 0, "a bound that never fails at this confidence is too low to be of use"


def test_an_order_of_scores_that_tells_nothing_shows_nothing():
    generator = Generator.seeded("same")
    near, far = (scores(DiscreteLaplace(Fraction(1)), 5000, generator, 0) for _ in range(2))
    assert loss_at_least(ONE, near, far, 0.999).loss < 0.2


def test_a_score_that_speaks_for_the_other_side_shows_nothing_and_accuses_nobody():
    generator = Generator.seeded("turned")
    noise = DiscreteLaplace(Fraction(1))
    near, far = (scores(noise, 100_000, generator, shift) for shift in (0, 1))
    assert loss_at_least(ONE, near, far, 0.999).loss < 0.1


def test_delta_is_taken_off_and_rho_is_not_overstated():
    low, high = np.array([0.5, 0.01]), np.array([0.1, 0.001])
    pure = loss_shown(ONE, low, high)
    some = loss_shown(ApproxDP(Fraction(1), Fraction(1, 100)), low, high)
    assert pure == pytest.approx(np.log([5, 10])) and some[0] == pytest.approx(np.log(4.9)) and some[1] == 0
    generator = Generator.seeded("rho")
    noise = DiscreteGaussian(Fraction(1))
    near, far = (scores(noise, 200_000, generator, shift) for shift in (1, 0))
    assert 0.25 < loss_at_least(ZCDP(Fraction(1, 2)), near, far, 0.999).loss <= 0.5


def test_rho_of_two_coins_is_the_rényi_divergence_over_its_order():
    p, q = 0.6, 0.3
    at_two = np.log(p**2 / q + (1 - p) ** 2 / (1 - q)) / 2
    assert float(loss_shown(ZCDP(Fraction(1)), np.array([p]), np.array([q]))[0]) >= at_two - 1e-3
