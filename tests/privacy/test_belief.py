"""An attacker who knows the whole data but one person's part, and computes her belief about that exactly.

She sees the noisy answers of many seeded measurements, takes the likelihood of each possibility from the distribution
of the noise, and applies Bayes' rule. For pure ε she is never surer than the guarantee says, and often that sure; for
ρ and (ε, δ) not more often than it says.
"""

import re
from fractions import Fraction
from functools import cache
from math import exp, log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.algebra.query import answer
from margrave.algebra.table import Table
from margrave.budget.accountant import epsilon_of
from margrave.budget.events import Protection
from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.measure import run
from margrave.noise import Generator
from margrave.planning.planner import make_plan
from margrave.planning.promise.belief import RARELY, Suspicion, bound, exception, odds, percent
from margrave.planning.promise.guarantee import Guarantee
from margrave.publish.report.page import report_html
from margrave.spec.sections import DataSection, Unit
from margrave.spec.workload import PublicFact
from tests.shapes import frame_of, spec_of

pytestmark = pytest.mark.slow

RUNS = 200
OTHERS = np.array([[3, 1], [0, 2]])
A, B, C = (0, 0), (1, 1), (0, 1)


def with_records(*records):
    """The data of all others, and the given records of hers."""
    table = OTHERS.copy()
    for record in records:
        table[record] += 1
    return table


def frame(plan, others, hers):
    """Microdata with everybody's unit: the others have a record each."""
    data = frame_of(plan.spec.domain, others)
    if plan.spec.data is None:
        return frame_of(plan.spec.domain, with_records(*hers))
    mine = frame_of(plan.spec.domain, with_records(*hers) - others)
    ids = [*(f"other {number}" for number in range(len(data))), *(["her"] * len(mine))]
    return pd.concat([data, mine], ignore_index=True).assign(person=ids)


def log_likelihoods(plan, measured, cases):
    """For each case of her records, the log-probability of what was measured."""
    found = []
    for hers in cases:
        table = Table(plan.domain, plan.domain.names, with_records(*hers))
        total = 0.0
        for one in measured.answers:
            query = one.measurement.query
            truth = answer(plan.domain, query, table.project(query.margin).counts)
            total += np.log(one.measurement.noise.pmf(one.outputs - truth)).sum()
        found.append(total)
    return np.array(found)


def growth(plan, suspected, rest, runs=RUNS, name="belief"):
    """By how much the log-odds of the suspicion grew in each run; each case of it is true in some of them."""
    cases = [*suspected, *rest]
    found = []
    for run_number in range(runs):
        data = frame(plan, OTHERS, suspected[run_number % len(suspected)])
        measured = run.measure(plan, data, Generator.seeded(f"{name} {run_number}"))
        logs = log_likelihoods(plan, measured, cases)
        means = [np.logaddexp.reduce(part) - log(len(part)) for part in np.split(logs, [len(suspected)])]
        found.append(means[0] - means[1])
    return np.array(found)


def plan_of(budget=None, **settings):
    return make_plan(spec_of((2, 2), ["ab"], budget or PureDP(Fraction(1)), strategy="base", **settings))


UNIT = DataSection(unit=Unit("person", 2))
TOTAL = (PublicFact(()),)
MARGIN = (PublicFact(("a",)),)
CELL = (PublicFact(("a", "b"), ("0", "1")),)
VALUE, PRESENCE = "value", "presence"
CASES = [
    ({}, VALUE, 1, [[A]], [[B]]),
    ({}, VALUE, 1, [[A]], [[B], [C], []]),
    ({}, PRESENCE, 1, [[A]], [[]]),
    ({}, VALUE, 2, [[A, A]], [[B, B]]),
    ({"neighbours": "replace"}, VALUE, 1, [[A]], [[B]]),
    ({"neighbours": "replace"}, VALUE, 2, [[A, A]], [[B, B]]),
    ({"sensitive": ("b",)}, VALUE, 1, [[A]], [[C]]),
    ({"data": UNIT}, VALUE, 1, [[A, A]], [[B, B]]),
    ({"data": UNIT}, PRESENCE, 1, [[A, A]], [[]]),
    ({"data": UNIT, "neighbours": "replace"}, VALUE, 1, [[A, A]], [[B, B]]),
    ({"public": TOTAL, "induced": "worst-case"}, VALUE, 1, [[A]], [[B], [C]]),
    ({"public": MARGIN, "induced": "markov"}, VALUE, 1, [[A]], [[C]]),
    ({"public": CELL, "induced": "worst-case"}, VALUE, 1, [[A]], [[B]]),
    ({"public": CELL, "induced": "worst-case"}, PRESENCE, 1, [[A]], [[]]),
]


def suspicion_of(plan, topic):
    return next(one for one in plan.promise.suspicions if one.topic == topic)


@pytest.mark.parametrize(("settings", "topic", "units", "suspected", "rest"), CASES)
def test_with_pure_noise_belief_never_passes_the_bound_and_reaches_it(settings, topic, units, suspected, rest):
    plan = plan_of(**settings)
    stated = plan.promise.belief(suspicion_of(plan, topic), units)
    grown = growth(plan, suspected, rest)
    assert stated.chance == 0
    assert grown.max() <= stated.log_odds + 1e-9
    if len(rest) == 1:
        assert (grown > stated.log_odds - 1e-3).sum() > RUNS / 20
    else:
        assert grown.max() > stated.log_odds / 2


@pytest.mark.parametrize("strategy", ["auto", "margins", "residual", "fourier", "efron-stein"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_strategy_lets_belief_pass_the_bound(strategy, neighbours):
    plan = make_plan(spec_of((2, 2), ["a", "ab"], PureDP(Fraction(1)), strategy=strategy, neighbours=neighbours))
    stated = plan.promise.belief(suspicion_of(plan, VALUE))
    assert growth(plan, [[A]], [[B]], 50).max() <= stated.log_odds + 1e-9


def test_the_report_states_no_less_than_an_attacker_reaches():
    """The bound for whether she is in the data would say 73 %, and an attacker reaches 88 % for a value."""
    plan = plan_of()
    reached = 1 / (1 + exp(-growth(plan, [[A]], [[B]]).max()))
    data = frame(plan, OTHERS, [A])
    page = report_html(mg.release(plan, data, seed="belief"))
    stated = re.search(r">50%</t[hd]>\s*<td[^>]*>([\d.]+) ?%", page)
    assert reached > 0.88
    assert 100 * reached <= float(stated[1])


@cache
def gaussian_growth(topic):
    return growth(plan_of(ZCDP(Fraction(1, 4))), [[A]], [[B] if topic == VALUE else []], 600, "gauss")


@pytest.mark.parametrize("topic", [VALUE, PRESENCE])
@pytest.mark.parametrize("chance", [0.3, 0.05])
@pytest.mark.parametrize("budget", [ZCDP(Fraction(1, 4)), ApproxDP(Fraction(1), Fraction(1, 100))])
def test_with_gaussian_noise_belief_passes_the_bound_no_more_often_than_stated(budget, chance, topic):
    plan = plan_of(ZCDP(Fraction(1, 4)))
    if isinstance(budget, ApproxDP):  # what the same noise promises, so that the bound is met as closely as can be
        budget = ApproxDP(epsilon_of(plan.cost.rho, budget.delta), budget.delta)
    stated = bound(budget, suspicion_of(plan, topic).steps, chance)
    grown = gaussian_growth(topic)
    passed = (grown > stated.log_odds).sum()
    assert passed <= len(grown) * chance  # far below: this noise is not the worst of its ρ
    assert passed > 0 or (chance, topic) != (0.3, PRESENCE)
    assert (grown > plan.cost.rho * suspicion_of(plan, topic).steps ** 2).sum() > len(grown) / 6


def randomised(epsilon, delta):
    """The worst (ε, δ)-mechanism: with probability δ it tells the truth, otherwise it answers at random."""
    truth = (1 - delta) * exp(epsilon) / (1 + exp(epsilon))
    return np.array([delta, truth, 1 - delta - truth, 0]), np.array([0, 1 - delta - truth, truth, delta])


@pytest.mark.parametrize("chance", [0.02, 0.1, 0.5])
def test_the_bound_with_delta_is_the_best_possible(chance):
    """An outcome that tells the truth is hidden among a share of those that do not: the bound fails just so often."""
    one, other = randomised(1.0, 0.01)
    stated = bound(ApproxDP(Fraction(1), Fraction(1, 100)), 1, chance)
    passed = []
    for share in np.linspace(0, 1, 2001):
        first, second = one[0] + share * one[1], other[0] + share * other[1]
        if first > exp(stated.log_odds) * second:
            passed.append(first)
    assert chance * 0.99 - 1e-3 < max(passed) <= chance


def test_two_steps_of_delta_are_what_two_steps_can_do():
    """(2ε, (1 + e^ε)δ): a chain of three distributions reaches both."""
    epsilon, delta = 0.7, 0.02
    least, middle, most = 0.0, delta, exp(epsilon) * delta + delta  # the probability of one and the same event
    assert most == pytest.approx((1 + exp(epsilon)) * delta + exp(2 * epsilon) * least)
    stated = bound(ApproxDP(Fraction("0.7"), Fraction("0.02")), 2)
    assert stated.chance == pytest.approx(10 * most)
    assert middle <= exp(epsilon) * least + delta + 1e-12


def test_which_steps_a_suspicion_spans():
    cost = PureDP(Fraction(1))
    one, two, present = Suspicion("value", 1), Suspicion("value", 2), Suspicion("presence", 1)
    assert Guarantee(cost, Protection()).suspicions == (two, present)
    assert Guarantee(cost, Protection(records=4)).suspicions == (two, present)
    assert Guarantee(cost, Protection("replace")).suspicions == (one,)
    assert Guarantee(cost, Protection(sensitive=("a",))).suspicions == (one,)
    assert Guarantee(cost, Protection(), "{a}", "worst-case", True).suspicions == (one,)
    assert Guarantee(cost, Protection(), "{a=0}", "worst-case", False).suspicions == (two, present)
    assert Guarantee(cost, Protection(), "{a}", "markov", True).suspected_together == (1,)


def test_bounds_of_groups_are_those_of_as_many_steps():
    for cost, factor in ((PureDP(Fraction(1, 5)), 6), (ZCDP(Fraction(1, 100)), 36)):
        promise = Guarantee(cost, Protection())
        larger = type(cost)((cost.epsilon if isinstance(cost, PureDP) else cost.rho) * factor)
        assert promise.belief(promise.suspicions[0], 3).log_odds == pytest.approx(bound(larger, 1).log_odds)


@pytest.mark.parametrize(
    ("cost", "value", "presence"),
    [
        (PureDP(Fraction(1)), ("7.39", "88.1 %", ""), ("2.72", "73.2 %", "")),
        (PureDP(Fraction(5)), ("22100", "99.9955 %", ""), ("149", "99.34 %", "")),
        (ZCDP(Fraction(1, 200)), ("3.7", "78.8 %", "1e-09"), ("1.92", "65.7 %", "1e-09")),
        (ApproxDP(Fraction(1), Fraction(1, 10**6)), ("8.22", "89.2 %", "4e-05"), ("3.03", "75.2 %", "1e-05")),
    ],
)
def test_stated_numbers_are_rounded_up(cost, value, presence):
    promise = Guarantee(cost, Protection())
    for suspicion, (factor, after, rarely) in zip(promise.suspicions, (value, presence), strict=True):
        found = promise.belief(suspicion)
        assert (odds(found), percent(found, 0.5)) == (factor, after)
        assert float(factor) >= found.factor
        assert float(after.removesuffix(" %")) / 100 >= found.after(0.5) - 1e-12
        assert exception(found) == (f", except with a probability of at most {rarely}" if rarely else "")
        assert not rarely or float(rarely) >= found.chance * (1 - 1e-9)
        assert f"by at most {factor}, so that 50 % can become {after}" in promise.words()[2]


def test_where_nothing_is_promised_no_number_is_given():
    assert bound(ApproxDP(Fraction(1), Fraction(1, 5)), 2).log_odds == float("inf")
    words = Guarantee(PureDP(Fraction(60)), Protection()).words()[2]
    assert words.count("almost nothing is guaranteed") == 2
    assert "can become" not in words
    assert bound(ZCDP(Fraction(1)), 1).chance == RARELY


def test_what_is_not_protected_is_said():
    for protection in (Protection("replace"), Protection(sensitive=("a",))):
        assert "Whether you are in the data is not protected." in Guarantee(PureDP(Fraction(1)), protection).words()[2]
    facts = plan_of(public=MARGIN, induced="worst-case").promise
    assert "all that the public facts tell about your record" in facts.words()[2]


def test_the_page_on_budgets_says_what_the_code_says():
    page = (Path(__file__).parents[2] / "docs" / "choosing-a-budget.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| ([\d.]+ %) \| ([\d.]+ %) \| ([\d.]+ %) \|$", page, re.MULTILINE)
    assert len(rows) == 5
    for epsilon, *stated in rows:
        two, one = (bound(PureDP(Fraction(epsilon)), steps) for steps in (2, 1))
        assert stated == [odds(two), percent(two, 0.1), percent(two, 0.5), percent(one, 0.5)]
