"""Inference with the noise in the likelihood: what it reads, what it estimates, and how often its intervals hold."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binomtest
from typer.testing import CliRunner

import margrave as mg
from margrave.algebra.table import Table
from margrave.budget.units import ZCDP, PureDP
from margrave.cli.app import app
from margrave.errors import RefusedError, UsageError
from margrave.inference.evidence import EXACT, evidence
from margrave.inference.inference import FitTest
from margrave.inference.intervals import LogOdds, critical, interval
from margrave.models.loglinear import fit
from margrave.models.model import Model
from margrave.noise import DiscreteLaplace

pytestmark = pytest.mark.slow

THREE = """
[attributes]
a = ["1", "2"]
b = ["1", "2", "3"]
c = ["1", "2"]
[data]
source = "unused.csv"
count = "count"
[release]
tables = [["a", "b"], ["b", "c"]]
strategy = "{strategy}"
[privacy]
epsilon = {epsilon}
"""
COUNTS = np.array([[[40, 12], [25, 5], [30, 30]], [[18, 20], [44, 16], [21, 39]]])


def three(counts=COUNTS, strategy="auto", epsilon="1", seed=1):
    """A release of the two tables of a 2 × 3 × 2 table of counts."""
    spec = mg.Spec.parse(THREE.format(strategy=strategy, epsilon=epsilon))
    return mg.release(spec, Table(spec.domain, spec.domain.names, counts).to_pandas(), seed=seed)


def released(name, budget, seed=1, **changes):
    return mg.release(replace(mg.Spec.load(mg.examples.path(name)), budget=budget, **changes), seed=seed)


@pytest.mark.parametrize("strategy", ["auto", "margins", "base", "fourier", "efron-stein", "residual"])
@pytest.mark.parametrize("margin", [("a", "b", "c"), ("a", "b"), ("b",)])
def test_evidence_is_the_measurements_in_other_words(strategy, margin):
    seen = evidence(three(strategy=strategy, epsilon="400"), margin)
    axes = tuple(axis for axis, name in enumerate("abc") if name not in margin)
    counts = COUNTS.sum(axis=axes).ravel()
    # Coordinates are in units of the noise, so that without noise they would agree exactly.
    assert np.allclose(seen.values, seen.matrix @ counts, rtol=1e-2, atol=5)
    assert np.linalg.matrix_rank(seen.matrix) == len(seen.values)
    assert np.allclose(seen.sources.T @ seen.sources, np.eye(len(seen.values)))


def test_exact_tables_are_evidence_too():
    seen = evidence(released("czech", PureDP(Fraction(1)), neighbours="replace"), ("smoke",))
    total = np.linalg.lstsq(seen.matrix.T, np.ones(2), rcond=None)[0] @ seen.values
    assert total == pytest.approx(1841, abs=1)
    assert np.linalg.svd(seen.matrix)[1].max() > 0.5 / np.sqrt(EXACT)


def test_the_fourth_cumulant_of_discrete_laplace_noise():
    for scale in (Fraction(1, 3), Fraction(2), Fraction(9)):
        noise, z = DiscreteLaplace(scale), np.arange(-2000.0, 2001.0)
        fourth = float((z**4 * noise.pmf(z)).sum()) - 3 * noise.variance**2
        assert fourth == pytest.approx(noise.variance + 3 * noise.variance**2, rel=1e-6)


def test_without_noise_it_is_maximum_likelihood(bundled):
    model, table = bundled("czech")
    found = mg.infer(released("czech", PureDP(Fraction(2000))), model)
    true = fit(model, table)
    assert np.allclose(found.expected.counts, true.fitted.counts, rtol=0.01, atol=0.1)
    basis, m = model.basis(), true.fitted.counts.ravel()
    covariance = np.linalg.inv(basis.T @ (basis * m[:, None]))
    row = found.contrasts([("mental", "family")]).iloc[0]
    # The log odds ratio of two binary attributes is twice the coefficient of their orthonormal contrasts.
    place = next(i for i in range(model.rank) if np.isclose(abs(basis[:, i] @ _odds(model)), 2))
    assert row["std_error"] == pytest.approx(2 * np.sqrt(covariance[place, place]), rel=0.02)
    assert row["low"] < row["estimate"] < row["high"]


def _odds(model):
    """Weights of the log odds ratio of mental work and family history, in the mean over the others."""
    weights = np.ones(1)
    for name in model.domain.names:
        weights = np.kron(weights, [-1.0, 1.0] if name in ("mental", "family") else [0.5, 0.5])
    return weights


def _coverage(runs, epsilon):
    """How many intervals hold, noise-aware and naive, and how often the true and a wrong model are rejected."""
    spec = mg.Spec.parse(THREE.format(strategy="base", epsilon=epsilon))
    model = Model(spec.domain, spec.margins)
    chances = fit(model, Table(spec.domain, spec.domain.names, COUNTS)).probabilities.counts
    cells = np.zeros((2, 2, 3, 2))
    cells[0, 0, 0, :] = cells[1, :, 2, 1] = 1.0
    truth = (cells * chances).sum(axis=(1, 2, 3))
    random, plan = np.random.default_rng(5), mg.plan(spec)
    aware, naive, right, wrong = [], [], [], []
    for run in range(runs):
        drawn = random.multinomial(300, chances.ravel())
        data = Table(spec.domain, spec.domain.names, drawn).to_pandas()
        out = mg.release(plan, data, seed=f"coverage {run}")
        found = mg.infer(out, model)
        ends = expit([interval(found.quasi, found.fitted, LogOdds(inside.ravel()), 0.95) for inside in cells])
        aware.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
        # An analyst who takes the unbiased table for data has the sampling error alone.
        n = out.unbiased(())
        share = np.array([out.unbiased(("a", "b"))[0, 0], out.unbiased(("b", "c"))[2, 1]]) / n
        width = 1.96 * np.sqrt(np.clip(share * (1 - share), 0, 1) / n)
        naive.append(np.abs(share - truth) <= width)
        right.append(found.test.p_value < 0.05)
        wrong.append(mg.infer(out, "[a][b][c]").test.p_value < 0.05)
    return np.mean(aware), np.mean(naive), np.mean(right), np.mean(wrong)


def test_intervals_hold_as_often_as_they_say_and_naive_ones_do_not():
    runs = 100
    aware, naive, right, wrong = _coverage(runs, "0.15")
    assert binomtest(round(aware * 2 * runs), 2 * runs, 0.95).pvalue > 0.01
    assert naive < 0.85
    assert binomtest(round(right * runs), runs, 0.05).pvalue > 0.01
    assert wrong > right


def test_an_interval_has_no_end_where_the_evidence_sets_none(tmp_path):
    counts = np.array([[[90, 0], [40, 40], [40, 40]], [[0, 90], [40, 40], [40, 40]]])
    out = three(counts, strategy="margins")
    row = mg.infer(out, "[a,b][b,c]").contrasts([("b", "c")])
    assert np.isfinite(row["low"]).all() and np.isfinite(row["high"]).all()
    empty = np.where(np.arange(2)[:, None, None] == np.arange(2)[None, None, :], 80, 0) + np.zeros((1, 3, 1), dtype=int)
    spec = mg.Spec.parse(THREE.format(strategy="base", epsilon="1").replace('"b", "c"', '"a", "c"'))
    out = mg.release(spec, Table(spec.domain, spec.domain.names, empty).to_pandas(), seed=3)
    row = mg.infer(out, "[a,c]").contrasts([("a", "c")]).iloc[0]
    assert row["high"] == inf and row["low"] > 1
    done = CliRunner().invoke(app, ["infer", str(out.save(tmp_path / "out")), "--of", "a,c"])
    assert "with 95 % intervals" in done.stdout and "see --shares" in done.stderr
    share = mg.infer(out, "[a,c]").shares().set_index("values")
    assert share.loc["1,2", "low"] == 0.0 and share.loc["1,2", "high"] < 0.1


def test_nothing_can_be_tested_where_nothing_else_was_measured():
    out = mg.release(
        replace(mg.Spec.parse(THREE.format(strategy="residual", epsilon="1")), budget=ZCDP(Fraction(1, 10))),
        Table(
            mg.Spec.parse(THREE.format(strategy="residual", epsilon="1")).domain, ("a", "b", "c"), COUNTS
        ).to_pandas(),
        seed=1,
    )
    found = mg.infer(out, "[a,b][b,c]")
    assert found.test.df == 0 and found.test.p_value is None
    assert mg.infer(out, "[a][b]").test.df == 2


def test_parameters_of_cells_that_are_as_good_as_empty_count_less():
    """Few records in many cells: judged by dimensions minus parameters, the true model would be rejected too often."""
    spec = replace(mg.Spec.load(mg.examples.path("fungus")), budget=PureDP(Fraction(1, 2)))
    plan, model, exact = mg.plan(spec), Model(spec.domain, spec.margins), mg.count(spec, tables=[spec.domain.names])
    counts = exact.table(spec.domain.names).counts + 0.1
    chances = fit(model, Table(spec.domain, spec.domain.names, counts)).probabilities.counts
    random, tests = np.random.default_rng(11), []
    for run in range(100):
        drawn = random.multinomial(70, chances.ravel()).reshape(chances.shape)
        out = mg.release(plan, Table(spec.domain, spec.domain.names, drawn).to_pandas(), seed=f"sparse {run}")
        tests.append(mg.infer(out, model).test)
    misfit, mean, df = np.mean([(test.x2, test.mean, test.df) for test in tests], axis=0)
    error = np.std([test.x2 for test in tests]) / 10
    assert misfit > df + 2 * error and abs(misfit - mean) < 2 * error
    assert binomtest(sum(test.p_value < 0.1 for test in tests), 100, 0.1).pvalue > 0.05


def test_a_fit_test_by_its_moments():
    # With the variance of a χ² it is the χ² test; a larger variance makes the same misfit less surprising.
    assert FitTest(18.307, 10, 10.0, 20.0).p_value == pytest.approx(0.05, abs=1e-4)
    assert FitTest(18.307, 10, 10.0, 40.0).p_value > 0.07


def test_critical_values_allow_for_heavy_tails_and_skew():
    assert critical(0.95, 0.0, 0.0) == pytest.approx(1.95996, abs=1e-4)
    laplace = np.log(20) / np.sqrt(2)
    assert critical(0.95, 0.0, 3.0) == pytest.approx(laplace, abs=0.06)
    assert critical(0.95, 0.5, 0.0) > critical(0.95, 0.0, 0.0) > critical(0.95, -0.5, 0.0)


def test_what_is_refused():
    out = three()
    with pytest.raises(UsageError, match="says nothing about a, c"):
        mg.infer(three(strategy="margins"), "[a,c]")
    with pytest.raises(UsageError, match="level"):
        mg.infer(out, "[a]", level=1.0)
    with pytest.raises(UsageError, match="names no attribute"):
        mg.infer(out, "[]")
    with pytest.raises(UsageError, match="not a term"):
        mg.infer(out, "[a][b]").contrasts([("a", "b")])


def test_nothing_is_inferred_from_noise_alone():
    with pytest.raises(RefusedError, match="as large as its number of records"):
        mg.infer(three(COUNTS // 100 + 1, epsilon="0.01"), "[a,b]")


def test_impossible_cells_are_no_part_of_the_table():
    text = THREE.format(strategy="base", epsilon="1").replace(
        "[release]", '[release]\nimpossible = [{a = "1", b = "1"}]'
    )
    spec = mg.Spec.parse(text)
    counts = COUNTS.copy()
    counts[0, 0] = 0
    out = mg.release(spec, Table(spec.domain, spec.domain.names, counts).to_pandas(), seed=1)
    found = mg.infer(out, "[a][b]")
    assert found.expected.counts[0, 0] == 0 and (found.expected.counts.ravel()[1:] > 0).all()
    assert "1,1" not in set(found.shares([("a", "b")])["values"])
    with pytest.raises(RefusedError, match="every cell to be possible"):
        found.contrasts()
    with pytest.raises(RefusedError, match="without meaning"):
        mg.infer(out, "[a,b]")


def test_a_saved_release_says_the_same_and_so_does_the_command(tmp_path):
    out = three(seed=4)
    path = out.save(tmp_path / "out")
    expected = mg.infer(out, "[a,b][b,c]").contrasts([("a", "b")])
    pd.testing.assert_frame_equal(mg.infer(mg.Release.load(path), "[a,b][b,c]").contrasts([("a", "b")]), expected)
    done = CliRunner().invoke(app, ["infer", str(path), "--of", "a,b", "--json"])
    said = json.loads(done.stdout)
    assert [row["estimate"] for row in said["contrasts"]] == pytest.approx(list(expected["estimate"]))
    assert said["model"] == "[ab][bc]" and said["private"] is False
    shown = CliRunner().invoke(app, ["infer", str(path), "--model", "[a][b]", "--shares"])
    assert shown.exit_code == 0 and "Test of the model" in shown.stdout and "Probabilities" in shown.stdout
