"""The min–max program against a plain statement of it, and the raise of the total against simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from margrave.errors import RefusedError, UsageError
from margrave.noise import DiscreteLaplace, Generator
from margrave.planning.publication.raises import sufficient_raise
from margrave.reconstruct.nonnegative.linear_program import linear_program
from margrave.reconstruct.nonnegative.simple import raised
from tests.reconstruct.cases import domain_of, masks, noisy, problems

pytestmark = pytest.mark.slow


def coordinates(estimates):
    """Every f^T(x_T) with all its repetitions, as rows over the cells, with targets."""
    rows, targets = [], []
    for margin, value in estimates.values.items():
        block = np.ones((1, 1))
        for attribute in estimates.domain:
            size = attribute.size
            block = np.kron(
                block, np.eye(size) - 1 / size if attribute.name in margin else np.full((1, size), 1 / size)
            )
        rows.append(block)
        outside = estimates.domain.cells() / estimates.domain.cells(margin)
        targets.append(value.ravel() / outside)
    return np.concatenate(rows), np.concatenate(targets)


@given(problems(), st.data())
@settings(max_examples=30)
def test_the_bound_is_that_of_an_independent_program(problem, data):
    domain, _, _, estimates = problem
    mask = data.draw(masks(domain))
    found = linear_program(estimates, mask)
    rows, targets = coordinates(estimates)
    ones = np.ones((len(rows), 1))
    bounds = [(0, None if one else 0) for one in mask.ravel()] + [(0, None)]
    plain = linprog(
        np.append(np.zeros(domain.cells()), 1.0),
        A_ub=np.block([[rows, -ones], [-rows, -ones]]),
        b_ub=np.concatenate([targets, -targets]),
        bounds=bounds,
        method="highs-ipm",
    )
    assert found.bound == pytest.approx(plain.fun, rel=1e-6, abs=1e-7)
    assert (found.table >= 0).all()
    assert (found.table[~mask] == 0).all()
    assert np.abs(rows @ found.table.ravel() - targets).max() <= found.bound + 1e-6


def test_a_vertex_has_few_cells():
    domain = domain_of(*[2] * 6)
    truth = np.random.default_rng(0).poisson(2.0, domain.shape())
    estimates = noisy(domain, truth, [("a0", "a1"), ("a2", "a3")], variance=9.0)
    assert (linear_program(estimates).table > 1e-9).sum() <= len(estimates.values)


def test_too_large_is_refused():
    domain = domain_of(*[2] * 17)
    with pytest.raises(RefusedError, match="least-squares"):
        linear_program(noisy(domain, np.zeros(domain.shape()), [()]))


@given(problems())
@settings(max_examples=30)
def test_raising_changes_the_total_alone(problem):
    _, _, _, estimates = problem
    table, growth = raised(estimates)
    assert (table >= 0).all()
    assert growth >= 0
    assert table.sum() == pytest.approx(float(estimates.values[()]) + growth, abs=1e-6)
    rows, targets = coordinates(estimates)
    np.testing.assert_allclose((rows @ table.ravel())[1:], targets[1:], atol=1e-6)


def test_an_exact_total_is_not_raised():
    domain = domain_of(2, 2)
    with pytest.raises(UsageError, match="total"):
        raised(noisy(domain, np.ones(domain.shape()), [domain.names], exact=[()]))


@pytest.mark.parametrize(("scale", "wasted"), [(1, 10), (20, 1.5)])
def test_the_raise_suffices_as_often_as_it_says(scale, wasted):
    """The worst case: an empty table, and the sum of all |noise| against the raise."""
    contrasts, failure, runs = 6, 0.1, 4000
    noise = np.abs(DiscreteLaplace(scale).sample(contrasts * runs, Generator.seeded("raise")))
    sums = noise.reshape(runs, contrasts).sum(axis=1)
    share = np.mean(sums > sufficient_raise(scale, contrasts, failure))
    assert share <= failure + 3 * np.sqrt(failure / runs)
    assert share >= failure / wasted


@pytest.mark.parametrize("arguments", [(0.0, 1, 0.1), (1.0, 0, 0.1), (1.0, 1, 0.0), (1.0, 1, 1.0)])
def test_senseless_raises_are_refused(arguments):
    with pytest.raises(UsageError):
        sufficient_raise(*arguments)
