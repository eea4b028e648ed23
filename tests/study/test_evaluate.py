"""Evaluations: only for data that is not confidential, right about errors, and repeatable."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app
from margrave.errors import RefusedError, UsageError
from margrave.study import evaluate_page
from margrave.study.evaluate import Comparison, evaluate

pytestmark = pytest.mark.slow

SPEC = """
[data]
source = "data.csv"
count = "count"
confidential = false
[attributes]
a = ["x", "y"]
b = ["1", "2", "3"]
[release]
tables = [["a"], ["a", "b"]]
[privacy]
epsilon = 1
"""
DATA = "a,b,count\nx,1,40\nx,2,1\nx,3,22\ny,1,3\ny,2,0\ny,3,31\n"


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "data.csv").write_text(DATA)
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path / "spec.toml"


def test_confidential_data_is_refused(spec):
    spec.write_text(SPEC.replace("confidential = false", "confidential = true"))
    with pytest.raises(RefusedError, match="confidential = false"):
        evaluate(mg.Spec.load(spec), Comparison((Fraction(1),)))
    spec.write_text(SPEC.replace("confidential = false\n", ""))
    with pytest.raises(RefusedError, match="confidential = false"):
        evaluate(mg.Spec.load(spec), Comparison((Fraction(1),)))


def test_measured_errors_of_unbiased_tables_are_as_forecast(spec):
    question = Comparison((Fraction(1, 2), Fraction(2)), ("base", "margins"), ("none",), runs=150)
    found = evaluate(mg.Spec.load(spec), question)
    assert len(found.errors) == 2 * 2 * 2
    for one in found.errors:
        assert abs(one.l1 - one.forecast_l1) < 4 * one.l1_error
        assert one.rmse == pytest.approx(one.forecast_rmse, rel=0.3)
    by_budget = {(one.strategy, one.budget, one.table): one.l1 for one in found.errors}
    assert by_budget["base", Fraction(1, 2), ("a",)] > 2 * by_budget["base", Fraction(2), ("a",)]


def test_errors_are_those_of_the_releases_themselves(spec):
    loaded = mg.Spec.load(spec)
    found = evaluate(loaded, Comparison((Fraction(1),), ("base",), ("least-squares",), runs=2, seed=7))
    exact = mg.count(loaded)
    plan = mg.plan(replace(loaded, strategy="base", nonnegative="least-squares"))
    releases = [mg.release(plan, seed=f"evaluate 7 base 1 {run}") for run in range(2)]
    for one in found.errors:
        sums = [np.abs(out.published(one.table) - exact.counts[one.table]).sum() for out in releases]
        assert one.l1 == pytest.approx(np.mean(sums))
    assert found.risks[0].mean_l1 == pytest.approx(np.mean([one.l1 for one in found.errors]))


def test_risk_counts_what_a_release_without_noise_gives_away(spec):
    found = evaluate(mg.Spec.load(spec), Comparison((Fraction(60),), ("base",), ("least-squares", "none"), runs=2))
    exact, unbiased = found.risks
    assert (exact.uniques, exact.shown, exact.matched) == (1, 1, 1)
    assert (exact.small, exact.small_matched, exact.pinned) == (2, 2, 2)
    assert unbiased.uniques is None and unbiased.pinned is None
    assert found.exact_pinned == 2


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"budgets": ()}, "no budgets"),
        ({"budgets": (Fraction(0),)}, "greater than 0"),
        ({"strategies": ("bse",)}, "did you mean 'base'"),
        ({"methods": ("magic",)}, "unknown method"),
        ({"runs": 0}, "at least 1"),
    ],
)
def test_questions_that_cannot_be_asked(change, text):
    with pytest.raises(UsageError, match=text):
        Comparison(**{"budgets": (Fraction(1),), **change})


def test_the_command_writes_tables_plots_and_a_page(spec, tmp_path):
    arguments = ["evaluate", str(spec), "--budgets", "0.5,1", "--runs", "2", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "Error of each table" in done.stdout and "forecast L1" in done.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"errors.csv", "risks.csv", "evaluation.json", "index.html", "error.png", "risk.png"}
    said = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert len(said["errors"]) == 2 * 2 * 2 and said["unit"] == "epsilon"
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count("<img") == 2 and "a, b" in page
    again = CliRunner().invoke(app, [*arguments[:-2], "--json"])
    assert json.loads(again.stdout) == said
    csv = CliRunner().invoke(app, [*arguments[:-2], "--csv"]).stdout.splitlines()
    assert csv[0].startswith("strategy,budget,method,table") and len(csv) == 9


def test_without_matplotlib_the_page_has_no_plots(spec, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    found = evaluate(mg.Spec.load(spec), Comparison((Fraction(1),), ("base",), ("none",), runs=1))
    assert not evaluate_page.write(found, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "errors.csv",
        "risks.csv",
        "evaluation.json",
        "index.html",
    }


def test_the_earlier_name_of_a_comparison_still_works_and_says_so():
    import margrave.study.evaluate as module

    with pytest.warns(DeprecationWarning, match="Comparison"):
        assert module.Question is module.Comparison
    with pytest.raises(AttributeError, match="nonsense"):
        module.nonsense  # noqa: B018
