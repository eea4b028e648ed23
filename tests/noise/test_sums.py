from fractions import Fraction
from math import erf, sqrt

import numpy as np
import pytest

from margrave.errors import UsageError
from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.noise.sums import Term, WeightedSum

LAPLACE = DiscreteLaplace(Fraction(3))


def exact_distribution(terms, span=400):
    """The distribution of a sum with whole-number weights, by convolution."""
    total = np.zeros(2 * span + 1)
    total[span] = 1
    z = np.arange(-span, span + 1)
    for term in terms:
        for _ in range(term.count):
            single = np.zeros_like(total)
            values = term.noise.pmf(np.arange(-span, span + 1))
            for k in range(-span // int(abs(term.weight)), span // int(abs(term.weight)) + 1):
                single[span + k * int(term.weight)] += values[span + k]
            total = np.convolve(total, single)[span : 3 * span + 1]
    return z, total


@pytest.mark.parametrize(
    "terms",
    [
        [Term(1.0, 1, LAPLACE)],
        [Term(2.0, 1, LAPLACE), Term(-1.0, 3, DiscreteLaplace(Fraction(1)))],
        [Term(1.0, 2, DiscreteGaussian(Fraction(5))), Term(3.0, 1, DiscreteGaussian(Fraction(2)))],
    ],
)
def test_half_widths_and_mean_equal_convolution(terms):
    sums = WeightedSum.of(terms)
    z, probabilities = exact_distribution(terms)
    assert sums.variance == pytest.approx((z**2 * probabilities).sum(), rel=1e-6)
    assert sums.mean_absolute() == pytest.approx((np.abs(z) * probabilities).sum(), rel=1e-3)
    for level in (0.5, 0.9, 0.95, 0.99, 0.9999):
        width = sums.half_width(level)
        assert probabilities[np.abs(z) <= width].sum() >= level - 1e-6
        assert probabilities[np.abs(z) <= width - 1.2].sum() < level


def test_a_laplace_needs_more_than_the_normal_half_width():
    sigma = sqrt(LAPLACE.variance)
    sums = WeightedSum.of([Term(1.0, 1, LAPLACE)])
    assert sums.within(1.96 * sigma) < 0.95 < sums.within(2.2 * sigma)


def test_many_terms_are_nearly_normal():
    sums = WeightedSum.of([Term(0.1, 1000, LAPLACE)])
    assert sums.within(sqrt(sums.variance)) == pytest.approx(erf(1 / sqrt(2)), abs=2e-3)


def test_nothing_is_the_constant_zero():
    nothing = WeightedSum.of([Term(0.0, 5, LAPLACE), Term(1.0, 0, LAPLACE)])
    assert (nothing.variance, nothing.half_width(0.95), nothing.mean_absolute(), nothing.within(0)) == (0, 0, 0, 1)


@pytest.mark.parametrize("weight", [1e-17, 1.0])
def test_far_beyond_everything_all_is_within(weight):
    for terms in ([Term(weight, 1, LAPLACE)], [Term(weight, 1, LAPLACE), Term(weight * sqrt(2), 1, LAPLACE)]):
        sums = WeightedSum.of(terms)
        for half_width in (300.0, 3e3, 3e5, 7e17):
            assert sums.within(half_width) == pytest.approx(1.0, abs=1e-8)
            assert sums.reaches(half_width, 0.999)


def test_levels_are_checked():
    with pytest.raises(UsageError, match="between 0 and 1"):
        WeightedSum.of([Term(1.0, 1, LAPLACE)]).half_width(1.0)


def test_many_terms_are_summed_as_few_are(monkeypatch):
    """Equal terms are counted together, and frequencies where nothing is left are dropped: nobody can tell."""
    noises = [DiscreteLaplace(Fraction(n, 3)) for n in range(2, 9)]
    terms = [Term(0.1 + n % 37, 1 + n % 2, noises[n % 7]) for n in range(300)]
    monkeypatch.setattr("margrave.noise.sums._MANY_TERMS", 100)
    quick = WeightedSum.of(terms)
    assert 64 < len(quick.terms) < 300
    assert quick.half_width(0.9) > 0  # its characteristic function is kept
    monkeypatch.setattr("margrave.noise.sums._FEW_TERMS", 1000)
    monkeypatch.setattr("margrave.noise.sums._MANY_TERMS", 1000)
    slow = WeightedSum.of(terms)
    assert len(slow.terms) == 300
    assert quick.variance == pytest.approx(slow.variance, rel=1e-12)
    assert quick.mean_absolute() == pytest.approx(slow.mean_absolute(), rel=1e-9)
    for level in (0.5, 0.95, 0.999):
        assert quick.half_width(level) == pytest.approx(slow.half_width(level), rel=1e-9)
