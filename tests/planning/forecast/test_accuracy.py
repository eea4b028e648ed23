"""Forecasts against simulation, for every strategy: what is promised is what happens."""

from fractions import Fraction

import numpy as np
import pytest

from margrave.algebra.query import answer
from margrave.budget.units import ZCDP, PureDP
from margrave.crossing import Answer, Measured
from margrave.noise import Generator
from margrave.planning.planner import make_plan
from margrave.publish.release import Release
from tests.shapes import spec_of

STRATEGIES = ["auto", "residual", "fourier", "efron-stein", "margins", "base"]
CASES = [((2, 2, 2), ["ab", "bc"]), ((3, 2, 1), ["abc", "b"]), ((2, 5), ["ab"])]
RUNS = 3000


def releases(plan, runs, seed):
    """Releases of the all-zero table: their tables are nothing but error."""
    generator = Generator.seeded(seed)
    for _ in range(runs):
        answers = []
        for measurement in plan.measurements:
            shape = measurement.query.shape(plan.domain)
            noise = measurement.noise.sample(int(np.prod(shape)), generator).reshape(shape)
            answers.append(Answer(measurement, noise))
        exact = {margin: np.zeros(plan.domain.shape(margin), dtype=np.int64) for margin in plan.exact}
        yield Release(plan, Measured(tuple(answers), exact, private=False))


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PureDP(Fraction(1, 2)), ZCDP(Fraction(1, 10))], ids=str)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("sizes", "tables"), CASES, ids=str)
def test_sample_variance_equals_forecast_variance(budget, strategy, sizes, tables):
    spec = spec_of(sizes, tables, budget, strategy=strategy)
    plan = make_plan(spec)
    drawn = {margin: [] for margin in spec.margins}
    for out in releases(plan, RUNS // 3, f"{strategy}{budget}{sizes}"):
        for margin in spec.margins:
            drawn[margin].append(out.unbiased(margin).ravel())
    for row in plan.forecast:
        errors = np.array(drawn[row.margin])
        # Cells of a table are correlated; 8 % is more than five standard errors of this ratio in every case here.
        assert np.sqrt((errors**2).mean()) == pytest.approx(row.std_error, rel=0.08)
        assert np.abs(errors.mean(axis=0)).max() < 6 * row.std_error / np.sqrt(len(errors)) + 1e-9
        assert np.abs(errors).sum(axis=1).mean() == pytest.approx(row.expected_l1, rel=0.08)
        # Whole-number noise of a small deviation covers a little more than asked; decoded cells differ in accuracy.
        covered = (np.abs(errors) <= row.half_width).mean()
        assert 0.93 < covered < 0.985
        assert (np.abs(errors).max(axis=1) <= row.all_cells).mean() > 0.93


def test_tables_of_one_release_agree_with_each_other():
    plan = make_plan(spec_of((2, 3, 4), ["ab", "bc", "ac"], strategy="residual"))
    out = next(releases(plan, 1, "agree"))
    ab, bc, ac = (out.unbiased(margin) for margin in (("a", "b"), ("b", "c"), ("a", "c")))
    np.testing.assert_allclose(ab.sum(axis=0), bc.sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(ab.sum(axis=1), ac.sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(out.unbiased(("b",)), bc.sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(out.unbiased(()), ab.sum(), atol=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_noise_every_strategy_returns_the_truth(strategy):
    spec = spec_of((2, 3, 2), ["ab", "bc"], strategy=strategy)
    plan = make_plan(spec)
    truth = np.arange(12).reshape(2, 3, 2)
    encoded = plan.encoding.encode(spec.domain.names, truth)
    answers = []
    for measurement in plan.measurements:
        names = plan.domain.names
        axes = tuple(axis for axis, name in enumerate(names) if name not in measurement.query.margin)
        answers.append(Answer(measurement, answer(plan.domain, measurement.query, encoded.sum(axis=axes))))
    out = Release(plan, Measured(tuple(answers), {}, private=False))
    np.testing.assert_allclose(out.unbiased(("a", "b")), truth.sum(axis=2), atol=1e-9)
    np.testing.assert_allclose(out.unbiased(("b", "c")), truth.sum(axis=0), atol=1e-9)


@pytest.mark.slow
def test_linear_functions_have_the_stated_error():
    spec = spec_of((2, 3), ["ab"], strategy="margins")
    plan = make_plan(spec)
    weights = np.array([[1.0, -1.0, 0.0], [0.5, 0.0, 2.0]])
    noise = plan.linear_noise(("a", "b"), weights)
    assert noise.variance == pytest.approx(plan.accuracy.linear_variance(("a", "b"), weights))
    errors = np.array([(out.unbiased(("a", "b")) * weights).sum() for out in releases(plan, RUNS, "linear")])
    assert errors.std() == pytest.approx(np.sqrt(noise.variance), rel=0.06)
    assert (np.abs(errors) <= noise.half_width(0.9)).mean() == pytest.approx(0.9, abs=0.02)
