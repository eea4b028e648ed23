"""Residuals shrunk one by one: towards what smaller tables say, as far as there is nothing else to see."""

import numpy as np
import pytest

from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.shrunk import no_interaction, residual_of, shrinkable, shrunk
from tests.reconstruct.cases import domain_of, noisy

WANTED = [("a0", "a1"), ("a0", "a2"), ("a1", "a2")]


def dependent(domain, records, seed=0):
    """A table whose first two attributes depend on each other, and the third on neither."""
    random = np.random.default_rng(seed)
    pair = random.dirichlet(np.full(domain.cells(("a0", "a1")), 0.5)).reshape(domain.shape(("a0", "a1")))
    alone = random.dirichlet(np.full(domain["a2"].size, 2.0))
    return np.rint(records * pair[..., None] * alone).astype(np.int64)


def test_a_table_without_interaction_has_the_smaller_tables():
    random = np.random.default_rng(1)
    full = random.dirichlet(np.ones(24)).reshape(2, 3, 4) * 1000
    pair = no_interaction((2, 3), 1000.0, ("a", "b"), {("a",): full.sum((1, 2)), ("b",): full.sum((0, 2))})
    assert np.allclose(pair, np.outer(full.sum((1, 2)), full.sum((0, 2))) / 1000)
    below = {("a", "b"): full.sum(2), ("a", "c"): full.sum(1), ("b", "c"): full.sum(0)}
    triple = no_interaction((2, 3, 4), 1000.0, ("a", "b", "c"), below)
    for axis, table in ((2, full.sum(2)), (1, full.sum(1)), (0, full.sum(0))):
        assert np.allclose(triple.sum(axis), table, rtol=0.02)
    odds = np.log(triple)
    odds = odds[0] - odds[1]
    assert np.abs(residual_of(odds)).max() < 1e-6  # no odds ratio of two attributes depends on the third


def test_weak_interactions_are_left_out_and_strong_ones_kept():
    domain = domain_of(4, 5, 6)
    estimates = noisy(domain, dependent(domain, 20_000), WANTED, variance=400.0)
    found = shrunk(estimates)
    assert found.kept[("a0", "a1")] > 0.7
    assert found.kept[("a0", "a2")] < 0.2
    assert found.kept[("a1", "a2")] < 0.2
    assert found.kept[()] == 1.0


@pytest.mark.parametrize("variance", [1.0, 400.0, 40_000.0, 4_000_000.0])
def test_shrunk_residuals_have_less_error_than_measured_ones_and_than_none(variance):
    domain = domain_of(4, 5, 6)
    truth = dependent(domain, 20_000)
    exact = noisy(domain, truth, WANTED, variance=1e-12).values
    left = {"measured": 0.0, "shrunk": 0.0, "without": 0.0}
    for seed in range(20):
        estimates = noisy(domain, truth, WANTED, variance=variance, seed=seed)
        found = shrunk(estimates).estimates
        for margin in WANTED:
            without = np.outer(*(estimates.values[(name,)] + 20_000 / domain[name].size for name in margin)) / 20_000
            left["measured"] += float(((estimates.values[margin] - exact[margin]) ** 2).sum())
            left["shrunk"] += float(((found.values[margin] - exact[margin]) ** 2).sum())
            left["without"] += float(((residual_of(without) - exact[margin]) ** 2).sum())
    assert left["shrunk"] < 1.02 * min(left["measured"], left["without"])


def test_what_was_not_measured_is_taken_to_be_what_smaller_tables_say():
    domain = domain_of(2, 3, 2)
    truth = dependent(domain, 5000)
    some = noisy(domain, truth, [domain.names], variance=4.0)
    kept = {margin: value for margin, value in some.values.items() if len(margin) != 2}
    found = shrunk(Estimates(domain, kept, {margin: some.variances[margin] for margin in kept}))
    assert set(found.estimates.values) == set(kept)


def test_estimates_of_nobody_stay_as_they_are():
    domain = domain_of(2, 3)
    empty = noisy(domain, np.zeros((2, 3)), [domain.names], variance=1e-9)
    assert shrunk(empty).estimates is empty and set(shrunk(empty).kept.values()) == {1.0}


def test_exact_residuals_and_empty_tables_are_not_shrunk():
    domain = domain_of(2, 3)
    truth = np.full((2, 3), 50)
    assert shrinkable(noisy(domain, truth, [domain.names], variance=4.0))
    assert not shrinkable(noisy(domain, truth, [domain.names], variance=4.0, exact=[(), ("a0",)]))
    assert not shrinkable(noisy(domain, 0 * truth, [domain.names], variance=1e-9))
    wide = domain_of(*[2] * 7)
    assert not shrinkable(noisy(wide, np.ones(wide.shape()), [wide.names], variance=4.0))
