from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.budget.units import ZCDP, ApproxDP, Budget, PureDP, budget_from_dict, exact_number, exact_text
from margrave.errors import UsageError

positive = st.fractions(min_value=Fraction(1, 10**30), max_value=10**20)
small = st.fractions(min_value=Fraction(1, 10**30), max_value=Fraction(999, 1000))
budgets = st.one_of(positive.map(PureDP), st.builds(ApproxDP, positive, small), positive.map(ZCDP))


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (PureDP(Fraction(1)), "ε = 1"),
        (PureDP(Fraction(100)), "ε = 100"),
        (PureDP(Fraction(1, 3)), "ε = 1/3"),
        (ApproxDP(Fraction(1), Fraction(1, 10**9)), "ε = 1, δ = 1e-9"),
        (ApproxDP(Fraction(5, 2), Fraction(15, 10**10)), "ε = 2.5, δ = 1.5e-9"),
        (ZCDP(Fraction(1, 10)), "ρ = 0.1"),
    ],
)
def test_text(budget: Budget, text: str) -> None:
    assert str(budget) == text


@given(budgets)
def test_dict_round_trip(budget: Budget) -> None:
    assert budget_from_dict(budget.as_dict()) == budget


@given(st.fractions())
def test_exact_text_round_trip(number: Fraction) -> None:
    assert exact_number(exact_text(number)) == number


@given(st.integers(-(10**25), 10**25), st.integers(-30, 30))
def test_decimals_read_as_decimals(digits: int, exponent: int) -> None:
    number = digits * Fraction(10) ** exponent
    text = exact_text(number)
    assert "/" not in text
    assert exact_number(text) == number


def test_a_long_decimal_becomes_a_ratio() -> None:
    assert exact_text(Fraction(1, 2**200)) == f"1/{2**200}"


@pytest.mark.parametrize("number", [1, 1.0, "1", None, True])
@pytest.mark.parametrize(
    "unit", [PureDP, ZCDP, lambda n: ApproxDP(n, Fraction(1, 2)), lambda n: ApproxDP(Fraction(1), n)]
)
def test_only_fractions(unit: Any, number: object) -> None:
    with pytest.raises(UsageError, match="exact Fraction"):
        unit(number)


@pytest.mark.parametrize("number", [Fraction(0), Fraction(-1)])
@pytest.mark.parametrize(
    "unit", [PureDP, ZCDP, lambda n: ApproxDP(n, Fraction(1, 2)), lambda n: ApproxDP(Fraction(1), n)]
)
def test_only_positive(unit: Any, number: Fraction) -> None:
    with pytest.raises(UsageError, match="greater than 0"):
        unit(number)


def test_delta_below_one() -> None:
    with pytest.raises(UsageError, match="less than 1"):
        ApproxDP(Fraction(1), Fraction(1))


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1/0", "1e99999999", "1_0", "1/x", "１"])
def test_rejected_texts(text: str) -> None:
    with pytest.raises(UsageError):
        exact_number(text)


@pytest.mark.parametrize("mapping", [{}, {"delta": "0.1"}, {"epsilon": "1", "rho": "1"}, {"epsilon": 1.0}])
def test_rejected_dicts(mapping: Any) -> None:
    with pytest.raises(UsageError):
        budget_from_dict(mapping)


def test_what_people_read_is_short() -> None:
    assert str(PureDP(Fraction(1, 10))) == "ε = 0.1"
    assert str(PureDP(Fraction(150198549349836783616, 150198549356974496355))) == "ε = about 1"
    assert str(PureDP(Fraction(12345678901234567) * 10**384)) == "ε = about 1.23457e+400"
    assert str(ZCDP(Fraction(1, 3**300))) == "ρ = about 7.30506e-144"


@pytest.mark.parametrize("text", ["9" * 300_000, "0." + "3" * 300_000, "1/" + "7" * 300_000])
def test_very_long_numbers_are_refused_in_few_words(text: str) -> None:
    with pytest.raises(UsageError, match="characters: a number may have 10000") as caught:
        exact_number(text)
    assert len(str(caught.value)) < 100


HALF = Fraction(1, 2)
EACH = (PureDP(HALF), ApproxDP(HALF, Fraction(1, 1000)), ZCDP(HALF))


@pytest.mark.parametrize("budget", EACH)
def test_what_depends_on_the_unit_is_asked_of_the_budget(budget):
    assert budget.amount == HALF and budget.with_amount(Fraction(2)).amount == 2
    assert budget.with_amount(HALF) == budget
    assert sum(budget.parts) == HALF + budget.delta
    assert budget.within(budget) and not budget.with_amount(Fraction(2)).within(budget)
    assert [budget.same_unit(other) for other in EACH] == [other is budget for other in EACH]
    assert not any(budget.within(other) for other in EACH if other is not budget)
    assert budget.brief().startswith(f"{budget.symbol} = 0.5")


def test_several_units_together_are_promised_less():
    pure, approx, zcdp = EACH
    assert (pure.for_units(3), zcdp.for_units(3)) == (PureDP(Fraction(3, 2)), ZCDP(Fraction(9, 2)))
    assert approx.for_units(2).epsilon == 1 and approx.for_units(2).delta > Fraction(2, 1000)
    assert approx.for_units(1000) is None


def test_only_rho_is_restated_where_a_delta_is_given():
    pure, approx, zcdp = EACH
    delta = Fraction(1, 10**6)
    assert pure.at_delta(delta) is pure and approx.at_delta(delta) is approx and zcdp.at_delta(Fraction(0)) is zcdp
    assert zcdp.at_delta(delta).delta == delta and zcdp.at_delta(delta).epsilon > HALF


def test_gaussian_noise_within_an_epsilon_and_delta_is_paid_in_rho():
    pure, approx, zcdp = EACH
    assert pure.payable(False) == zcdp.payable(True) == approx.payable(False) == HALF
    assert 0 < approx.payable(True) < HALF
    assert ZCDP(approx.payable(True)).at_delta(approx.delta).within(approx)
