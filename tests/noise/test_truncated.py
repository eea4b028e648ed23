"""Truncated noise: its exact δ by enumeration, and that what is drawn is neither narrower nor wider."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from margrave.errors import UsageError
from margrave.noise import Generator, TruncatedLaplace

SHAPES = [(Fraction(1), 1), (Fraction(1), 5), (Fraction(5, 2), 12), (Fraction(1, 3), 4), (Fraction(20), 3)]


def hockey_stick(noise, epsilon):
    """max over outcomes sets of P(S) − e^ε Q(S), for a count of n and one of n + 1, by enumeration."""
    z = np.arange(-noise.reach - 1, noise.reach + 2)
    here, there = noise.pmf(z), noise.pmf(z - 1)
    return max(np.maximum(p - exp(epsilon) * q, 0).sum() for p, q in ((here, there), (there, here)))


@pytest.mark.parametrize(("scale", "reach"), SHAPES)
def test_the_delta_is_that_of_the_worst_set_of_outcomes(scale, reach):
    noise = TruncatedLaplace(scale, reach)
    assert noise.pmf(np.arange(-reach, reach + 1)).sum() == pytest.approx(1, abs=1e-12)
    assert hockey_stick(noise, float(1 / scale)) == pytest.approx(float(noise.delta), rel=1e-7)
    assert float(noise.delta) >= float(noise.pmf(reach)) * (1 - 1e-12)


@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 10**12)])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(10), Fraction(1, 900)])
def test_the_least_reach_with_a_delta_is_found(scale, delta):
    noise = TruncatedLaplace.for_delta(scale, delta)
    assert noise.delta <= delta
    assert noise.reach == 1 or TruncatedLaplace(scale, noise.reach - 1).delta > delta


@pytest.mark.parametrize(("scale", "reach"), SHAPES)
def test_draws_have_the_distribution_and_no_other(scale, reach):
    drawn = TruncatedLaplace(scale, reach).sample(40_000, Generator.seeded("truncated"))
    z = np.arange(-reach, reach + 1)
    seen = (drawn[:, np.newaxis] == z).sum(axis=0)
    assert seen.sum() == len(drawn)
    for wrong, accepted in ((1.0, True), (0.7, False), (1.4, False)):
        expected = TruncatedLaplace(scale * Fraction(wrong), reach).pmf(z) * len(drawn)
        kept = expected > 4
        merged = [np.append(one[kept], one[~kept].sum() + 1e-9) for one in (seen, expected)]
        value = chisquare(merged[0], merged[1] * merged[0].sum() / merged[1].sum()).pvalue
        assert (value > 1e-4) == accepted or scale > 3 * reach  # a nearly flat distribution says little of its scale
    assert drawn.var() == pytest.approx(TruncatedLaplace(scale, reach).variance, rel=0.05)


@pytest.mark.parametrize(("scale", "reach"), [(Fraction(1), 0), (Fraction(1), -3), (Fraction(1), 1 << 40)])
def test_a_reach_that_cannot_be_is_refused(scale, reach):
    with pytest.raises(UsageError, match="reach"):
        TruncatedLaplace(scale, reach)


def test_a_delta_that_no_reach_has_is_refused():
    with pytest.raises(UsageError, match="raise epsilon or delta"):
        TruncatedLaplace.for_delta(Fraction(1 << 45), Fraction(1, 10**9))
    with pytest.raises(UsageError, match="greater than 0"):
        TruncatedLaplace.for_delta(Fraction(1), Fraction(0))


def test_a_delta_that_is_as_good_as_none_is_found_at_once_and_is_no_less_than_it_is():
    noise = TruncatedLaplace.for_delta(Fraction(1, 10**9), Fraction(1, 10**9))
    assert noise.reach == 1 and 0 < noise.delta < Fraction(1, 2**4000)
