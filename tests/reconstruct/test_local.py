"""Tables from local reports: the forecast error is the measured error, for every mechanism, and intervals hold."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from margrave.algebra.residual import compose, decompose
from margrave.crossing import Collected
from margrave.errors import RefusedError, UsageError
from margrave.local.simulate import simulate
from margrave.noise import Generator
from margrave.planning.local.cells import Response, Subset, Unary
from margrave.planning.local.hadamard import Hadamard
from margrave.planning.local.odds import Odds
from margrave.planning.local.plan import LocalPlan, make_local_plan
from margrave.planning.local.question import WEIGHTS, LocalQuestion
from margrave.planning.local.residuals import Modular, Signs
from margrave.reconstruct.local import CellErrors, LocalFit, publish_local, simulate_local
from margrave.reconstruct.normals import Normals
from tests.planning.local.shapes import local_spec

pytestmark = pytest.mark.slow

THREE = Odds(3, 1)


def people(shares, count, generator):
    """Respondents drawn from a population with these shares, a row of codes each."""
    cells = generator.choice(shares.size, count, p=shares.ravel())
    return np.stack(np.unravel_index(cells, shares.shape), axis=1)


def skewed(shape, seed=0):
    shares = np.random.default_rng(seed).dirichlet(np.full(int(np.prod(shape)), 0.8))
    return shares.reshape(shape)


def even(shape):
    return np.full(shape, 1 / np.prod(shape))


def only(mechanism):
    """A plan with one question alone."""
    names = "abcdef"[: len(mechanism.shape)]
    return LocalPlan(local_spec(*mechanism.shape, tables=[names]), (LocalQuestion(tuple(names), mechanism, WEIGHTS),))


CASES = [Response((2,), THREE), Response((5,), THREE), Subset((9,), THREE), Subset((3, 4), THREE), Unary((4,), THREE)]
CASES += [Unary((2, 3), THREE), Hadamard((2, 3), THREE), Hadamard((6,), THREE)]
CASES += [Signs((2, 2), THREE), Signs((2, 2, 2), THREE), Signs((3, 4), THREE)]
CASES += [Modular((3, 3), THREE), Modular((5, 5), THREE)]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", CASES, ids=lambda one: f"{one.name}{one.shape}")
@pytest.mark.parametrize("population", [even, skewed], ids=["even", "skewed"])
def test_the_measured_error_of_repeated_collections_is_the_forecast_error(mechanism, population):
    plan, truth, size, runs = only(mechanism), population(mechanism.shape), 400, 250
    generator, below = np.random.default_rng(5), plan.questions[0].margin
    found = []
    for run in range(runs):
        codes = people(truth, size, generator)
        found.append(LocalFit.of(plan, simulate(plan, codes, Generator.seeded(f"{mechanism} {run}"))).tables[0])
    told = [told_part(mechanism, one) for one in found]
    errors = ((np.array(told) - told_part(mechanism, truth)) ** 2).reshape(runs, -1).sum(axis=1)
    wanted = mechanism.variances(told_rows(mechanism), truth).sum() / size
    if population is even:  # what a plan forecasts before anybody is asked
        assert wanted == pytest.approx(planned(mechanism) / size, rel=1e-9)
    spread = errors.std() / np.sqrt(runs)
    assert abs(errors.mean() - wanted) < 4 * spread
    assert abs(errors.mean() - 1.3 * wanted) > 2 * spread
    assert abs(errors.mean() - wanted / 1.3) > 2 * spread
    assert LocalFit(plan, (size,), (truth,)).residuals[below].shape == mechanism.shape


def told_part(mechanism, table):
    """What a mechanism tells of a table: all of it but the total, or the residual of all its attributes alone."""
    parts = decompose(table, len(mechanism.shape))
    axes = tuple(range(len(mechanism.shape)))
    kept = {
        chosen: part if chosen and mechanism.tells(chosen) else np.zeros_like(part) for chosen, part in parts.items()
    }
    return compose(kept, mechanism.shape) if mechanism.whole else parts[axes]


def told_rows(mechanism):
    """The same as weights, a row for each cell."""
    return np.array([told_part(mechanism, row.reshape(mechanism.shape)).ravel() for row in np.eye(mechanism.cells)])


def planned(mechanism):
    """The forecast squared error of one report over all cells."""
    axes = range(len(mechanism.shape))
    every = [chosen for size in range(1, len(axes) + 1) for chosen in combinations(axes, size)]
    total = 0.0
    for chosen in [one for one in every if mechanism.tells(one)]:
        outside = np.prod([k for axis, k in enumerate(mechanism.shape) if axis not in chosen])
        total += float(mechanism.spread(chosen)) * np.prod([mechanism.shape[axis] - 1 for axis in chosen]) / outside
    return total


@pytest.mark.parametrize("mechanism", CASES, ids=lambda one: f"{one.name}{one.shape}")
def test_collections_simulated_in_large_numbers_have_the_errors_of_real_ones(mechanism):
    truth, size, runs, normals = skewed(mechanism.shape, 3), 300, 1000, Normals("again")
    told = [told_part(mechanism, mechanism.again(truth, size, normals(mechanism.cells))) for _ in range(runs)]
    apart = np.array(told) - told_part(mechanism, truth)
    errors = (apart**2).reshape(runs, -1).sum(axis=1)
    each = mechanism.variances(told_rows(mechanism), truth).reshape(mechanism.shape) / size
    wanted = each.sum()
    assert abs(errors.mean() - wanted) < 4 * errors.std() / np.sqrt(runs)
    assert abs(errors.mean() - 1.3 * wanted) > 2 * errors.std() / np.sqrt(runs)
    np.testing.assert_allclose((apart**2).mean(axis=0), each, rtol=5 * np.sqrt(2 / runs))  # of every cell
    assert (np.abs(apart.mean(axis=0)) <= 5 * apart.std(axis=0) / np.sqrt(runs) + 1e-12).all()


@pytest.mark.parametrize(("sizes", "epsilon"), [((2, 2, 2, 2), "1.0986122886681098"), ((3, 3, 2), 1), ((4, 5, 2), 3)])
def test_the_forecast_of_a_whole_plan_is_what_repeated_collections_measure(sizes, epsilon):
    size = 3000
    plan = make_local_plan(local_spec(*sizes, epsilon=epsilon, size=size))
    truth = np.full(sizes, 1 / np.prod(sizes))
    generator = np.random.default_rng(11)
    rows = {row.margin: row for row in plan.forecast}
    population = {margin: [] for margin in rows}
    respondents = {margin: [] for margin in rows}
    for run in range(60):
        codes = people(truth, size, generator)
        fit = LocalFit.of(plan, simulate(plan, codes, Generator.seeded(f"{sizes} {run}")))
        for margin in rows:
            axes = [plan.spec.domain.position(name) for name in margin]
            shape = plan.spec.domain.shape(margin)
            numbers = np.ravel_multi_index(tuple(codes[:, axes].T), shape)
            own = np.bincount(numbers, minlength=int(np.prod(shape))) / size
            told = fit.shares(margin).ravel()
            respondents[margin].append(((told - own) ** 2).mean())
            population[margin].append(((told - 1 / np.prod(shape)) ** 2).mean())
    for measured, name in ((population, "population"), (respondents, "respondents")):
        ratio = [np.sqrt(np.mean(measured[margin])) / getattr(row, name) for margin, row in rows.items()]
        assert np.mean(ratio) == pytest.approx(1, abs=0.06)


def test_intervals_of_unbiased_tables_hold_the_population_as_often_as_they_say():
    plan, size = make_local_plan(local_spec(3, 2, 4, size=4000)), 4000
    truth, generator, held = skewed((3, 2, 4), 1), np.random.default_rng(2), []
    for run in range(150):
        fit = LocalFit.of(plan, simulate(plan, people(truth, size, generator), Generator.seeded(f"cover {run}")))
        for margin in plan.spec.margins:
            axes = tuple(axis for axis, name in enumerate(plan.spec.domain.names) if name not in margin)
            told, own = fit.shares(margin), truth.sum(axis=axes)
            width = ndtri(0.975) * np.sqrt(fit.errors.variances(margin))
            held += (np.abs(told - own) <= width).ravel().tolist()
    assert 0.93 < np.mean(held) < 0.97


@pytest.mark.parametrize("epsilon", [1, 4])
def test_the_intervals_of_the_largest_and_the_smallest_cell_hold_the_population_as_often(epsilon):
    truth = np.array([[0.62, 0.02, 0.1], [0.2, 0.05, 0.01]])
    plan, size, generator = make_local_plan(local_spec(2, 3, epsilon=epsilon)), 4000, np.random.default_rng(6)
    held = []
    for run in range(400):
        fit = LocalFit.of(plan, simulate(plan, people(truth, size, generator), Generator.seeded(f"cell {run}")))
        width = ndtri(0.975) * np.sqrt(fit.errors.variances(("a", "b")))
        held.append(np.abs(fit.shares(("a", "b")) - truth) <= width)
    largest, smallest = np.mean(held, axis=0)[0, 0], np.mean(held, axis=0)[1, 2]
    assert 0.92 < largest < 0.98
    assert 0.92 < smallest < 0.98


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4).filter(lambda sizes: max(sizes) > 1),
    st.sampled_from([0.3, 1, 2.5, 5]),
)
@settings(max_examples=25, deadline=None)
def test_on_any_domain_the_forecast_is_the_mean_variance_of_cells_where_answers_are_spread_evenly(sizes, epsilon):
    plan = make_local_plan(local_spec(*sizes, epsilon=epsilon, size=10**9))
    counts = tuple(one.weight for one in plan.questions)
    fit = LocalFit(plan, counts, tuple(even(one.mechanism.shape) for one in plan.questions))
    for row in plan.forecast_for(WEIGHTS):
        cells = CellErrors(fit, lambda margin: even(plan.spec.domain.shape(margin))).variances(row.margin)
        assert cells.shape == plan.spec.domain.shape(row.margin)
        assert np.sqrt(cells.mean()) == pytest.approx(row.population, rel=1e-9)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3).filter(lambda sizes: max(sizes) > 1),
    st.sampled_from([0.3, 1, 5]),
    st.integers(0, 999),
)
@settings(max_examples=12, deadline=None)
def test_on_any_domain_no_cell_has_a_larger_error_than_is_promised_whatever_the_answers_are(sizes, epsilon, seed):
    plan = make_local_plan(local_spec(*sizes, epsilon=epsilon, size=10**9))
    truth = np.random.default_rng(seed).dirichlet(np.full(int(np.prod(sizes)), 0.1)).reshape(sizes)
    names = plan.spec.domain.names

    def population(margin):
        found = truth.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in margin))
        return found.reshape(plan.spec.domain.shape(margin))

    fit = LocalFit(plan, tuple(one.weight for one in plan.questions), tuple(map(even, sizes)))
    for row in plan.forecast_for(WEIGHTS):
        errors = np.sqrt(CellErrors(fit, population).variances(row.margin))
        assert ndtri(0.975) * errors.max() <= row.most * (1 + 1e-9)
        assert row.half_width <= row.most * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [1, 3])
def test_what_is_promised_of_each_cell_is_reached_by_the_worst_answers_to_one_question(epsilon):
    plan = make_local_plan(local_spec(5, epsilon=epsilon))
    fit = LocalFit(plan, (1,), (even((5,)),))
    mixed = [np.array([share, 1 - share, 0, 0, 0]) for share in np.linspace(0, 1, 101)]
    worst = max(CellErrors(fit, lambda _, one=one: one).variances(("a",)).max() for one in mixed)
    assert plan.largest["a",] == pytest.approx(worst, rel=1e-3)


@pytest.mark.slow
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4).filter(lambda sizes: max(sizes) > 1), st.integers(0, 999))
@settings(max_examples=15, deadline=None)
def test_on_any_domain_tables_agree_and_have_as_many_records_as_reports(sizes, seed):
    plan = make_local_plan(local_spec(*sizes, epsilon=2, size=10**9))
    codes = people(skewed(sizes, seed), 2000, np.random.default_rng(seed))
    fit = LocalFit.of(plan, simulate(plan, codes, Generator.seeded(seed)))
    fit.check()
    table = publish_local(plan, fit, "seed")
    assert table.whole
    for margin in plan.spec.margins:
        assert table.margin(margin).sum() == 2000
        assert fit.shares(margin).sum() == pytest.approx(1)
        for name in margin:
            rest = tuple(axis for axis, other in enumerate(margin) if other != name)
            np.testing.assert_allclose(fit.shares(margin).sum(axis=rest), fit.shares((name,)), atol=1e-9)


def test_error_bars_are_simulated_from_the_published_table():
    plan = make_local_plan(local_spec(2, 3, size=5000))
    codes = people(skewed((2, 3)), 5000, np.random.default_rng(4))
    fit = LocalFit.of(plan, simulate(plan, codes, Generator.seeded(4)))
    table = publish_local(plan, fit, "seed")
    found = simulate_local(plan, fit, table, "seed")
    errors, widths = found.cell_errors(("a", "b"), 0.95)
    assert found.factor >= 1
    forecast = 5000 * {row.margin: row for row in plan.forecast_for(5000)}["a", "b"].population
    assert 0.2 * forecast < errors.mean() < 2 * forecast
    assert (widths > errors).all()


def test_too_few_reports_are_refused_with_what_is_missing():
    plan = make_local_plan(local_spec(2, 2, 2))
    nothing = Collected(
        tuple(np.zeros(one.mechanism.tally_shape, dtype=np.int64) for one in plan.questions), (0,) * len(plan.questions)
    )
    with pytest.raises(RefusedError, match="0 reports are too few"):
        LocalFit.of(plan, nothing).check()
    with pytest.raises(UsageError, match="another number of questions"):
        LocalFit.of(plan, Collected((), ()))


@pytest.mark.parametrize("method", ["simple", "simple-table", "simple-margins"])
def test_a_method_that_changes_the_number_of_reports_is_refused(method):
    plan = make_local_plan(local_spec(2, 2))
    codes = np.zeros((500, 2), dtype=int)
    fit = LocalFit.of(plan, simulate(plan, codes, Generator.seeded(1)))
    changed = replace(plan, spec=replace(plan.spec, base=replace(plan.spec.base, nonnegative=method)))
    with pytest.raises(RefusedError, match=method):
        publish_local(changed, fit, "seed")
