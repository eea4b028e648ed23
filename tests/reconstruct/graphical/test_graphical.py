"""Graphical models against brute force: every cell of the full table is written down."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.junctions import is_decomposable
from margrave.algebra.lattice import subsets
from margrave.algebra.residual import residuals
from margrave.errors import RefusedError, UsageError
from margrave.reconstruct.graphical import elimination
from margrave.reconstruct.graphical.beliefs import Propagation
from margrave.reconstruct.graphical.fit import NoisyTable, fit
from margrave.reconstruct.graphical.model import GraphicalModel
from margrave.reconstruct.graphical.rows import records_of
from margrave.reconstruct.graphical.trees import junction_tree, tree_cells

SHAPES = [
    ((2, 3), [(0,), (1,)]),
    ((2, 3), [(0, 1)]),
    ((3, 2, 4), [(0, 1), (1, 2)]),
    ((3, 2, 4), [(0, 2)]),
    ((2, 2, 3, 2), [(0, 1), (1, 2), (2, 3), (0, 3)]),
    ((2, 3, 2, 3, 2), [(0, 1), (0, 2), (0, 3), (3, 4)]),
    ((2, 3, 2, 3, 2), [(0, 4), (1, 4), (1, 2), (2, 3)]),
    ((4, 1, 2, 3), [(0, 1), (1, 2), (0, 2, 3)]),
    ((2, 2, 2, 2, 2, 2), [(0, 1, 2), (2, 3, 4), (4, 5), (0, 5)]),
    ((3, 3, 2, 2), []),
]


def domain_of(shape: tuple[int, ...]) -> Domain:
    names = "abcdefgh"
    return Domain(tuple(Attribute(names[at], tuple(map(str, range(size)))) for at, size in enumerate(shape)))


def named(domain: Domain, margins: list[tuple[int, ...]]) -> list[tuple[str, ...]]:
    return [tuple(domain.names[at] for at in margin) for margin in margins]


def summed(domain: Domain, table: np.ndarray, margin: tuple[str, ...]) -> np.ndarray:
    return table.sum(axis=tuple(at for at, name in enumerate(domain.names) if name not in margin))


def full_table(domain: Domain, potentials: dict[tuple[str, ...], np.ndarray], total: float) -> np.ndarray:
    logs = np.zeros(domain.shape())
    for margin, theta in potentials.items():
        shape = tuple(size if name in margin else 1 for name, size in zip(domain.names, domain.shape(), strict=True))
        logs = logs + theta.reshape(shape)
    weights = np.exp(logs - logs.max())
    return total * weights / weights.sum()


@pytest.mark.parametrize(("shape", "margins"), SHAPES)
def test_the_cliques_hold_the_margins_and_join_as_a_tree(shape, margins):
    domain = domain_of(shape)
    tree = junction_tree(domain, named(domain, margins))
    assert all(tree.home(margin) is not None for margin in named(domain, margins))
    assert {name for clique in tree.cliques for name in clique.margin} == set(domain.names)
    assert is_decomposable([clique.margin for clique in tree.cliques])
    for at, clique in enumerate(tree.cliques[1:], start=1):
        assert clique.parent < at
        assert set(clique.separator) <= set(tree.cliques[clique.parent].margin)
    assert tree.cells == tree_cells(domain, named(domain, margins))


def test_any_graph_has_a_junction_tree():
    random = np.random.default_rng(0)
    for _ in range(200):
        domain = domain_of(tuple(random.integers(1, 5, size=8)))
        pairs = [pair for pair in combinations(domain.names, 2) if random.random() < 0.3]
        tree = junction_tree(domain, pairs)
        assert is_decomposable([clique.margin for clique in tree.cliques])
        assert all(tree.home(pair) is not None for pair in pairs)


def test_the_tree_of_a_cycle_is_as_small_as_can_be():
    domain = domain_of((2, 9, 2, 9))
    cycle = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    assert tree_cells(domain, cycle) == 2 * (2 * 2 * 9)


@pytest.mark.parametrize(("shape", "margins"), SHAPES)
def test_beliefs_are_those_of_the_full_table(shape, margins):
    domain, random = domain_of(shape), np.random.default_rng(1)
    names = named(domain, margins)
    potentials = {margin: random.normal(0, 3, domain.shape(margin)) for margin in names}
    propagation = Propagation(junction_tree(domain, names), tuple(names))
    model = propagation.calibrate(list(potentials.values()), 70.0)
    table = full_table(domain, potentials, 70.0)
    for margin, found in zip(names, propagation.tables(model.counts), strict=True):
        np.testing.assert_allclose(found, summed(domain, table, margin), atol=1e-9)
    whole = GraphicalModel(propagation.tree, model, {}, 70.0)
    for margin in subsets(domain.names):
        np.testing.assert_allclose(whole.margin(margin), summed(domain, table, margin), atol=1e-9)
    first = sum(theta.ravel()[0] for theta in potentials.values())
    assert model.log_partition == pytest.approx(first - np.log(table.ravel()[0] / 70))


def test_potentials_of_any_size_do_not_overflow():
    domain = domain_of((2, 3, 2))
    names = (("a", "b"), ("b", "c"))
    propagation = Propagation(junction_tree(domain, names), names)
    model = propagation.calibrate([np.array([[1e4, 0, -1e4]] * 2), np.zeros((3, 2))], 10.0)
    np.testing.assert_allclose(propagation.tables(model.counts)[0], [[5, 0, 0]] * 2)


def noisy_tables(domain: Domain, margins, random, *, sigma: float = 6.0) -> list[NoisyTable]:
    truth = random.dirichlet(np.full(domain.cells(), 0.3)).reshape(domain.shape()) * 500
    found = []
    for at, margin in enumerate(margins):
        scale = sigma * (1 + at % 3)
        counts = summed(domain, truth, margin)
        found.append(NoisyTable(margin, counts + random.normal(0, scale, counts.shape), scale**2))
    return found


@pytest.mark.parametrize(("shape", "margins"), [case for case in SHAPES if case[1]])
@pytest.mark.parametrize("centred", [False, True])
def test_a_fit_is_the_minimum_that_the_full_table_says(shape, margins, centred):
    """The problem is convex: where the slope along every potential is zero, nothing is better."""
    domain, random = domain_of(shape), np.random.default_rng(2)
    noisy = noisy_tables(domain, named(domain, margins), random)
    if centred:
        noisy += [
            NoisyTable(one.margin, residuals(domain, one.margin, one.counts)[one.margin], 30.0, True) for one in noisy
        ]
    model = fit(domain, noisy, total=500, steps=4000, tolerance=1e-15)
    together: dict[tuple[str, ...], np.ndarray] = {}
    for (margin, _), theta in model.potentials.items():
        together[margin] = together.get(margin, 0.0) + theta
    table = full_table(domain, together, 500)
    kappa = 0.1 / np.sqrt(max(one.variance for one in noisy))
    for one in noisy:
        theta = model.potentials[one.margin, one.centred]
        counts = summed(domain, table, one.margin)
        target = one.counts + (0 if one.centred else (500 - one.counts.sum()) / one.counts.size)
        if one.centred:
            counts = residuals(domain, one.margin, counts)[one.margin]
        np.testing.assert_allclose(counts - target + kappa * one.variance * theta, 0, atol=2e-3)
        np.testing.assert_allclose(model.margin(one.margin), summed(domain, table, one.margin), atol=1e-7)


def test_a_fit_of_little_noise_finds_the_tables():
    domain, random = domain_of((2, 3, 2, 3)), np.random.default_rng(3)
    margins = [("a", "b"), ("b", "c"), ("c", "d")]
    noisy = noisy_tables(domain, margins, random, sigma=1e-3)
    model = fit(domain, noisy, total=500)
    for one in noisy:
        np.testing.assert_allclose(model.margin(one.margin), one.counts, atol=0.05)


def test_several_answers_about_one_table_are_weighed_by_their_variances():
    domain = domain_of((2,))
    both = [NoisyTable(("a",), np.array([60.0, 40.0]), 1.0), NoisyTable(("a",), np.array([20.0, 80.0]), 3.0)]
    np.testing.assert_allclose(fit(domain, both, total=100, smoothing=1e-9).margin(("a",)), [50, 50], atol=1e-3)


def test_a_warm_start_finds_the_same_sooner():
    domain, random = domain_of((3, 4, 3, 4, 2)), np.random.default_rng(4)
    noisy = noisy_tables(domain, [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], random)
    before = fit(domain, noisy[:-1], total=500, tolerance=1e-12)
    cold = fit(domain, noisy, total=500, tolerance=1e-12)
    warm = fit(domain, noisy, total=500, tolerance=1e-12, start=before)
    assert warm.steps < cold.steps
    for pair in combinations(domain.names, 2):
        np.testing.assert_allclose(warm.margin(pair), cold.margin(pair), atol=0.02)


def test_a_fit_takes_no_more_steps_than_it_may():
    domain, random = domain_of((3, 4, 3, 4, 2)), np.random.default_rng(4)
    noisy = noisy_tables(domain, [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], random)
    assert fit(domain, noisy, total=500, steps=5).steps <= 10


@pytest.mark.parametrize("variance", [0, -1, float("nan")])
def test_a_variance_must_be_above_zero(variance):
    with pytest.raises(UsageError, match="variance"):
        NoisyTable(("a",), np.zeros(2), variance)


def test_a_total_must_be_above_zero():
    with pytest.raises(UsageError, match="total"):
        fit(domain_of((2,)), [], total=0)


def test_a_table_on_the_way_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(elimination, "MOST_CELLS", 8)
    domain = domain_of((3, 3, 3))
    model = fit(domain, [NoisyTable(pair, np.ones((3, 3)), 1.0) for pair in (("a", "b"), ("b", "c"))], total=9)
    with pytest.raises(RefusedError, match="too many cells"):
        model.margin(("a", "c"))


@pytest.mark.parametrize(("shape", "margins"), SHAPES)
def test_records_have_the_tables_of_the_model(shape, margins):
    domain, random = domain_of(shape), np.random.default_rng(5)
    noisy = noisy_tables(domain, named(domain, margins), random)
    model = fit(domain, noisy, total=2000)
    rows = records_of(model, 2000)
    assert rows.shape == (2000, len(shape))
    assert (rows >= 0).all()
    assert (rows < np.array(shape)).all()
    for clique in model.tree.cliques:
        off = tables_of(domain, rows, clique.margin) - model.margin(clique.margin)
        depth = len(model.tree.cliques)
        assert np.abs(off).max() <= 1 + depth
    for pair in combinations(domain.names, 2):
        assert np.abs(tables_of(domain, rows, pair) - model.margin(pair)).mean() < 0.5 * np.sqrt(2000)


def test_the_same_model_makes_the_same_records():
    domain, random = domain_of((4, 3, 5)), np.random.default_rng(7)
    model = fit(domain, noisy_tables(domain, [("a", "b"), ("b", "c")], random), total=300)
    np.testing.assert_array_equal(records_of(model, 300), records_of(model, 300))


def test_rounding_keeps_what_is_expected():
    """A thousand groups of three records over ten equal cells: nearest rounding would leave every cell empty."""
    domain = domain_of((1000, 10))
    model = fit(domain, [NoisyTable(("a", "b"), np.full((1000, 10), 0.3), 1.0)], total=3000)
    rows = records_of(model, 3000)
    assert np.abs(tables_of(domain, rows, ("b",)) - 300).max() <= 2
    assert np.ptp(tables_of(domain, rows, ("a", "b"))) == 1


def tables_of(domain: Domain, rows: np.ndarray, margin: tuple[str, ...]) -> np.ndarray:
    shape = domain.shape(margin)
    cells = np.ravel_multi_index(tuple(rows[:, domain.position(name)] for name in margin), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
