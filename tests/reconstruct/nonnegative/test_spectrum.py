"""The orthonormal basis: a true basis, and the misfit in it is the misfit of the residuals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.algebra.spectrum import Transform, cosines
from margrave.errors import UsageError
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.nonnegative.spectrum import Spectrum
from tests.reconstruct.cases import domain_of, problems, rows_of


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
def test_the_basis_is_orthonormal_and_starts_with_the_constant(size):
    basis = cosines(size)
    np.testing.assert_allclose(basis @ basis.T, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(basis[0], 1 / np.sqrt(size))


@given(st.lists(st.integers(1, 5), max_size=4), st.integers(0, 99))
def test_transforms_are_inverse_and_keep_lengths(sizes, seed):
    table = np.random.default_rng(seed).normal(size=sizes)
    transform = Transform(tuple(sizes))
    turned = transform.forward(table)
    np.testing.assert_allclose(transform.backward(turned), table, atol=1e-12)
    assert np.sum(turned**2) == pytest.approx(np.sum(table**2))
    assert turned.flat[0] == pytest.approx(table.sum() / np.sqrt(table.size))


@given(problems(), st.integers(0, 99))
def test_the_misfit_is_that_of_the_residuals(problem, seed):
    domain, _, _, estimates = problem
    table = np.random.default_rng(seed).random(domain.shape()) * 10
    rows, targets = rows_of(estimates)
    spectrum = Spectrum.of(estimates, fix_total=True)
    expected = 0.5 * np.sum((rows @ table.ravel() - targets) ** 2)
    assert spectrum.misfit(spectrum.transform.forward(table)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(
        spectrum.slope(table).ravel(), rows.T @ (rows @ table.ravel() - targets), rtol=1e-7, atol=1e-7
    )


@pytest.mark.parametrize(
    ("values", "variances"),
    [
        ({(): 1.0}, {}),
        ({("a0",): np.zeros(2)}, {("a0",): 1.0}),
        ({(): 1.0, ("a0",): np.zeros(3)}, {(): 1.0, ("a0",): 1.0}),
        ({(): np.nan}, {(): 1.0}),
        ({(): 1.0}, {(): -1.0}),
        ({(): 1.0}, {(): np.inf}),
        ({(): 1.0, ("a1", "a0"): np.zeros((2, 2))}, {(): 1.0, ("a1", "a0"): 1.0}),
    ],
)
def test_wrong_estimates_are_refused(values, variances):
    with pytest.raises(UsageError):
        Estimates(domain_of(2, 2), values, variances)


def test_long_axes_are_turned_by_the_same_basis():
    table = np.random.default_rng(0).normal(size=(300, 3))
    transform = Transform(table.shape)
    found = transform.forward(table)
    assert found == pytest.approx(cosines(300) @ table @ cosines(3).T, abs=1e-9)
    assert transform.backward(found) == pytest.approx(table, abs=1e-12)
