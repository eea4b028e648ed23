"""Sums of charges: exact, and composed as the accountants do."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.budget.composition import compose
from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.errors import VerificationError
from margrave.ledger.rules.totals import Totals, alike

DELTA = Fraction(1, 10**6)
fractions = st.fractions(min_value=Fraction(1, 1000), max_value=2, max_denominator=1000)
pure = fractions.map(PureDP)
zcdp = fractions.map(ZCDP)
approx = st.builds(ApproxDP, fractions, st.just(Fraction(1, 10**8)))
costs = st.lists(st.one_of(pure, zcdp, approx), min_size=1, max_size=6)


def total(costs):
    found = Totals()
    for cost in costs:
        found = found.plus(cost)
    return found


@pytest.mark.slow
@given(costs)
def test_json_round_trip(costs):
    assert Totals.from_json(json.loads(total(costs).text)) == total(costs)


@pytest.mark.slow
@given(costs, st.permutations(range(6)))
def test_taking_back_leaves_the_rest(costs, order):
    found = total(costs)
    keep = [index for index in order if index < len(costs)][: len(costs) // 2]
    for index, cost in enumerate(costs):
        if index not in keep:
            found = found.minus(cost)
    assert found == total(costs[index] for index in sorted(keep))


@pytest.mark.slow
@given(st.lists(pure, min_size=1, max_size=6))
def test_pure_costs_add_up_exactly(costs):
    spent = sum(cost.epsilon for cost in costs)
    assert PureDP(Fraction(1)).together(total(costs)) == compose(costs)
    assert PureDP(spent).holds(total(costs))
    assert not PureDP(spent - Fraction(1, 10**30)).holds(total(costs))


@pytest.mark.slow
@given(st.lists(st.one_of(pure, zcdp), min_size=1, max_size=6).filter(lambda c: any(isinstance(x, ZCDP) for x in c)))
def test_zcdp_costs_add_up_exactly(costs):
    spent = compose(costs)
    assert ZCDP(Fraction(1)).together(total(costs)) == spent
    assert spent.holds(total(costs))
    assert not ZCDP(spent.rho - Fraction(1, 10**30)).holds(total(costs))


@pytest.mark.slow
@given(costs)
def test_approximate_caps_use_the_accountants(costs):
    expected = compose(costs, DELTA)
    found = total(costs).epsilon_at(DELTA)
    assert found <= expected.epsilon * (1 + Fraction(1, 10**9))
    assert ApproxDP(expected.epsilon * (1 + Fraction(1, 10**9)), DELTA).holds(total(costs))
    assert not ApproxDP(found * Fraction(9, 10), DELTA).holds(total(costs))


def test_many_small_costs_are_not_added_blindly():
    spent = Totals()
    for _ in range(100):
        spent = spent.plus(PureDP(Fraction(1, 10)))
    assert not PureDP(Fraction(9)).holds(spent)
    assert ApproxDP(Fraction(5), DELTA).holds(spent)
    assert ApproxDP(Fraction(5), DELTA).left(spent) < Fraction(1, 4)


def test_units_that_cannot_hold_a_cost():
    gaussian, both = Totals().plus(ZCDP(Fraction(1, 100))), Totals().plus(ApproxDP(Fraction(1), DELTA))
    assert not PureDP(Fraction(100)).holds(gaussian)
    assert not PureDP(Fraction(100)).holds(both)
    assert not ZCDP(Fraction(100)).holds(both)
    assert ApproxDP(Fraction(1), DELTA).holds(both)
    assert not ApproxDP(Fraction(100), DELTA).holds(both.plus(PureDP(Fraction(1))).plus(ZCDP(Fraction(1))))
    assert not ApproxDP(Fraction(1), DELTA / 2).holds(both)
    assert PureDP(Fraction(1)).together(both) is None


def test_too_many_kinds_of_cost_are_no_longer_told_apart():
    spent = total(PureDP(Fraction(1, number)) for number in range(2, 60))
    assert not spent.pure and spent.unlisted is not None
    assert Totals.from_json(json.loads(spent.text)) == spent
    assert spent.epsilon_at(DELTA) <= spent.epsilon


def test_endless_fractions_are_rounded_up():
    spent = total(PureDP(Fraction(1, number)) for number in range(10**9, 10**9 + 400))
    assert spent.epsilon.denominator.bit_length() <= 2048
    assert spent.epsilon >= sum(Fraction(1, number) for number in range(10**9, 10**9 + 400))


@pytest.mark.parametrize("limit", [PureDP(Fraction(1)), ZCDP(Fraction(1)), ApproxDP(Fraction(1), DELTA)])
def test_nothing_spent(limit):
    assert limit.together(Totals()) is None
    assert limit.left(Totals()) == 1
    assert limit.holds(Totals())


def test_taking_everything_back_leaves_nothing_whatever_the_number_of_kinds():
    costs = [PureDP(Fraction(1, number)) for number in range(2, 60)]
    spent = total(costs)
    for cost in costs:
        spent = spent.minus(cost)
    assert spent.unlisted == (0, 0) and spent.empty
    assert PureDP(Fraction(1)).together(spent) is None


def test_sums_that_were_rounded_up_before_are_alike():
    spent = total(PureDP(Fraction(number, 2**61 - 2 * number + 1)) for number in range(1, 25))
    slightly = Fraction(1, 2**250)
    told = json.loads(spent.text) | {"epsilon": str(spent.epsilon + slightly), "squares": str(spent.squares + slightly)}
    assert alike(Totals.from_json(told), spent)
    with pytest.raises(VerificationError):
        Totals.from_json(told | {"epsilon": str(spent.epsilon + Fraction(1, 10**9))})
    many = total(PureDP(Fraction(1, number)) for number in range(2, 60))
    rounded = many._replace(unlisted=(many.unlisted[0] + slightly, many.unlisted[1]))
    assert rounded != many and alike(rounded, many)
    assert not alike(many, many.plus(PureDP(Fraction(1, 10**9))))
