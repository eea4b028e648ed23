"""What is published where there is next to no noise: the whole numbers that the unbiased tables are."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.reconstruct.publication import AS_MEASURED, NOT_AS_MEASURED

SHAPE = (4, 4, 3, 4)
NAMES = "abcd"


def people(seed=0, records=500):
    random = np.random.default_rng(seed)
    cells = random.choice(np.prod(SHAPE), size=records, p=random.dirichlet(np.full(np.prod(SHAPE), 0.3)))
    codes = np.stack(np.unravel_index(cells, SHAPE), axis=1)
    return codes, pd.DataFrame({name: codes[:, axis].astype(str) for axis, name in enumerate(NAMES)})


def released(epsilon, rows, **release):
    attributes = {
        name: {"values": [str(code) for code in range(size)]} for name, size in zip(NAMES, SHAPE, strict=True)
    }
    settings = {"all": 2, "strategy": "residual", "nonnegative": "least-squares", **release}
    spec = mg.Spec.from_dict({"attributes": attributes, "privacy": {"epsilon": epsilon}, "release": settings})
    return mg.release(spec, rows, seed=1).publication


def off(published, codes):
    """In how many cells of all pairs the published count is not that of the data."""
    wrong = 0
    for one, other in combinations(range(len(SHAPE)), 2):
        truth = np.zeros((SHAPE[one], SHAPE[other]), dtype=np.int64)
        np.add.at(truth, (codes[:, one], codes[:, other]), 1)
        wrong += int((published.margin((NAMES[one], NAMES[other])) != truth).sum())
    return wrong


@pytest.mark.parametrize("seed", [0, 1])
def test_with_next_to_no_noise_whole_tables_that_are_consistent_are_published(seed):
    codes, rows = people(seed)
    published = released("1000000", rows)
    assert AS_MEASURED in published.notes
    assert published.rounding == "controlled"
    assert off(published, codes) == 0


def test_public_facts_are_kept_with_them():
    codes, rows = people()
    published = released("1000000", rows, public=[["a", "b"], {"cell": {"c": "1", "d": "2"}}])
    assert off(published, codes) == 0


def test_with_noise_to_speak_of_tables_are_rounded_as_fitted():
    _, rows = people()
    assert AS_MEASURED not in released("3", rows).notes


def test_where_no_whole_table_has_them_the_fitted_one_is_rounded(monkeypatch):
    """Pairs of three attributes that no table of counts has, although each two agree on what they share."""
    from margrave.algebra.domain import Attribute, Domain
    from margrave.reconstruct.exact import ExactCounts, NotKept
    from margrave.reconstruct.whole import whole

    domain = Domain(tuple(Attribute(name, ("0", "1")) for name in "abc"))
    same, other = np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]])
    told = ExactCounts(domain, {("a", "b"): same, ("b", "c"): same, ("a", "c"): other})
    with pytest.raises(NotKept):
        whole(np.full((2, 2, 2), 0.25), domain, list(told.tables), exact=told)
    monkeypatch.setattr("margrave.reconstruct.published._told", lambda plan, fit, domain, exact: broken(domain))
    _, rows = people()
    published = released("1000000", rows)
    assert AS_MEASURED not in published.notes
    assert NOT_AS_MEASURED in published.notes
    assert published.rounding == "controlled"


def broken(domain):
    """Counts that contradict each other."""
    from margrave.reconstruct.exact import ExactCounts

    return ExactCounts(domain, {("a",): np.full(SHAPE[0], 1), ("b",): np.full(SHAPE[1], 2)})
