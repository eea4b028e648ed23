"""The nearest non-negative table, against an independent solver and against its own certificate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from margrave.algebra.residual import residuals
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.nonnegative import least_squares as module
from margrave.reconstruct.nonnegative.least_squares import least_squares
from margrave.reconstruct.nonnegative.spectrum import Spectrum
from tests.reconstruct.cases import domain_of, masks, noisy, problems, rows_of

pytestmark = pytest.mark.slow


def reference(estimates, mask):
    """Least squares over w ≥ 0 at a fixed total, as non-negative least squares with a very heavy row for the total."""
    rows, targets = rows_of(estimates)
    heavy = 1e4 * max(np.abs(rows).max(initial=0.0), 1e-3)
    matrix = np.vstack([rows, heavy * np.ones(rows.shape[1])])[:, mask.ravel()]
    solution, _ = nnls(matrix, np.append(targets, heavy * estimates.total), maxiter=10_000)
    return 0.5 * np.sum((rows[:, mask.ravel()] @ solution - targets) ** 2)


@given(problems(), st.data())
@settings(max_examples=40)
def test_feasible_and_as_near_as_the_independent_solution(problem, data):
    domain, _, _, estimates = problem
    mask = data.draw(masks(domain))
    found = least_squares(estimates, mask)
    assert (found.table >= 0).all()
    assert (found.table[~mask] == 0).all()
    assert found.table.sum() == pytest.approx(estimates.total, abs=1e-6)
    expected = reference(estimates, mask)
    assert found.misfit == pytest.approx(expected, rel=1e-3, abs=1e-3)
    assert found.gap <= 1e-3 * max(1.0, found.misfit)
    assert found.misfit - found.gap <= expected * (1 + 1e-4) + 1e-4


@given(problems())
@settings(max_examples=20)
def test_the_first_certificate_is_already_a_bound(problem):
    _, _, _, estimates = problem
    spectrum = Spectrum.of(estimates, fix_total=True)
    start = estimates.independent()
    allowed = np.ones(start.shape, dtype=bool)
    first = module._certify(spectrum, allowed, estimates.total, start, spectrum.slope(start), 0)
    assert first.misfit - first.gap <= least_squares(estimates).misfit + 1e-6


def test_the_truth_comes_back_without_noise():
    domain = domain_of(3, 2, 4)
    truth = np.random.default_rng(1).poisson(3.0, domain.shape())
    found = least_squares(noisy(domain, truth, [domain.names], variance=1e-12))
    np.testing.assert_allclose(found.table, truth, atol=1e-4)


def test_exact_margins_are_kept():
    domain = domain_of(3, 4, 2)
    truth = np.random.default_rng(2).poisson(4.0, domain.shape())
    known = [(), ("a0",), ("a1",), ("a0", "a1")]
    estimates = noisy(domain, truth, [("a0", "a1"), ("a1", "a2")], variance=30.0, exact=known)
    found = least_squares(estimates)
    assert found.violation <= 1e-4
    np.testing.assert_allclose(found.table.sum(axis=2), truth.sum(axis=2), atol=1e-3)


def test_a_negative_total_leaves_the_empty_table():
    estimates = Estimates(domain_of(2, 2), {(): np.array(-3.0)}, {(): 1.0})
    found = least_squares(estimates)
    assert found.gap == 0.0
    assert not found.table.any()


def test_large_tables_reach_a_small_gap():
    domain = domain_of(*[2] * 13)
    random = np.random.default_rng(3)
    truth = random.multinomial(3000, random.dirichlet(np.full(domain.cells(), 0.02))).reshape(domain.shape())
    margins = [domain.names[i : i + 2] for i in range(12)]
    estimates = noisy(domain, truth, margins, variance=25.0)
    reported = []
    found = least_squares(estimates, progress=lambda done, total, gap: reported.append(gap))
    assert found.gap <= 0.05 * len(estimates.values)
    assert found.gap == pytest.approx(reported[-1])
    assert np.array_equal(found.table, least_squares(estimates).table)


@pytest.mark.parametrize("masked", [False, True])
def test_cells_that_are_measured_alike_are_projected_onto_the_same_optimum(masked, monkeypatch):
    """The closed form, which large tables take, and the steps that small ones take end at one table."""
    domain = domain_of(9, 8)
    random = np.random.default_rng(0)
    counts = random.poisson(random.gamma(0.2, 10, domain.shape())) + random.normal(0, 2, domain.shape())
    values = residuals(domain, domain.names, counts)
    estimates = Estimates(domain, values, {one: 4.0 * domain.cells() / domain.cells(one) for one in values})
    mask = random.random(domain.shape()) < 0.7 if masked else None
    stepped = least_squares(estimates, mask, tolerance=1e-9)
    monkeypatch.setattr(module, "QUICK_CELLS", 1)
    found = least_squares(estimates, mask)
    assert found.iterations == 0 < stepped.iterations
    assert found.table == pytest.approx(stepped.table, abs=1e-6)
    assert found.gap < 1e-9 and found.violation < 1e-9
    uneven = Estimates(domain, values, {**estimates.variances, ("a0",): 1.0})
    assert least_squares(uneven, mask).iterations > 0
