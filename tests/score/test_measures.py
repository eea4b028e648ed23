"""Accuracy measures: hand-made numbers, identities, and the errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from margrave.algebra.table import Table
from margrave.errors import UsageError
from margrave.models.loglinear import fit
from margrave.models.model import Model
from margrave.score.measures import (
    MarginErrors,
    ModelAgreement,
    agreement,
    choose,
    l1_distance,
    l2_distance,
    margin_errors,
    misleads,
    total_variation,
)

pytestmark = pytest.mark.slow


def table(domain, counts):
    return Table(domain, domain.names, np.array(counts))


def test_margin_errors_are_sums_of_absolute_differences(letters):
    domain = letters(2, 2)
    truth, released = table(domain, [1, 2, 3, 4]), table(domain, [2.5, 2, 1, 4])
    errors = margin_errors([truth, truth.project(("A",))], [released.project(("A",)), released])
    assert dict(errors.l1) == {("A", "B"): 3.5, ("A",): 3.5}
    assert (errors.largest, errors.mean) == (3.5, 3.5)
    single = margin_errors([truth.project(()), truth], [released.project(()), released])
    assert (single.largest, single.mean) == (3.5, 2.0)


def test_margin_errors_need_the_same_margins(letters):
    domain = letters(2, 2)
    truth = table(domain, [1, 2, 3, 4])
    with pytest.raises(UsageError, match="one of the two"):
        margin_errors([truth], [truth.project(("A",))])
    with pytest.raises(UsageError, match="twice"):
        margin_errors([truth, truth], [truth])
    with pytest.raises(UsageError, match="no margin"):
        MarginErrors({})
    other = table(letters(2, 3), range(6))
    with pytest.raises(UsageError, match="same attributes"):
        margin_errors([truth], [other])


def test_distances_between_probabilities(letters):
    domain = letters(2, 2)
    first, second = table(domain, [1, 1, 1, 1]), table(domain, [10, 0, 0, 0])
    assert l1_distance(first, second) == pytest.approx(1.5)
    assert total_variation(first, second) == pytest.approx(0.75)
    assert l2_distance(first, second) == pytest.approx(math.sqrt(0.75))
    assert l1_distance(first, table(domain, [7, 7, 7, 7])) == 0
    with pytest.raises(UsageError, match="positive total"):
        l1_distance(first, table(domain, [0, 0, 0, 0]))


def test_l1_between_disjoint_tables_is_two(letters):
    domain = letters(2, 2)
    assert l1_distance(table(domain, [1, 2, 0, 0]), table(domain, [0, 0, 5, 1])) == pytest.approx(2.0)


def test_a_table_agrees_with_itself(bundled):
    model, truth = bundled("czech")
    same = agreement(model, truth, truth)
    assert same.l1 == same.l2 == same.total_variation == same.g2_difference == 0
    assert same.g2_carried == pytest.approx(same.true.g2)
    assert same.sample_sizes == (1841, 1841)
    assert same.still_fits() is True


def test_the_carried_statistic_is_the_own_one_plus_a_divergence(bundled):
    """For fits in one model, G²(n, q) = G²(n, m) + 2 Σ m log(m/q): Pythagoras."""
    model, truth = bundled("czech")
    released = Table(truth.domain, truth.margin, np.random.default_rng(1).poisson(truth.counts + 2))
    seen = agreement(model, truth, released)
    m = seen.true.fitted.counts
    q = seen.released.probabilities.counts * truth.total
    assert seen.g2_carried == pytest.approx(seen.true.g2 + 2 * (m * np.log(m / q)).sum())
    assert seen.g2_difference == pytest.approx(seen.released.g2 - seen.true.g2)
    assert 0 < seen.total_variation == seen.l1 / 2 < 1


def test_a_released_fit_that_excludes_people_is_infinitely_far(letters):
    model = Model.parse("[A][B]", letters(2, 2))
    truth, released = table(model.domain, [1, 2, 3, 4]), table(model.domain, [0, 0, 3, 4])
    assert agreement(model, truth, released).g2_carried == math.inf


def test_still_fits_has_three_answers(letters):
    model = Model.parse("[A][B]", letters(2, 2))
    independent, dependent = table(model.domain, [10, 20, 20, 40]), table(model.domain, [40, 1, 1, 40])
    assert agreement(model, independent, independent).still_fits() is True
    assert agreement(model, independent, dependent).still_fits() is False
    assert agreement(model, dependent, independent).still_fits() is None
    with pytest.raises(UsageError, match="level"):
        agreement(model, independent, dependent).still_fits(1.5)


def test_an_agreement_is_of_one_model(letters):
    domain = letters(2, 2)
    counts = table(domain, [1, 2, 3, 4])
    with pytest.raises(UsageError, match="different models"):
        ModelAgreement(fit(Model.parse("[A]", domain), counts), fit(Model.parse("[B]", domain), counts))


def test_bic_chooses_the_model_that_made_the_table(letters):
    domain = letters(2, 2, 2)
    rng = np.random.default_rng(4)
    texts = ("[A][B][C]", "[AB][C]", "[AB][BC]", "[AB][BC][AC]", "[ABC]")
    models = [Model.parse(text, domain) for text in texts]
    joint = np.einsum("ab,c->abc", [[0.4, 0.1], [0.1, 0.4]], [0.3, 0.7])
    truth = table(domain, rng.multinomial(2000, joint.ravel()))
    choice = choose(models, truth)
    assert str(choice.best) == "[AB][C]"
    assert [one.bic for one in choice.fits] == sorted(one.bic for one in choice.fits)
    assert choice.lead > 0
    assert choose(models[:1], truth).lead == math.inf
    flat = table(domain, np.full(8, 250))
    assert misleads(models, truth, flat)
    assert not misleads(models, truth, table(domain, truth.counts.ravel() + 1))
    with pytest.raises(UsageError, match="no model"):
        choose([], truth)
