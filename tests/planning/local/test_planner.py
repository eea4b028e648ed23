"""The planner: optimal shares, the best mechanism for each residual, and no table left out."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from margrave.algebra.lattice import downward_closure
from margrave.errors import RefusedError, UsageError
from margrave.planning.local.forecast import Precisions, respondents_for
from margrave.planning.local.odds import Odds
from margrave.planning.local.plan import LocalPlan, make_local_plan, plan_of
from margrave.planning.local.planner import best_shares, residual_weights
from margrave.planning.local.question import WEIGHTS, LocalQuestion, candidates
from margrave.planning.local.target import plan_for
from margrave.planning.target import Target
from tests.planning.local.shapes import local_spec


def risk(spec, questions):
    """The planned squared error of all wanted tables, for one respondent."""
    variances = Precisions(questions).variances
    return sum(weight * variances[below] for below, weight in residual_weights(spec.domain, spec.workload).items())


def test_with_one_question_for_each_residual_the_shares_are_the_roots_of_the_weights():
    weights, spreads = np.array([1.0, 4.0, 9.0]), np.array([2.0, 1.0, 0.5])
    shares = best_shares(csr_array(np.diag(1 / spreads)), weights)
    wanted = np.sqrt(weights * spreads)
    np.testing.assert_allclose(shares, wanted / wanted.sum(), rtol=1e-3)


def test_the_shares_are_optimal_where_questions_tell_about_several_residuals():
    generator = np.random.default_rng(1)
    precisions, weights = generator.uniform(0, 1, (6, 4)), generator.uniform(1, 2, 4)
    shares = best_shares(csr_array(precisions), weights)
    value = (weights / (shares @ precisions)).sum()
    for _ in range(300):
        other = generator.dirichlet(np.full(6, 0.5))
        assert (weights / (other @ precisions)).sum() >= value * (1 - 1e-4)


@pytest.mark.slow
def test_all_pairs_of_sixteen_questions_are_planned_better_than_by_residuals_or_pairs_alone():
    spec = local_spec(*[2] * 16)
    best = risk(spec, make_local_plan(spec).questions)
    odds = Odds(3, 1)
    closure = list(residual_weights(spec.domain, spec.workload))
    alone = [LocalQuestion(one, candidates((2,) * len(one), odds, whole=len(one) == 1)[0], 1) for one in closure]
    roots = [sqrt(residual_weights(spec.domain, spec.workload)[one.margin] * one.spread(one.margin)) for one in alone]
    by_roots = [replace(one, weight=int(root / sum(roots) * WEIGHTS)) for one, root in zip(alone, roots, strict=True)]
    pairs = [one for one in closure if len(one) == 2]
    by_pairs = [LocalQuestion(one, candidates((2, 2), odds, whole=True)[0], WEIGHTS // len(pairs)) for one in pairs]
    evenly = [replace(one, weight=WEIGHTS // len(alone)) for one in alone]
    assert best < 0.87 * risk(spec, by_roots) < 0.87 * risk(spec, evenly)
    assert best < 0.81 * risk(spec, by_pairs)


def test_with_a_large_epsilon_wider_reports_are_better():
    plan = make_local_plan(local_spec(*[2] * 8, epsilon=4))
    assert max(len(one.margin) for one in plan.questions) > 2


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4).filter(lambda sizes: max(sizes) > 1),
    st.sampled_from([0.5, 1, 3]),
)
@settings(max_examples=25, deadline=None)
def test_on_any_domain_every_wanted_residual_is_reported_on(sizes, epsilon):
    spec = local_spec(*sizes, epsilon=epsilon, size=10**9)
    plan = make_local_plan(spec)
    assert sum(one.weight for one in plan.questions) == WEIGHTS
    wanted = downward_closure(tuple(name for name in one if spec.domain[name].size > 1) for one in spec.margins)
    assert set(wanted) - {()} <= set(plan.precisions.variances)
    assert all(row.respondents <= row.population < 1 for row in plan.forecast)
    assert plan_of(spec, [dict(one) for one in plan.events]) == plan


def test_the_plan_shows_what_it_gave_up():
    plan = make_local_plan(local_spec(3, 3))
    found = {one.name: used for one, used in plan.given_up["a", "b"]}
    assert set(found) == {"modular", "signs", "subset", "response", "unary", "hadamard"}
    assert any(found.values())
    assert not all(found.values())
    titles = [sheet.title for sheet in plan.sheets()]
    assert titles[0].endswith("likelihood ratio at most 3")
    assert "Forecast for 20,000 respondents" in titles[1]
    assert len(plan.sheets(1)[1].rows) == 2  # the first, and how many more there are


def test_a_hopeless_collection_is_refused_with_what_it_would_need():
    with pytest.raises(RefusedError) as caught:
        make_local_plan(
            local_spec(*[9] * 15, tables=[a + b for a in "abcdefghijklmno" for b in "abcdefghijklmno" if a < b])
        )
    assert "no table of this collection would tell anything with 20,000 respondents" in str(caught.value)
    assert "the 105 tables of up to 2 attributes together need about" in str(caught.value)
    assert "the 15 one-way tables need about" in str(caught.value)


def test_tables_that_will_be_mostly_noise_are_named():
    plan = make_local_plan(local_spec(*[9] * 15, size=200_000))
    assert any("the 105 tables of 2 attributes will be mostly noise" in warning for warning in plan.warnings)
    assert make_local_plan(local_spec(2, 2)).warnings == ()


def test_a_target_says_how_many_must_answer():
    spec = local_spec(2, 3)
    plan = plan_for(spec, Target.parse("0.01@95%"))
    assert max(row.most for row in plan.forecast) <= 0.01
    fewer = plan.forecast_for(plan.spec.expected_size - 1)
    assert max(row.most for row in fewer) > 0.01
    with pytest.raises(UsageError, match="share of all"):
        plan_for(spec, Target.parse("5@95%"))


def test_four_times_the_accuracy_needs_sixteen_times_the_respondents():
    few, many = (respondents_for(3.0, error) for error in (0.02, 0.005))
    assert many == pytest.approx(16 * few, rel=0.01)


def test_a_title_changes_neither_the_reports_nor_what_they_are_remembered_by():
    spec = local_spec(2, 3)
    other = replace(spec, base=replace(spec.base, title="Something else"), expected_size=10**6)
    one, two = make_local_plan(spec), make_local_plan(other)
    assert (one.hash, one.memory_key) == (two.hash, two.memory_key)
    dearer = make_local_plan(local_spec(2, 3, epsilon=2))
    assert dearer.hash != one.hash
    assert dearer.memory_key == one.memory_key  # a second report about the same questions is never made


def test_plans_are_checked_when_they_are_made():
    plan = make_local_plan(local_spec(2, 2))
    with pytest.raises(UsageError, match="add up"):
        LocalPlan(plan.spec, plan.questions[:-1])
    weaker = [replace(one, mechanism=type(one.mechanism)(one.mechanism.shape, Odds(4, 1))) for one in plan.questions]
    with pytest.raises(UsageError, match="protect less"):
        LocalPlan(plan.spec, tuple(weaker))
    with pytest.raises(UsageError, match="sizes"):
        LocalPlan(local_spec(3, 3), plan.questions)


def test_the_guarantee_is_said_in_words():
    words = " ".join(make_local_plan(local_spec(2, 2, shuffler="the post office", size=10**6)).words())
    assert "no report is more than 3 times as likely" in words
    assert "can become 75 %" in words
    assert "That she took part is not protected" in words
    assert "the post office" in words
    few = " ".join(make_local_plan(local_spec(2, 2, shuffler="the post office", size=500)).words())
    assert "too few for a stronger guarantee" in few
