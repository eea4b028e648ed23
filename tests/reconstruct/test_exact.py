"""Exact counts are kept: by the linear fit as a dense constrained solve would, by rounding, and by records."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import null_space

import margrave as mg
from margrave.algebra.query import answer
from margrave.budget.events import Measurement
from margrave.budget.units import ZCDP
from margrave.crossing import Answer, Measured
from margrave.errors import RefusedError, UsageError
from margrave.noise import DiscreteGaussian
from margrave.planning.forecast.accuracy import Accuracy
from margrave.planning.publication.publishing import unkept
from margrave.reconstruct.exact import ExactCounts, NotKept, check_feasible, keep, raked
from margrave.reconstruct.unbiased import Fit
from margrave.reconstruct.whole import whole
from tests.facts.test_planning import with_facts
from tests.shapes import domain_of, frame_of, spec_of

pytestmark = pytest.mark.slow


def sums(domain, margin):
    """The matrix that adds the cells of the full table up to those of a margin."""
    cells = np.arange(domain.cells()).reshape(domain.shape())
    kept = np.moveaxis(cells, [domain.names.index(name) for name in margin], range(len(margin)))
    members = kept.reshape(domain.cells(margin), -1)
    rows = np.zeros((len(members), domain.cells()))
    np.put_along_axis(rows, members, 1.0, axis=1)
    return rows


def random_case(seed):
    """A domain, its table, two to four exact margins that share attributes, measured margins and some known cells."""
    random = np.random.default_rng(seed)
    domain = domain_of(*random.integers(2, 4, random.integers(3, 5)))
    pairs = list(combinations(domain.names, 2))
    exact = [pairs[i] for i in random.permutation(len(pairs))[: random.integers(2, 5)]]
    measured = [domain.names, *(pairs[i] for i in random.permutation(len(pairs))[:2])]
    cells = []
    for _ in range(int(random.integers(0, 4))):
        margin = tuple(name for name in domain.names if random.random() < 0.7)
        cells.append((margin, tuple(int(random.integers(domain[name].size)) for name in margin)))
    return random, domain, random.poisson(4, domain.shape()), exact, measured, tuple(dict.fromkeys(cells))


@pytest.mark.parametrize("seed", range(30))
def test_the_fit_is_the_dense_constrained_least_squares_solution(seed):
    """Replacing residuals and conditioning on cells equals min ‖(Wx − y)/σ‖² subject to Ax = b, and so do variances."""
    random, domain, table, exact, measured, cells = random_case(seed)
    measurements = [
        Measurement(mg_query(margin), DiscreteGaussian(Fraction(int(v))))
        for margin, v in zip(measured, random.integers(1, 30, len(measured)), strict=True)
    ]
    truths = [answer(domain, one.query, sums(domain, one.query.margin) @ table.ravel()) for one in measurements]
    noisy = [np.rint(truth + random.normal(0, 4, truth.shape)).astype(np.int64) for truth in truths]
    known = {m: (sums(domain, m) @ table.ravel()).reshape(domain.shape(m)).astype(np.int64) for m in exact}
    cell_counts = {(m, c): int((sums(domain, m) @ table.ravel()).reshape(domain.shape(m))[c]) for m, c in cells}
    answers = tuple(Answer(one, y) for one, y in zip(measurements, noisy, strict=True))
    accuracy = Accuracy(domain, tuple(measurements), tuple(exact), cells)
    found = Fit(accuracy, Measured(answers, known, False, cell_counts)).margin(domain.names).ravel()

    rows = [sums(domain, m) for m in exact]
    rows += [sums(domain, m)[[np.ravel_multi_index(c, domain.shape(m)) if m else 0]] for m, c in cells]
    matrix = np.concatenate(rows)
    free = null_space(matrix)
    start = table.ravel().astype(float)
    weights = np.concatenate(
        [np.full(y.size, one.noise.variance**-0.5) for one, y in zip(measurements, noisy, strict=True)]
    )
    design = np.concatenate([sums(domain, one.query.margin) for one in measurements]) * weights[:, None]
    wanted = np.concatenate([y.ravel() for y in noisy]) * weights
    steps = np.linalg.lstsq(design @ free, wanted - design @ start, rcond=None)[0] if free.size else np.zeros(0)
    dense = start + free @ steps
    assert found == pytest.approx(dense, abs=1e-9)
    covariance = (
        free @ np.linalg.pinv(free.T @ design.T @ design @ free) @ free.T if free.size else np.zeros((found.size,) * 2)
    )
    assert accuracy.cell_variances(domain.names) == pytest.approx(np.diag(covariance), abs=1e-9)
    for margin in exact:
        assert accuracy.cell_variance(margin) == 0


def mg_query(margin):
    from margrave.algebra.query import Query

    return Query(tuple(margin))


@pytest.mark.parametrize("seed", range(12))
def test_rounding_keeps_every_exact_count(seed):
    random, domain, table, exact, _, cells = random_case(seed)
    maximal = [m for m in exact if not any(set(m) < set(other) for other in exact)]
    tables = {m: (sums(domain, m) @ table.ravel()).astype(np.int64) for m in maximal}
    known = {(m, c): int((sums(domain, m) @ table.ravel()).reshape(domain.shape(m))[c]) for m, c in cells}
    counts = ExactCounts(domain, tables, known)
    near = np.maximum(table + random.normal(0, 2, table.shape), 0)
    rounded = whole(near, domain, [domain.names[:2]], exact=counts).table
    assert rounded.dtype == np.int64 and (rounded >= 0).all()
    smooth = keep(counts, near)
    assert (smooth >= 0).all()
    for found, close in ((rounded, 0), (smooth, 1e-6)):
        for margin, wanted in tables.items():
            assert np.abs(sums(domain, margin) @ found.ravel() - wanted).max() <= close
        for (margin, codes), wanted in known.items():
            assert abs((sums(domain, margin) @ found.ravel()).reshape(domain.shape(margin))[codes] - wanted) <= close


def test_large_tables_keep_two_margins_and_stay_near():
    domain = domain_of(*[2] * 13)
    random = np.random.default_rng(5)
    table = random.poisson(random.gamma(0.2, 3.0, domain.shape()))
    exact = {
        m: (table.sum(axis=tuple(i for i, n in enumerate(domain.names) if n not in m)))
        for m in (("a", "b"), ("b", "c"))
    }
    near = np.maximum(table + random.normal(0, 1, table.shape), 0)
    wanted = [("a", "d"), ("e", "f"), ("a", "c")]
    found = whole(near, domain, wanted, exact=ExactCounts(domain, exact))
    for margin, counts in exact.items():
        axes = tuple(i for i, n in enumerate(domain.names) if n not in margin)
        assert np.array_equal(found.table.sum(axis=axes), counts)
    scaled = keep(ExactCounts(domain, exact), near)
    axes = tuple(i for i, n in enumerate(domain.names) if n not in ("e", "f"))
    assert np.abs(found.table.sum(axis=axes) - scaled.sum(axis=axes)).max() < 5


def test_impossible_cells_stay_empty():
    domain = domain_of(3, 3, 2)
    possible = np.ones(domain.shape(), dtype=bool)
    possible[0, 1] = False
    table = np.random.default_rng(2).poisson(3, domain.shape()) * possible
    counts = ExactCounts(domain, {("a",): table.sum((1, 2)), ("b",): table.sum((0, 2))})
    found = whole(np.full(domain.shape(), 0.3), domain, [("a", "b")], exact=counts, possible=possible).table
    assert not found[0, 1].any() and np.array_equal(found.sum((1, 2)), table.sum((1, 2)))
    assert np.array_equal(found.sum((0, 2)), table.sum((0, 2)))


def test_contradictions_are_proved_and_long_searches_end(monkeypatch):
    domain = domain_of(2, 2, 2)
    apart, together = np.array([[0, 1], [1, 0]]), np.array([[1, 0], [0, 1]])
    counts = ExactCounts(domain, {("a", "b"): together, ("b", "c"): together, ("a", "c"): apart})
    with pytest.raises(RefusedError, match="contradict each other"):
        check_feasible(counts)
    with pytest.raises(NotKept):
        keep(counts, np.ones(domain.shape()))
    none = np.zeros(domain.shape(), dtype=bool)
    with pytest.raises(RefusedError):
        check_feasible(ExactCounts(domain, {("a", "b"): together, ("b", "c"): together}), none)
    with pytest.raises(UsageError, match="negative"):
        ExactCounts(domain, {("a",): np.array([-1, 2])})

    class Late:
        x, status = None, 1

    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: Late())
    with pytest.raises(NotKept, match="in 2000 steps"):
        whole(np.full(domain.shape(), 0.6), domain, [], exact=ExactCounts(domain, {("a",): [3, 2], ("b",): [3, 2]}))


def test_a_rounding_that_is_not_found_in_time_still_publishes_the_facts(monkeypatch):
    """The budget is spent by then, so the table is published without rounding, and says why."""
    spec = with_facts(spec_of((2, 3, 2), ["abc"]), ["ab", "bc"])
    table = np.random.default_rng(3).poisson(5, spec.domain.shape())

    def late(*_, **__):
        raise NotKept("no table with all exact counts was found within 20 seconds")

    monkeypatch.setattr("margrave.reconstruct.whole.whole_core", late)
    out = mg.release(spec, frame_of(spec.domain, table), seed=1)
    assert not out.publication.whole and "not rounded: no table" in out.publication.notes[-1]
    assert np.abs(out.publication.margin(("a", "b")) - table.sum(2)).max() < 1e-6


def test_what_is_too_large_to_keep_is_said_before(monkeypatch):
    domain = domain_of(9, 9, 9, 9, 9)
    assert unkept(domain, (("a", "b"),), ()) is None
    assert unkept(domain, (("a", "b"), ("b", "c")), ()) is None
    assert "59049 cells" in unkept(domain, (("a", "b"), ("b", "c"), ("d", "e")), ())
    assert unkept(domain_of(9, 9, 9), (("a", "b"), ("b", "c"), ("a", "c")), ()) is None


def test_raking_reaches_cells_that_were_empty():
    domain = domain_of(2, 2)
    counts = ExactCounts(domain, {("a",): np.array([4, 1]), ("b",): np.array([2, 3])})
    found = raked(counts, np.array([[0.0, 0.0], [5.0, 0.0]]))
    assert found.sum(axis=1) == pytest.approx([4, 1]) and found.sum(axis=0) == pytest.approx([2, 3])


@pytest.mark.parametrize("budget", [None, ZCDP(Fraction(1, 2))], ids=str)
@pytest.mark.parametrize("strategy", ["auto", "fourier", "efron-stein", "base", "margins"])
def test_releases_keep_facts_whatever_the_strategy(strategy, budget):
    spec = spec_of((2, 3, 2), ["abc"], budget, strategy=strategy)
    spec = with_facts(spec, ["ab"], [{"c": "1"}, {"b": "0", "c": "0"}])
    table = np.random.default_rng(4).poisson(3, spec.domain.shape())
    out = mg.release(spec, frame_of(spec.domain, table), seed=2)
    found = out.publication.table
    assert np.array_equal(found.sum(2), table.sum(2)) and found[..., 1].sum() == table[..., 1].sum()
    assert found[:, 0, 0].sum() == table[:, 0, 0].sum()
    assert np.abs(out.unbiased(("a", "b")) - table.sum(2)).max() < 1e-9
    assert abs(out.unbiased(("c",))[1] - table[..., 1].sum()) < 1e-6
    bars = out.table("a", "b")
    assert (bars["std_error"] == 0).all() and (bars["low"] == bars["high"]).all()
    assert out.table("c")["std_error"].iloc[1] == 0


def test_tables_that_sensitivity_makes_exact_are_kept_by_rounding():
    spec = spec_of((2, 3, 2), ["abc"], sensitive=("c",), neighbours="replace")
    table = np.random.default_rng(4).poisson(3, spec.domain.shape())
    out = mg.release(spec, frame_of(spec.domain, table), seed=2)
    assert out.publication.whole and np.array_equal(out.publication.table.sum(2), table.sum(2))
    assert len(out.microdata()) == table.sum()
