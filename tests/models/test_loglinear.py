"""Fits: against an independent Poisson regression, against published numbers, on the boundary, and the errors."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.linalg import qr
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

from margrave.algebra.table import Table
from margrave.errors import UsageError
from margrave.models import loglinear
from margrave.models.facial import face
from margrave.models.loglinear import fit
from margrave.models.model import Model
from margrave.models.solve import closed_form, ipf, newton


def dummies(model):
    """A full-rank matrix of the model by treatment coding, built apart from the package's own."""
    grid = np.indices(model.domain.shape()).reshape(len(model.domain), -1)
    columns = {(): np.ones(grid.shape[1])}
    for generator in model.generators:
        for width in range(1, len(generator) + 1):
            for term in combinations(generator, width):
                axes = [model.domain.names.index(name) for name in term]
                for values in np.ndindex(*(model.domain.shape()[axis] - 1 for axis in axes)):
                    marks = [grid[axis] == value + 1 for axis, value in zip(axes, values, strict=True)]
                    columns[term, values] = np.prod(marks, axis=0).astype(float)
    return np.column_stack(list(columns.values()))


def regression(model, counts, cells=None):
    """Poisson regression on the chosen cells, with as many columns as are independent there."""
    chosen = slice(None) if cells is None else cells.ravel()
    columns = dummies(model)[chosen]
    _, triangle, order = qr(columns, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(triangle)) > 1e-9).sum())
    glm = sm.GLM(counts.ravel()[chosen], columns[:, np.sort(order[:rank])], family=sm.families.Poisson())
    # A saturated model predicts perfectly and has no degrees of freedom to divide by: the regression warns of both.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PerfectSeparationWarning)
        return glm.fit(tol=1e-12, maxiter=100)


def random_case(rng, letters):
    domain = letters(*rng.integers(2, 4, size=rng.integers(2, 5)))
    pool = [margin for width in (1, 2, 3) for margin in combinations(domain.names, width)]
    picks = rng.choice(len(pool), size=min(len(pool), int(rng.integers(1, 6))), replace=False)
    return Model(domain, tuple(pool[pick] for pick in picks))


@pytest.mark.slow
def test_two_hundred_random_fits_agree_with_poisson_regression(letters):
    rng = np.random.default_rng(2012)
    methods = set()
    for case in range(200):
        model = random_case(rng, letters)
        shape = model.domain.shape()
        counts = rng.integers(1, 40, shape) if case % 2 else rng.gamma(2.0, 5.0, shape) + 0.1
        table = Table(model.domain, model.domain.names, counts)
        ours, theirs = fit(model, table), regression(model, counts)
        assert ours.exists
        assert ours.converged
        assert ours.g2 == pytest.approx(theirs.deviance, abs=1e-6)
        assert ours.x2 == pytest.approx(theirs.pearson_chi2, rel=1e-6, abs=1e-6)
        assert ours.df == ours.df_extended == theirs.df_resid
        np.testing.assert_allclose(ours.fitted.counts.ravel(), theirs.fittedvalues, rtol=1e-6)
        np.testing.assert_allclose(ours.pearson.ravel(), theirs.resid_pearson, atol=1e-5)
        np.testing.assert_allclose(ours.deviance.ravel(), theirs.resid_deviance, atol=1e-5)
        methods.add(ours.method)
    assert {"closed form", "ipf"} <= methods


PUBLISHED = [
    ("fungus", 17.257109, 52, 37, 1.339669),
    ("czech", 44.588126, 42, 42, 0.884225),
    ("rochdale", 149.577762, 226, 168, 1.429415),
    ("journey", 319.707292, 135, 12, 1.383388),
]


@pytest.mark.parametrize(("name", "g2", "df", "df_extended", "distance"), PUBLISHED)
def test_the_bundled_tables_have_the_known_fits(name, g2, df, df_extended, distance, bundled):
    model, table = bundled(name)
    found = fit(model, table)
    assert found.g2 == pytest.approx(g2, abs=5e-7)
    assert (found.df, found.df_extended) == (df, df_extended)
    assert found.exists == (name == "czech")
    assert found.converged
    assert found.iterations < 100
    assert np.abs(found.probabilities.counts - 1 / table.counts.size).sum() == pytest.approx(distance, abs=5e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fungus", "czech", "rochdale", "journey"])
def test_the_bundled_fits_agree_with_poisson_regression_on_the_face(name, bundled):
    model, table = bundled(name)
    found = fit(model, table)
    theirs = regression(model, table.counts, found.face.cells)
    assert found.g2 == pytest.approx(theirs.deviance, abs=1e-5)
    assert found.df_extended == theirs.df_resid
    assert found.df == table.counts.size - np.linalg.matrix_rank(dummies(model))


def test_plain_proportional_fitting_on_journey_is_far_from_done(bundled):
    model, table = bundled("journey")
    counts = table.counts.astype(float)
    everywhere = ipf(model, counts, np.ones(counts.shape, dtype=bool), loglinear.TOLERANCE, 3000)
    assert not everywhere.converged


def test_decomposable_fits_are_the_limit_of_proportional_fitting(letters):
    rng = np.random.default_rng(7)
    for text in ("[AB][BC]", "[ABC][BCD]", "[AB][C]", "[AB][CD]", "[A][D]", "[]", "[ABC][CD]"):
        for density in (0.3, 1.0):
            model = Model.parse(text, letters(2, 3, 2, 2))
            counts = rng.integers(1, 9, model.domain.shape()) * (rng.random(model.domain.shape()) < density) * 1.0
            counts.flat[0] = 1.0
            cells = face(model, counts).cells
            iterated = ipf(model, counts, cells, 1e-13, 1000)
            assert iterated.converged
            np.testing.assert_allclose(closed_form(model, counts).counts, iterated.counts, atol=1e-9)
            found = fit(model, Table(model.domain, model.domain.names, counts))
            assert found.method == "closed form"
            assert found.face_rank == np.linalg.matrix_rank(model.basis(cells))
            np.testing.assert_array_equal(found.fitted.counts > 0, cells)


def haberman(letters):
    """Positive two-way margins, and yet no estimate: opposite corners are empty."""
    model = Model.parse("[AB][BC][AC]", letters(2, 2, 2))
    counts = np.array([[[0, 3], [5, 2]], [[4, 6], [1, 0]]])
    return model, Table(model.domain, model.domain.names, counts)


def test_forced_zeros_are_exact_and_the_rest_is_saturated(letters):
    model, table = haberman(letters)
    found = fit(model, table)
    assert not found.exists
    assert (found.df, found.df_extended, found.face_rank) == (1, 0, 6)
    assert (found.fitted.counts[table.counts == 0] == 0.0).all()
    np.testing.assert_allclose(found.fitted.counts, table.counts, atol=1e-8)
    assert found.g2 == pytest.approx(0, abs=1e-9)
    assert found.p_value == 1.0
    np.testing.assert_array_equal(found.adjusted, 0.0)


def test_the_extended_fit_is_the_limit_of_plain_proportional_fitting(letters):
    model, table = haberman(letters)
    counts = table.counts.astype(float)
    whole = np.ones(counts.shape, dtype=bool)
    target = fit(model, table).fitted.counts
    errors = [np.abs(ipf(model, counts, whole, 0.0, sweeps).counts - target).max() for sweeps in (10, 100, 1000)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2] > 0


def forced_zero_cases(letters, count):
    rng = np.random.default_rng(31)
    while count:
        text, sizes = [("[AB][BC][AC]", (3, 3, 2)), ("[AB][BC][CD][AD]", (2, 2, 2, 2)), ("[AB][BC][AC]", (2, 3, 4))][
            count % 3
        ]
        model = Model.parse(text, letters(*sizes))
        counts = rng.integers(1, 12, sizes) * (rng.random(sizes) < 0.6)
        if counts.any() and not face(model, counts.astype(float)).whole:
            count -= 1
            yield model, Table(model.domain, model.domain.names, counts)


@pytest.mark.slow
def test_the_extended_likelihood_is_the_supremum(letters):
    """No table in the model does better, and adding a vanishing amount to each cell comes as close as one likes."""
    for model, table in forced_zero_cases(letters, 12):
        found = fit(model, table)
        assert found.converged
        theirs = regression(model, table.counts, found.face.cells)
        assert found.g2 == pytest.approx(theirs.deviance, abs=1e-6)
        assert found.df_extended == theirs.df_resid
        gaps = []
        for extra in (1e-2, 1e-4, 1e-6):
            near = fit(model, Table(table.domain, table.margin, table.counts + extra))
            assert near.exists
            assert near.converged
            n, m = table.counts.astype(float), near.fitted.counts * table.total / near.fitted.total
            gaps.append(2 * float((n[n > 0] * np.log(n[n > 0] / m[n > 0])).sum()) - found.g2)
        assert gaps[0] > gaps[2] > -1e-7
        assert gaps[2] < 1e-3


@pytest.mark.slow
def test_fitted_margins_are_the_observed_ones(bundled, letters):
    cases = [bundled(name) for name in ("fungus", "czech", "rochdale", "journey")]
    for model, table in [*cases, *forced_zero_cases(letters, 6)]:
        fitted = fit(model, table).fitted
        for generator in model.generators:
            expected = table.project(generator).counts
            np.testing.assert_allclose(fitted.project(generator).counts, expected, atol=1e-9 * table.total)


def test_residuals_sum_to_their_statistics_and_vanish_outside_the_face(bundled):
    model, table = bundled("rochdale")
    found = fit(model, table)
    assert (found.pearson**2).sum() == pytest.approx(found.x2)
    assert (found.deviance**2).sum() == pytest.approx(found.g2)
    outside = ~found.face.cells
    assert outside.any()
    for residuals in (found.pearson, found.deviance, found.adjusted):
        np.testing.assert_array_equal(residuals[outside], 0.0)


def test_adjusted_residuals_agree_with_the_regression(bundled):
    model, table = bundled("czech")
    influence = regression(model, table.counts).get_influence()
    np.testing.assert_allclose(fit(model, table).adjusted.ravel(), influence.resid_studentized, atol=1e-6)


def test_newton_and_proportional_fitting_meet(letters):
    rng = np.random.default_rng(5)
    model = Model.parse("[AB][BC][AC]", letters(3, 4, 3))
    counts = rng.integers(1, 30, model.domain.shape()).astype(float)
    whole = np.ones(counts.shape, dtype=bool)
    start = ipf(model, counts, whole, 1e-12, 1)
    polished = newton(model, counts, whole, model.rank, start, 1e-12)
    assert polished.converged
    assert polished.iterations < 12
    np.testing.assert_allclose(polished.counts, ipf(model, counts, whole, 1e-13, 5000).counts, rtol=1e-8)


@pytest.mark.slow
def test_newton_takes_over_close_to_the_boundary(bundled):
    model, table = bundled("journey")
    nearly = Table(table.domain, table.margin, table.counts + 1e-6)
    found = fit(model, nearly)
    assert found.exists
    assert (found.method, found.converged) == ("newton", True)
    assert found.iterations < loglinear.SWEEPS + 60
    assert found.g2 == pytest.approx(319.707292, abs=0.02)


def test_a_limit_that_is_too_small_is_told(bundled):
    model, table = bundled("journey")
    found = fit(model, table, limit=3)
    assert (found.method, found.iterations, found.converged) == ("ipf", 3, False)
    assert repr(found).endswith("ipf, not converged)")


def test_fractions_scale_through(bundled):
    model, table = bundled("rochdale")
    third = fit(model, Table(table.domain, table.margin, table.counts / 3))
    full = fit(model, table)
    assert third.g2 == pytest.approx(full.g2 / 3, abs=1e-7)
    assert third.df_extended == full.df_extended
    np.testing.assert_allclose(third.probabilities.counts, full.probabilities.counts, atol=1e-10)


def test_criteria_count_what_the_face_can_estimate(bundled):
    model, table = bundled("fungus")
    found = fit(model, table)
    assert found.face_rank == int(found.face.cells.sum()) - 37
    assert found.aic == pytest.approx(found.g2 + 2 * found.face_rank)
    assert found.bic == pytest.approx(found.g2 + np.log(70) * found.face_rank)
    assert found.summary()["model"] == str(model)
    assert found.summary()["exists"] is False


def test_differences_of_aic_are_those_of_the_regression(bundled):
    _, table = bundled("czech")
    pair = [Model.parse(text, table.domain) for text in ("[smoke,mental][pressure]", "[smoke,mental,physical][family]")]
    ours = [fit(model, table).aic for model in pair]
    theirs = [regression(model, table.counts).aic for model in pair]
    assert ours[0] - ours[1] == pytest.approx(theirs[0] - theirs[1], abs=1e-6)


def test_the_saturated_model_fits_exactly(bundled):
    _, table = bundled("fungus")
    found = fit(Model(table.domain, (table.domain.names,)), table)
    np.testing.assert_array_equal(found.fitted.counts, table.counts)
    assert (found.g2, found.df, found.df_extended, found.p_value) == (0.0, 0, 0, 1.0)


def test_a_margin_is_fitted_by_a_model_of_its_own_domain(bundled):
    _, table = bundled("czech")
    margin = table.project(("smoke", "mental"))
    found = fit(Model.parse("[smoke][mental]", table.domain.restrict(margin.margin)), margin)
    assert (found.df, found.exists) == (1, True)
    assert found.fitted.margin == ("smoke", "mental")


def test_tables_that_cannot_be_fitted_are_errors(letters):
    model = Model.parse("[A][B]", letters(2, 2))
    names = model.domain.names
    for counts, words in [
        ([1.0, -0.5, 2.0, 1.0], "negative cells"),
        ([1.0, np.nan, 2.0, 1.0], "not finite"),
        ([1.0, np.inf, 2.0, 1.0], "not finite"),
        ([0, 0, 0, 0], "every cell"),
    ]:
        with pytest.raises(UsageError, match=words):
            fit(model, Table(model.domain, names, np.array(counts)))
    with pytest.raises(UsageError, match="own domain"):
        fit(model, Table(letters(2, 3), names, np.ones(6)))
    with pytest.raises(UsageError, match="own domain"):
        fit(model, Table(model.domain, ("A",), np.ones(2)))


def test_an_error_names_no_count(letters):
    model = Model.parse("[A][B]", letters(2, 2))
    with pytest.raises(UsageError) as caught:
        fit(model, Table(model.domain, model.domain.names, np.array([-77.25, 1, 2, 3])))
    assert "77" not in str(caught.value)
    assert "Table(A, B" not in repr(fit(model, Table(model.domain, model.domain.names, np.array([5, 1, 2, 3]))))
