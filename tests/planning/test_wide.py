"""Tables with more margins than can be listed: 2^20 of them for one table of twenty binary attributes."""

import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from itertools import combinations, islice

import numpy as np
import pytest

import margrave as mg
from margrave.algebra.lattice import subsets
from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.cli.plans import plan_json
from margrave.errors import RefusedError
from margrave.planning import limits, planner, wide
from margrave.planning.forecast import accuracy, prediction
from margrave.planning.forecast.accuracy import Accuracy
from margrave.planning.planner import make_plan
from margrave.planning.search import model as search_model
from margrave.planning.strategies import demand, margins, residual
from margrave.publish.verification.verify import verify
from margrave.reconstruct.unbiased import Fit
from margrave.spec.workload import PublicFact
from tests.shapes import frame_of, spec_of

pytestmark = pytest.mark.slow

PURE, RHO = PureDP(Fraction(1)), ZCDP(Fraction(1, 2))
FACTS = {"public": (PublicFact(("a",)),), "induced": "worst-case"}
SENSITIVE = {"sensitive": ("a",), "neighbours": "replace"}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def no_long_lists(monkeypatch):
    """Whoever lists the margins below a table of more than fourteen attributes fails."""

    def few(margin):
        margin = tuple(margin)
        assert len(margin) <= limits.LISTED_ATTRIBUTES
        return subsets(margin)

    def closure(margins):
        return tuple(dict.fromkeys(below for margin in margins for below in few(margin)))

    for module in (accuracy, demand, margins, residual, search_model):
        monkeypatch.setattr(module, "subsets", few)
    monkeypatch.setattr(demand, "downward_closure", closure)
    monkeypatch.setattr(prediction, "downward_closure", closure)


@pytest.mark.parametrize("budget", [PURE, RHO, ApproxDP(Fraction(1), Fraction(1, 10**6))], ids=["pure", "rho", "delta"])
@pytest.mark.parametrize(
    "tables",
    [
        [LETTERS[:20]],
        [LETTERS[:20], "a", "b", "cd"],
        [LETTERS[:16], LETTERS[4:20]],
        [LETTERS[:15], LETTERS[5:20], *LETTERS[:20]],
    ],
    ids=["one", "with small ones", "two", "two with all small ones"],
)
def test_a_plan_for_a_wide_table_lists_none_of_its_margins(no_long_lists, tables, budget):
    plan = make_plan(spec_of((2,) * 20, tables, budget))
    assert all(row.half_width > 0 for row in plan.forecast)
    assert plan.memory > 0
    assert plan.seconds > 0


@pytest.mark.parametrize("settings", [{"neighbours": "replace"}, SENSITIVE], ids=str)
def test_a_wide_table_is_planned_for_other_neighbours(no_long_lists, settings):
    for budget in (PURE, RHO):
        plan = make_plan(spec_of((2,) * 17, [LETTERS[:17]], budget, **settings))
        assert plan.forecast[0].half_width > 0


def test_a_table_of_a_million_cells_is_planned_in_little_memory():
    """In a process that may have 1.5 GiB: the closure alone would take more."""
    code = """
import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))
from tests.shapes import spec_of
from margrave.planning.planner import make_plan
for sizes in ((2,) * 20, (1024, 1024)):
    plan = make_plan(spec_of(sizes, ["abcdefghijklmnopqrst"[: len(sizes)]]))
    print(len(plan.measurements), plan.forecast[0].cells)
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert run.stdout.split() == ["1", "1048576", "1", "1048576"], run.stderr


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (spec_of((2,) * 24, [LETTERS[:24]]), "16,777,216 cells and 16,777,216 margins"),
        (spec_of((2,) * 15, [LETTERS[:15]], strategy="residual"), "32,768 margins"),
        (spec_of((2,) * 15, [LETTERS[:15]], strategy="fourier"), "'auto', 'margins' or 'base'"),
        (
            spec_of((2,) * 15, [LETTERS[:15]], public=(PublicFact(("a",)),), induced="worst-case"),
            "public facts are not priced",
        ),
        (spec_of((2,) * 26, islice(combinations(LETTERS, 20), 17)), "17,825,792 cells together"),
    ],
    ids=["cells", "residual", "fourier", "facts", "together"],
)
def test_what_is_too_wide_is_refused_in_one_line_with_the_numbers(no_long_lists, spec, words):
    with pytest.raises(RefusedError, match=words) as refused:
        make_plan(spec)
    assert "\n" not in str(refused.value)


def _forced(monkeypatch, few=5):
    """Treat every problem as one whose margins are too many to list."""
    monkeypatch.setattr(planner, "is_wide_workload", lambda spec: True)
    for module in (limits, wide):
        monkeypatch.setattr(module, "FEW_ATTRIBUTES", few)
        monkeypatch.setattr(module, "LISTED_ATTRIBUTES", few)


@pytest.mark.parametrize("budget", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize(
    ("tables", "most"),
    [
        (["abcdefghij"], 1.0001),
        (["abcdefg", "defghij"], 1.006),
        (["abcdef", "efghij"], 1.004),
        (["abcdefgh", "cdefghij", "abefghij"], 1.02),
        (["abcdefghij", *"abcdefghij"], 1.001),
        (["abcdefg", "defghij", *"abcdefghij"], 1.15),
    ],
    ids=["one", "two sharing four", "two sharing two", "three", "one and singles", "two and singles"],
)
def test_a_plan_without_a_list_is_nearly_as_good_as_one_with_it(monkeypatch, tables, most, budget):
    spec = spec_of((2,) * 10, tables, budget)
    listed = make_plan(spec).rmse
    _forced(monkeypatch)
    assert make_plan(spec).rmse <= most * listed


def _some_plans(count):
    chance = random.Random(5)
    for _ in range(count):
        sizes = [chance.choice([1, 2, 2, 3, 4]) for _ in range(chance.randint(2, 5))] + [2]
        letters = LETTERS[: len(sizes)]
        tables = {"".join(sorted(chance.sample(letters, chance.randint(1, len(sizes))))) for _ in range(3)}
        settings = {"strategy": chance.choice(["auto", "residual", "margins", "base", "efron-stein"])}
        settings |= chance.choice(
            [{}, {"neighbours": "replace"}, {"sensitive": (letters[-1],), "neighbours": "replace"}]
        )
        try:
            yield make_plan(spec_of(sizes, sorted(tables), chance.choice([PURE, RHO]), **settings))
        except RefusedError:
            continue


def test_coordinates_say_the_same_as_the_list_of_residuals(monkeypatch):
    """Variances, intervals and estimates of every table, for cells, contrasts, residuals and exact margins."""
    numbers = np.random.default_rng(1)
    seen = 0
    for plan in _some_plans(16):
        data = frame_of(plan.spec.domain, numbers.integers(0, 9, plan.spec.domain.shape()))
        released = mg.release(plan, data, seed=3)
        for margin in map(plan.measured_margin, plan.spec.margins):
            weights = numbers.normal(size=plan.domain.cells(margin))
            results = []
            for kept in (limits.is_wide, lambda sizes: True):
                monkeypatch.setattr(accuracy, "is_wide", kept)
                found = Accuracy(plan.domain, plan.measurements, plan.exact)
                noise = found.linear_noise(margin, weights)
                results.append(
                    [
                        found.cell_variance(margin),
                        found.linear_variance(margin, weights),
                        noise.variance,
                        found.cell_noise(margin).half_width(0.95),
                        float(found.covers(margin)),
                        *Fit(found, released.measured).margin(margin).ravel().tolist(),
                    ]
                )
            monkeypatch.setattr(accuracy, "is_wide", limits.is_wide)
            assert results[0] == pytest.approx(results[1], rel=1e-6, abs=1e-6)
            seen += 1
    assert seen > 20


@pytest.mark.parametrize(
    ("budget", "tables", "settings"),
    [
        (PURE, [LETTERS[:15]], {}),
        (RHO, [LETTERS[:15], "ab", "c"], {}),
        (PURE, [LETTERS[:15]], {"neighbours": "replace"}),
        (RHO, [LETTERS[:15]], {"sensitive": ("a", "b"), "neighbours": "replace"}),
        (PURE, [LETTERS[:15]], {"nonnegative": "least-squares"}),
        (RHO, [LETTERS[:15], LETTERS[1:16]], {"nonnegative": "none"}),
    ],
    ids=["one", "with small", "replace", "sensitive", "least squares", "two"],
)
def test_a_release_of_a_wide_table_is_whole_and_verifies(tmp_path, budget, tables, settings):
    spec = spec_of((2,) * len(set("".join(tables))), tables, budget, **settings)
    chance = np.random.default_rng(0)
    counts = np.zeros(spec.domain.shape(), dtype=np.int64)
    np.add.at(counts, tuple(chance.integers(0, 2, (counts.ndim, 300)) * chance.integers(0, 2, 300)), 1)
    made = mg.release(spec, frame_of(spec.domain, counts), seed=1)
    table = made.published(tuple(tables[0]))
    error = made.unbiased(tuple(tables[0])) - counts.sum(axis=tuple(range(15, counts.ndim)))
    forecast = {row.margin: row.std_error for row in made.plan.forecast}
    assert np.sqrt((error**2).mean()) == pytest.approx(forecast[tuple(tables[0])], rel=0.05)
    if settings.get("nonnegative") != "none":
        assert table.min() >= 0
        assert table.dtype == np.int64
        assert np.abs(table - counts).sum() < np.abs(error).sum()
    again = mg.Release.load(made.save(tmp_path / "bundle"))
    assert again.published(tuple(tables[0])) == pytest.approx(table)
    assert verify(tmp_path / "bundle").tables == len(spec.margins)


@pytest.mark.parametrize("method", ["simple", "linear-program", "records"])
def test_a_method_that_lists_residuals_is_refused_for_a_wide_table(method):
    with pytest.raises(RefusedError, match="not possible"):
        mg.plan(spec_of((2,) * 15, [LETTERS[:15]], nonnegative=method))


def test_targets_and_sweeps_of_a_wide_table(no_long_lists):
    spec = spec_of((2,) * 18, [LETTERS[:18], "ab"])
    found = mg.plan_for(spec, mg.Target(20.0, 0.95))
    assert all(error.reaches(20.0, 0.95) for error in found.cell_errors())
    assert max(row.half_width for row in found.forecast) < 20.2  # with room for what the blur could hide
    rows = mg.sweep(spec, [Fraction(1, 2), Fraction(2)])
    assert rows[0].rmse > rows[1].rmse
    assert json.loads(json.dumps(plan_json(found)))["strategy"] == found.strategy


def test_tables_that_are_not_wide_are_planned_as_before():
    """Fourteen attributes are listed, and so are four such tables."""
    assert limits.listable([14] * 4)
    assert not limits.listable([14] * 5)
    assert not limits.listable([15])
    assert limits.listable([10] * 10**5)
    assert not wide.is_wide_workload(spec_of((2,) * 14 + (1,), [LETTERS[:15]]))
