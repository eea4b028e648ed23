"""Every basis against brute force: sensitivities over all records, estimates and spreads by matrices."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.lattice import subsets
from margrave.algebra.query import Query, answer, estimates, one_record, replaced_record, spread
from margrave.algebra.residual import residuals
from margrave.errors import UsageError


def domain_of(*sizes):
    return Domain(tuple(Attribute(f"a{i}", tuple(str(v) for v in range(k))) for i, k in enumerate(sizes)))


def queries(domain):
    for margin in subsets(domain.names):
        binary = tuple(name for name in margin if domain[name].size == 2)
        for contrast in subsets(binary):
            rest = tuple(name for name in margin if name not in contrast)
            for residual in subsets(rest):
                yield Query(margin, contrast, residual)


SHAPES = [(2,), (3,), (2, 2), (2, 3), (3, 1, 2), (2, 2, 2), (4, 2), (2, 3, 2)]
CASES = [(domain, query) for shape in SHAPES for domain in [domain_of(*shape)] for query in queries(domain)]


def contribution(domain, query, record):
    table = np.zeros(domain.shape(), dtype=np.int64)
    table[record] = 1
    axes = tuple(axis for axis, name in enumerate(domain.names) if name not in query.margin)
    return answer(domain, query, table.sum(axis=axes)).ravel()


def matrix(domain, query):
    records = list(product(*map(range, domain.shape())))
    return np.stack([contribution(domain, query, record) for record in records], axis=1), records


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "query"), CASES, ids=str)
def test_sensitivities_equal_brute_force_over_all_records(domain, query):
    columns, records = matrix(domain, query)
    l1, l2 = one_record(domain, query)
    assert set(np.abs(columns).sum(axis=0)) == {l1}
    assert set((columns**2).sum(axis=0)) == {l2}
    worst = {}
    for i, before in enumerate(records):
        for j, after in enumerate(records):
            changed = frozenset(n for n, x, y in zip(domain.names, before, after, strict=True) if x != y)
            difference = columns[:, i] - columns[:, j]
            worst.setdefault(changed, set()).add((np.abs(difference).sum(), (difference**2).sum()))
    for changed, found in worst.items():
        assert found == {replaced_record(domain, query, changed)}


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "query"), CASES, ids=str)
def test_estimates_are_exact_without_noise_and_spread_as_stated(domain, query):
    table = np.random.default_rng(3).integers(0, 50, domain.shape())
    axes = tuple(axis for axis, name in enumerate(domain.names) if name not in query.margin)
    counts = table.sum(axis=axes)
    truth = residuals(domain, query.margin, counts)
    found = estimates(domain, query, answer(domain, query, counts))
    assert set(found) == set(query.covered()) == {below for below in subsets(query.margin) if query.covers(below)}
    outputs = query.outputs(domain)
    for below, part in found.items():
        np.testing.assert_allclose(part, truth[below], atol=1e-9)
        linear = np.stack([estimates(domain, query, unit)[below].ravel() for unit in np.eye(outputs)], axis=1)
        projector = np.ones((1, 1))
        for name in below:
            projector = np.kron(projector, np.eye(domain[name].size) - 1 / domain[name].size)
        expected = float(spread(domain, query, below)) * projector
        np.testing.assert_allclose(linear @ linear.T, expected, atol=1e-9)
        for other in found:
            if other != below:
                cross = np.stack([estimates(domain, query, unit)[other].ravel() for unit in np.eye(outputs)], axis=1)
                np.testing.assert_allclose(linear @ cross.T, 0, atol=1e-9)


def test_the_table_of_the_three_bases():
    domain = domain_of(3, 2, 4)
    everything = domain.names
    assert one_record(domain, Query(everything)) == (1, 1)
    assert one_record(domain, Query(everything, contrast=("a1",))) == (1, 1)
    assert one_record(domain, Query(everything, residual=everything)) == (4 * 2 * 6, 6 * 2 * 12)
    assert spread(domain, Query(everything), ("a0",)) == 8
    assert spread(domain, Query(everything, contrast=("a1",)), ("a1",)) == Fraction(12, 2)
    assert spread(domain, Query(everything, residual=everything), everything) == Fraction(1, 24**2)


def test_replacing_a_contrast_moves_it_by_two_in_one_output():
    domain = domain_of(2, 3)
    query = Query(domain.names, contrast=("a0",))
    assert replaced_record(domain, query, frozenset({"a0"})) == (2, 4)
    assert replaced_record(domain, query, frozenset({"a1"})) == (2, 2)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Query(("a",), contrast=("b",)),
        lambda: Query(("a",), contrast=("a",), residual=("a",)),
        lambda: Query(("a0",), contrast=("a0",)).shape(domain_of(3)),
        lambda: Query(("a", "a")),
        lambda: Query(("a",), contrast=("a", "a")),
        lambda: Query(("a",), residual=("a", "a")),
    ],
)
def test_what_is_refused(build):
    with pytest.raises(UsageError):
        build()
