"""The audit of plans that look at the data: honest ones pass, and faults planted in selections are seen."""

from dataclasses import replace
from fractions import Fraction

import pytest

from margrave.budget.events import Protection
from margrave.budget.units import ZCDP, PureDP
from margrave.measure import looking
from margrave.noise import DiscreteLaplace, selection
from margrave.planning.planner import make_plan
from margrave.study.audit.findings import Effort
from margrave.study.audit.looking import audit_looking, price_again, selection_alone, transcripts
from margrave.study.audit.neighbours import worst
from margrave.study.audit.releases import neighbours_of
from tests.shapes import spec_of

pytestmark = pytest.mark.slow

EFFORT = Effort(samples=40_000, releases=160)
BUDGETS = {"pure": PureDP(Fraction(1)), "rho": ZCDP(Fraction(1, 2))}


def planned(budget="pure", neighbours="add-remove", tables=("ab", "bc", "ac")):
    return make_plan(spec_of((2, 3, 2), list(tables), BUDGETS[budget], strategy="adaptive", neighbours=neighbours))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_no_violation_is_found_and_selections_come_near_what_they_state(budget, neighbours):
    plan = planned(budget, neighbours)
    found = audit_looking(plan, EFFORT)
    price, _, alone, whole = found.findings
    assert not found.violated, found.verdict
    assert price.found == pytest.approx(price.stated, rel=1e-6)
    assert alone.found > 0.2 * alone.stated
    assert whole.samples == 16


@pytest.mark.parametrize(("budget", "effort"), [("pure", EFFORT), ("rho", Effort())])
def test_losses_that_move_twice_as_far_as_stated_are_seen(monkeypatch, budget, effort):
    assert not selection_alone(planned(budget), effort).violated
    honest = looking.loss
    monkeypatch.setattr(looking, "loss", lambda *given: 2 * honest(*given))
    assert selection_alone(planned(budget), effort).violated


def test_tables_whose_weight_is_forgotten_in_the_rate_are_seen():
    plan = planned(tables=("abc", "ab"))
    assert plan.candidates.weight > 1
    light = tuple(
        replace(one, selection=replace(one.selection, rate=one.selection.rate * plan.candidates.weight, weight=1))
        for one in plan.rounds
    )
    assert not price_again(plan, "weights").violated and price_again(replace(plan, rounds=light), "weights").violated


def test_selections_at_twice_their_rate_are_seen(monkeypatch):
    honest = selection.permute_and_flip
    monkeypatch.setattr(looking, "permute_and_flip", lambda losses, rate, drawn: honest(losses, 2 * rate, drawn))
    assert selection_alone(planned(), EFFORT).violated


def test_rounds_without_noise_are_seen_in_transcripts(monkeypatch):
    plan = planned()
    audited = neighbours_of(plan, worst(plan, "noise").move)
    honest = DiscreteLaplace.sample

    def silent(noise, size, generator):
        return 0 * honest(noise, size, generator)

    monkeypatch.setattr(DiscreteLaplace, "sample", silent)
    assert transcripts(plan, audited, replace(EFFORT, releases=1200)).violated


def test_a_price_for_the_wrong_neighbours_is_seen():
    plan = planned()
    wrong = replace(plan, protection=Protection("replace"))
    assert not price_again(plan, "moves").violated
    assert price_again(wrong, "moves").found > 1.9 * float(plan.cost.amount)
