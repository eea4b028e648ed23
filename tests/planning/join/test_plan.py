"""The plan of a join: what it costs on each ledger, what to expect, and what it says to whom."""

from fractions import Fraction

import pytest

from margrave import pipeline
from margrave.budget.units import ApproxDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.noise import DiscreteLaplace, TruncatedLaplace
from margrave.planning.join.noise import PairNoise
from margrave.planning.join.plan import make_join_plan
from margrave.planning.join.spec import JoinSpec

from .example import changed, helped, spec


def plan(*pairs):
    return make_join_plan(spec(*pairs))


def test_each_ledger_is_charged_for_the_count_and_for_the_sizes():
    found = plan()
    first, second = (found.of(name).cost for name in ("hospital", "airline"))
    assert isinstance(first, ApproxDP) and isinstance(second, ApproxDP)
    assert first.epsilon == second.epsilon == Fraction("0.6")
    assert first.delta <= Fraction("1e-9") < second.delta <= Fraction("2e-9")
    assert found.cost == second


def test_under_replace_two_counts_and_two_sizes_change():
    kept, replaced = plan(), plan(("at_most = 3000", 'at_most = 3000\nneighbours = "replace"'))
    assert replaced.of("airline").cost.epsilon == 2 * kept.of("airline").cost.epsilon
    assert replaced.of("airline").cost.delta == 2 * kept.of("airline").cost.delta
    assert replaced.of("hospital").cost == kept.of("hospital").cost
    assert replaced.of("airline").notion.neighbours == "replace"


def test_neither_noise_is_less_because_there_are_two():
    noise = plan().noise
    assert noise.first.scale == noise.second.scale == 2
    with pytest.raises(UsageError, match="full scale"):
        PairNoise(DiscreteLaplace(Fraction(1)), TruncatedLaplace(Fraction(2), 40), noise.sizes)


def test_the_forecast_has_the_variance_of_both_noises_and_with_a_helper_of_one():
    both, one = plan(), make_join_plan(JoinSpec.load(helped()))
    assert both.table.rmse**2 == pytest.approx(2 * one.table.rmse**2, rel=1e-3)
    assert one.cost == PureDP(Fraction("0.5")) == one.of("hospital").cost
    assert one.disclosed[0]["to"] == "registry" and not both.disclosed


def test_every_session_is_a_question_of_its_own_and_every_owner_has_another():
    found = plan()
    asked = {found.of(name, session).question for name in ("hospital", "airline") for session in ("a", "b")}
    assert len(asked) == 4
    assert found.of("airline", "a").question == plan().of("airline", "a").question


def test_a_person_of_several_rows_is_a_unit():
    found = plan(("at_most = 2000", "at_most = 2000\nrecords = 5"))
    assert found.of("hospital").notion.unit == "patient" and found.of("hospital").notion.records == 5
    assert found.of("airline").notion.unit is None
    assert found.of("hospital").cost == plan().of("hospital").cost


@pytest.mark.parametrize("text", [changed(), helped()])
def test_a_plan_says_who_learns_what(text):
    found = make_join_plan(JoinSpec.load(text))
    words = " ".join((*found.words(), *found.warnings))
    for expected in ("semi-honest", "hospital", "airline", "to the public", "over those who are in the data of all"):
        assert expected in words
    assert ("exact cells, sizes and multiplicities" in words) == (found.spec.helper is not None)
    titles = [sheet.title for sheet in found.sheets()]
    assert titles[0] == "What is charged to each ledger" and len(titles) == 3
    told = found.to_json()
    assert told["digest"] == found.spec.digest and set(told["costs"]) == {"hospital", "airline"}


def test_the_bytes_are_at_most_what_an_honest_message_has():
    found = plan()
    usual, most = found.message_bytes(), found.message_bytes(most=True)
    assert most["offer"] == 32 * (2000 + 2 * 2 * found.noise.sizes.reach)
    assert all(usual[step] < most[step] for step in usual)


def test_a_join_is_not_released_by_one_owner_alone():
    assert pipeline.plan(spec()).spec == spec()
    with pytest.raises(UsageError, match="margrave join offer"):
        pipeline.release(plan(), "nowhere.csv")


def test_dummies_that_could_not_be_made_are_refused():
    with pytest.raises(RefusedError, match="dummies"):
        plan(("epsilon = 0.5", "epsilon = 1e-6"))


def test_padding_that_nobody_could_send_is_refused_before_anything_is_charged():
    with pytest.raises(RefusedError, match="hiding the sizes needs up to"):
        plan(("sizes = { epsilon = 0.1", "sizes = { epsilon = 0.000001"))
