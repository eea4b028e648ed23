"""What a model takes in of selected tables: those that stand out of their noise."""

import numpy as np
import pytest

from margrave.algebra.residual import residuals
from margrave.reconstruct.graphical import selected
from margrave.reconstruct.graphical.selected import learned
from tests.reconstruct.records.cases import problem

CHAIN, OTHER = ("a", "b"), ("b", "c")


def noisy(case, margin, seed):
    """The same estimates, but one residual as noise alone would have it."""
    random = np.random.default_rng(seed)
    value = case.estimates.values[margin]
    drawn = random.normal(0, case.estimates.variances[margin] ** 0.5, value.shape)
    for axis in range(value.ndim):
        drawn = drawn - drawn.mean(axis=axis, keepdims=True)
    values = {**case.estimates.values, margin: drawn}
    return type(case.estimates)(case.estimates.domain, values, case.estimates.variances)


def test_a_table_that_depends_is_taken_in():
    case = problem((6, 6, 6), 4000, 8.0, 1)
    assert learned(case.estimates, case.domain, [CHAIN, CHAIN, OTHER]).taken == (CHAIN, OTHER)


def test_a_table_of_nothing_but_noise_is_left_out():
    """With 25 degrees of freedom noise is 1.5 times as large as it should be in one of twenty draws."""
    case, taken = problem((6, 6, 6), 40, 12.0, 1), 0
    for seed in range(60):
        taken += OTHER in learned(noisy(case, OTHER, seed), case.domain, [OTHER]).taken
    assert taken <= 12


def test_what_the_tables_before_tell_already_is_left_out():
    """c repeats b, so that a and c depend on each other by way of b, and no further."""
    case = problem((4, 4, 4), 4000, 1.0, 2)
    chain = learned(case.estimates, case.domain, [CHAIN, OTHER])
    told = chain.model.margin(("a", "c"))
    predicted = residuals(case.domain, ("a", "c"), told)[("a", "c")]
    values = {**case.estimates.values, ("a", "c"): predicted}
    exact = type(case.estimates)(case.estimates.domain, values, case.estimates.variances)
    assert ("a", "c") not in learned(exact, case.domain, [CHAIN, OTHER, ("a", "c")]).taken


def test_what_was_taken_in_before_stays():
    case = problem((6, 6, 6), 4000, 8.0, 1)
    before = learned(case.estimates, case.domain, [CHAIN])
    after = learned(noisy(case, CHAIN, 1), case.domain, [OTHER], before)
    assert after.taken == (CHAIN, OTHER)
    assert learned(case.estimates, case.domain, [CHAIN], before).taken == (CHAIN,)


@pytest.mark.parametrize(("room", "taken"), [(36, (CHAIN,)), (1000, (CHAIN, OTHER))])
def test_a_model_never_grows_beyond_its_room(monkeypatch, room, taken):
    monkeypatch.setattr(selected, "MODEL_CELLS", room + 6)
    case = problem((6, 6, 6), 4000, 8.0, 1)
    assert learned(case.estimates, case.domain, [CHAIN, OTHER]).taken == taken
