"""Whole numbers: totals kept, cells moved by less than one, wanted tables moved little."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.errors import UsageError
from margrave.reconstruct.exact import ExactCounts
from margrave.reconstruct.whole import whole
from tests.reconstruct.cases import domain_of, masks, problems, project


@given(problems(), st.data(), st.sampled_from([0.01, 1.0, 50.0]))
def test_whole_non_negative_and_at_the_total(problem, data, scale):
    domain, _, margins, _ = problem
    mask = data.draw(masks(domain))
    table = np.random.default_rng(data.draw(st.integers(0, 999))).random(domain.shape()) * scale * mask
    found = whole(table, domain, margins, possible=mask)
    assert found.table.dtype == np.int64
    assert (found.table >= 0).all()
    assert (found.table[~mask] == 0).all()
    assert found.table.sum() == np.rint(table.sum())
    assert set(found.changes) == set(margins)
    for margin, change in found.changes.items():
        assert change == pytest.approx(np.abs(project(domain, found.table - table, margin)).max())
    again = whole(table, domain, margins, possible=mask)
    assert np.array_equal(found.table, again.table)


@given(problems(), st.integers(0, 400))
def test_a_given_total_is_met(problem, total):
    domain, truth, margins, _ = problem
    mask = np.ones(domain.shape(), dtype=bool)
    mask.flat[0] = False
    found = whole(truth.astype(float), domain, margins, exact=ExactCounts(domain, {(): total}), possible=mask)
    assert found.table.sum() == total
    assert (found.table >= 0).all()
    assert found.table.flat[0] == 0


@given(problems())
def test_whole_tables_stay_as_they_are(problem):
    domain, truth, margins, _ = problem
    assert np.array_equal(whole(truth.astype(float), domain, margins).table, truth)


@pytest.mark.parametrize("sizes", [(6, 7, 8), (2,) * 12])
def test_controlled_rounding_keeps_margins_that_nearest_rounding_loses(sizes):
    domain = domain_of(*sizes)
    table = np.random.default_rng(0).random(domain.shape()) * 0.4
    wanted = [(a, b) for i, a in enumerate(domain.names) for b in domain.names[i + 1 :]]
    controlled, nearest = whole(table, domain, wanted), whole(table, domain, wanted, "nearest")
    assert nearest.table.sum() == 0
    assert max(controlled.changes.values()) <= 3.5
    assert np.abs(controlled.table - table).max() < 1.01


def test_large_tables_are_rounded_quickly():
    domain = domain_of(*[2] * 16)
    random = np.random.default_rng(1)
    table = random.dirichlet(np.full(domain.cells(), 0.05)).reshape(domain.shape()) * 20_000
    wanted = [domain.names[i : i + 3] for i in range(14)]
    found = whole(table, domain, wanted)
    assert found.table.sum() == 20_000
    assert max(found.changes.values()) < 5


def test_wrong_calls_are_refused():
    domain = domain_of(2, 2)
    with pytest.raises(UsageError, match="did you mean"):
        whole(np.ones((2, 2)), domain, [], "control")
    for table in (-np.ones((2, 2)), np.ones(4), np.full((2, 2), np.nan)):
        with pytest.raises(UsageError, match="finite"):
            whole(table, domain, [])
    with pytest.raises(UsageError, match="negative"):
        whole(np.ones((2, 2)), domain, [], exact=ExactCounts(domain, {(): -1}))
