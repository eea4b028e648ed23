from fractions import Fraction

import numpy as np
import pytest

from margrave.noise import NOISES, DiscreteGaussian, DiscreteLaplace, TwofoldLaplace

EXAMPLES = [one(Fraction(size)) for one in (DiscreteLaplace, DiscreteGaussian) for size in (2, 30)]
EXAMPLES.append(TwofoldLaplace(Fraction(7, 3), 20))
EACH = pytest.mark.parametrize("noise", EXAMPLES, ids=str)


def test_every_kind_has_an_example():
    assert {one.kind for one in EXAMPLES} == set(NOISES)


@EACH
def test_noise_is_known_by_its_kind_and_parameters(noise):
    assert NOISES[noise.kind].of(**noise.parameters) == noise


@EACH
def test_half_the_price_is_more_noise(noise):
    less = noise.dearer(Fraction(1, 2))
    assert type(less) is type(noise) and less.price(4, 5) == noise.price(4, 5) / 2 and less.variance > noise.variance


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_noise_costs_what_it_was_made_to_cost(kind):
    assert kind(kind.parameter_for(Fraction(7, 3), 4, 5)).price(4, 5) == Fraction(7, 3)


@EACH
def test_the_price_is_proportional_to_one_distance(noise):
    for l1, l2 in ((1, 1), (2, 7), (9, 3)):
        assert noise.price(l1, l2) == noise.price(1, 1) * noise.distance(l1, l2)


@EACH
def test_the_fourth_cumulant_is_that_of_the_distribution(noise):
    z = np.arange(-3000, 3001)
    chance = noise.pmf(z)
    true = (chance * z.astype(float) ** 4).sum() - 3 * (chance * z.astype(float) ** 2).sum() ** 2
    assert noise.fourth_cumulant == pytest.approx(true, rel=1e-6, abs=1e-3 * noise.variance**2)
