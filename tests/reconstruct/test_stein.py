"""How sure a difference of estimated risks is, and that independence is left only for one that is sure."""

import numpy as np
import pytest

from margrave.algebra.residual import centre, margin_from, residuals
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.nonnegative.entropy import entropy, visible
from margrave.reconstruct.stein import doubt, draws, tables_of
from tests.reconstruct.cases import domain_of, noisy, project

PAIRS = [("a0", "a1"), ("a1", "a2"), ("a0", "a2")]


@pytest.mark.slow
def test_the_doubt_about_a_difference_of_risks_is_that_of_the_noise_in_it():
    domain = domain_of(2, 3, 4)
    one, other = np.random.default_rng(2).gamma(1.0, 30.0, (2, *domain.shape()))
    estimates = noisy(domain, one, PAIRS, variance=50.0)
    apart = tables_of(estimates, one - other, PAIRS)
    found = []
    for drawn in draws(estimates, 3000, "doubt"):
        cells = np.concatenate([margin_from(domain, margin, drawn.values).ravel() for margin in PAIRS])
        found.append(2 * float(cells @ apart))
    assert np.std(found) == pytest.approx(doubt(estimates, PAIRS, one, other), rel=0.05)


@pytest.mark.slow
def test_independence_is_left_only_for_what_can_be_told_from_noise():
    """Pairs of which only noise is seen: what is found is hardly worse than the product of the one-way tables."""
    domain = domain_of(12, 10, 8)
    random = np.random.default_rng(8)
    alone = [random.dirichlet(np.ones(size)) for size in domain.shape()]
    truth = 20_000 * np.einsum("a,b,c->abc", *alone)
    worse = []
    for _ in range(10):
        values, variances = {}, {}
        for pair in PAIRS:
            for margin, part in residuals(domain, pair, project(domain, truth, pair)).items():
                variances[margin] = 40_000.0 if len(margin) == 2 else 100.0
                noise = random.normal(0, variances[margin] ** 0.5, part.shape)
                for axis in range(part.ndim):
                    noise = centre(noise, axis)
                values.setdefault(margin, part + noise)
        estimates = Estimates(domain, values, variances)
        found, product = entropy(estimates, PAIRS).table, estimates.independent()
        errors = [sum(np.abs(project(domain, one - truth, m)).sum() for m in PAIRS) for one in (found, product)]
        worse.append(errors[0] / errors[1])
    assert sum(ratio > 1.2 for ratio in worse) <= 1, worse


@pytest.mark.slow
def test_where_noise_drowns_everything_the_product_of_one_way_tables_is_what_is_left():
    """Attributes that determine each other, two hundred records, and noise of thousands in each cell of each pair."""
    domain = domain_of(5, 4, 6)
    truth = np.zeros(domain.shape())
    truth[np.arange(4), np.arange(4), np.arange(4)] = 50.0
    for seed in range(10):
        random, values, variances = np.random.default_rng(seed), {}, {}
        for pair in PAIRS:
            for margin, part in residuals(domain, pair, project(domain, truth, pair)).items():
                variances[margin] = 3000.0**2 if len(margin) == 2 else 4.0
                noise = random.normal(0, variances[margin] ** 0.5, part.shape)
                for axis in range(part.ndim):
                    noise = centre(noise, axis)
                values.setdefault(margin, part + noise)
        estimates = Estimates(domain, values, variances)
        assert not visible(estimates)
        np.testing.assert_allclose(entropy(estimates, PAIRS).table, estimates.independent())
    seen = Estimates(domain, values, {margin: min(one, 4.0) for margin, one in variances.items()})
    assert visible(seen)
