"""Probabilities, variances, characteristic functions and tails against sums; rounding upwards; refusals."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.errors import RefusedError, UsageError
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Noise, safe_tail

SCALES = [Fraction(s) for s in ("0.1", "0.3", "0.45", "0.5", "0.55", "1", "2.5", "40")]
NOISES: list[Noise] = [make for s in SCALES for make in (DiscreteLaplace(s), DiscreteGaussian(s**2))]


def law(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Support and probabilities, normalised by summing."""
    z = np.arange(-2000, 2001)
    if isinstance(noise, DiscreteLaplace):
        weights = np.exp(-np.abs(z) / float(noise.scale))
    else:
        assert isinstance(noise, DiscreteGaussian)
        weights = np.exp(-(z.astype(float) ** 2) / (2 * float(noise.sigma_squared)))
    return z, weights / weights.sum()


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_pmf_variance_and_tail_are_the_sums(noise: Noise) -> None:
    z, weights = law(noise)
    np.testing.assert_allclose(noise.pmf(z), weights, rtol=1e-12, atol=1e-300)
    assert noise.variance == pytest.approx(float(np.sum(z**2 * weights)), rel=1e-12)
    bounds = np.arange(60)
    sums = [weights[np.abs(z) > bound].sum() for bound in bounds]
    np.testing.assert_allclose(noise.tail(bounds), sums, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(noise.tail(bounds + 0.5), sums, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_characteristic_function_is_the_sum(noise: Noise) -> None:
    z, weights = law(noise)
    t = np.concatenate([np.linspace(-7, 7, 57), [0.0, np.pi, 2 * np.pi, 20.0]])
    direct = np.cos(np.outer(t, z)) @ weights
    visible = direct > 1e-12
    np.testing.assert_allclose(np.exp(noise.log_characteristic(t)), direct, rtol=1e-9, atol=2e-15)
    np.testing.assert_allclose(noise.log_characteristic(t)[visible], np.log(direct[visible]), rtol=1e-3, atol=1e-12)
    assert noise.log_characteristic(0.0) == pytest.approx(0.0, abs=1e-14)
    assert noise.log_characteristic(t.reshape(1, -1)).shape == (1, t.size)


def test_characteristic_function_of_wide_noise() -> None:
    t = np.linspace(0, np.pi, 9)
    np.testing.assert_allclose(
        DiscreteGaussian(Fraction(10**6)).log_characteristic(t), -(10**6) * t**2 / 2, rtol=1e-12, atol=1
    )
    wide = DiscreteLaplace(Fraction(10**6))
    np.testing.assert_allclose(wide.log_characteristic(1e-6 * t), -np.log1p(t**2), rtol=1e-9)


def test_variances_that_underflow_become_weights() -> None:
    for size in (700, 745, 800, 10**6):
        assert DiscreteLaplace(Fraction(1, size)).variance == pytest.approx(2 / size**2)
        assert np.all(DiscreteLaplace(Fraction(1, size)).log_characteristic(np.arange(4)) == 0)
        assert DiscreteGaussian(Fraction(1, 2 * size)).variance == pytest.approx(1 / (2 * size))
    assert DiscreteLaplace(Fraction(1, 699)).variance == pytest.approx(2 * np.exp(-699.0))
    assert DiscreteLaplace(Fraction(10**9)).variance == pytest.approx(2e18)


def test_gaussian_variance_never_exceeds_its_parameter() -> None:
    for v in (Fraction(1, 1000), Fraction(1, 8), Fraction(1, 2), Fraction(3), Fraction(8)):
        assert DiscreteGaussian(v).variance <= float(v) * (1 + 1e-15)
    assert DiscreteGaussian(Fraction("8.01")).variance == 8.01


def test_gaussian_tail_bound_is_close_and_above() -> None:
    noise, just_below = DiscreteGaussian(Fraction(1001**2)), DiscreteGaussian(Fraction(1000**2))
    z = np.array([0, 500, 1000, 3000, 5000])
    ratio = noise.tail(z) / DiscreteGaussian(Fraction(999**2)).tail(z)
    assert np.all((ratio >= 1) & (ratio < 1.1))
    assert float(just_below.tail(10**6)) == 0.0


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("count", [0, 1, 10**6, 1 << 40])
def test_safe_tail_is_safe_and_not_wasteful(noise: Noise, count: int) -> None:
    bound = safe_tail(noise, count)
    assert count * float(noise.tail(bound)) < 2.0**-100
    assert bound <= 1 + 150 * float(np.sqrt(noise.variance) + 1)


@pytest.mark.parametrize("family", [DiscreteLaplace, DiscreteGaussian])
@given(numerator=st.integers(1, 10**60), denominator=st.integers(1, 10**45))
def test_at_least_rounds_up_by_very_little(
    family: type[DiscreteLaplace] | type[DiscreteGaussian], numerator: int, denominator: int
) -> None:
    wanted = Fraction(numerator, denominator)
    try:
        noise = family.at_least(wanted)
    except RefusedError:
        assert not Fraction(1, 1 << 40) <= wanted <= 1 << 49
        return
    got = noise.scale if isinstance(noise, DiscreteLaplace) else noise.sigma_squared
    assert wanted <= got <= wanted * (1 + Fraction(1, 2**33))
    if max(wanted.numerator, wanted.denominator) < 2**40:
        assert got == wanted
    else:
        assert got.numerator < 2**36 or got.denominator == 1


@pytest.mark.parametrize("family", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize(
    "value",
    [Fraction(0), Fraction(-1), 0.5, "1", None, True, Fraction(1, 2**41), Fraction(2**101), Fraction(10) ** 400],
    ids=lambda v: repr(v)[:20],
)
def test_bad_parameters_are_refused(family: Callable[[object], object], value: object) -> None:
    with pytest.raises(RefusedError):
        family(value)
    with pytest.raises(RefusedError):
        family.at_least(value)  # type: ignore[attr-defined]


def test_scales_that_could_overflow_are_refused() -> None:
    with pytest.raises(RefusedError, match="64 bits"):
        DiscreteLaplace(Fraction(1 << 51))
    with pytest.raises(RefusedError, match="64 bits"):
        DiscreteGaussian(Fraction(1 << 101))


def test_whole_numbers_become_fractions_and_values_are_frozen() -> None:
    noise = DiscreteLaplace(2)  # type: ignore[arg-type]
    assert isinstance(noise.scale, Fraction)
    assert noise == DiscreteLaplace(Fraction(2))
    assert hash(noise) == hash(DiscreteLaplace(Fraction(2)))
    with pytest.raises(AttributeError):
        noise.scale = Fraction(1)  # type: ignore[misc]


def test_negative_counts_are_refused() -> None:
    with pytest.raises(UsageError):
        safe_tail(DiscreteLaplace(Fraction(1)), -1)
