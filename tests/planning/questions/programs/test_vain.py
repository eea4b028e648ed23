"""Conditions that no row can meet are told before anything is spent; those that a row can meet are not."""

from fractions import Fraction
from itertools import product

import pytest

from margrave.budget.units import PureDP
from margrave.errors import UsageError
from margrave.planning.describe import asked_text
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.aggregates import Count
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.programs.vain import vain
from margrave.planning.questions.question import PricedQuestion
from tests.planning.questions.interpreter import truth
from tests.planning.questions.samples import COLUMNS, data_spec, kind_values

SPEC = data_spec()
AGE = "age is a number from 0 to 5"


def said_of(text):
    return vain(parsed(text, SPEC), SPEC)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("people where age > 200 count", ("no row can have age > 200: " + AGE,)),
        ("people where age < 0 count", ("no row can have age < 0: " + AGE,)),
        ("people where age = 17 and region = 'north' count", ("no row can have age = 17: " + AGE,)),
        ("people where age in (17, 18) count", ("no row can have age in (17, 18): " + AGE,)),
        ("people where 9 <= age or age = 1 count", ("no row can have 9 <= age: " + AGE,)),
        (
            "people where income * 2 > 3 count",
            ("no row can have (income * 2) > 3: (income * 2) is a number from -2 to 3",),
        ),
        (
            "people where joined > 2030-01-01 count",
            ("no row can have joined > day('2030-01-01'): joined is a day from 2023-12-30 to 2024-01-03",),
        ),
        ("people where age >= 0 count", ()),
        ("people where age > 4 count", ()),
        ("people where age != 9 count", ()),
        ("people where age in (5, 18) count", ()),
        ("people where not age > 200 count", ()),
        (
            "people join visits where cost > 2 and age < 2 count",
            ("no row can have cost > 2: cost is a number from 0 to 2",),
        ),
    ],
)
def test_what_no_row_can_meet_is_said(text, told):
    found = said_of(text)
    assert [one.split(" in steps")[0] for one in found] == list(told)


@pytest.mark.slow
def test_whatever_is_said_to_be_met_by_no_row_is_met_by_none():
    people = next(one for one in SPEC.tables if one.name == "people")
    places = [[None, *kind_values(column.kind)] for column in people.columns]
    rows = [dict(zip(COLUMNS["people"], values, strict=True)) for values in product(*places)]
    sides = [e.Column("age"), e.Column("income"), *(e.Numeral(Fraction(n, 2)) for n in range(-4, 13))]
    sides.append(e.Arithmetic("-", e.Column("age"), e.Column("income")))
    told = 0
    for sign, left, right in product(("<", "<=", ">", ">=", "=", "!="), sides, sides):
        condition = e.Compare(sign, left, right)
        found = vain(Count(r.Where(r.Rows("people"), condition)), SPEC)
        if found:
            told += 1
            assert not any(truth(condition, row) for row in rows), condition
        elif left != right and not any(isinstance(one, e.Arithmetic) for one in (left, right)) and sign != "=":
            assert any(truth(condition, row) for row in rows), condition
    assert told > 100


def test_a_question_warns_of_it_and_can_still_be_asked():
    question = PricedQuestion(SPEC, parsed("people where age > 200 count", SPEC), PureDP(Fraction(1)))
    assert question.warnings == (f"no row can have age > 200: {AGE}",)
    assert f"Warning: no row can have age > 200: {AGE}." in asked_text(question)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("people variance (age * 0 + 3)", "every value is 3, so the variance is 0: there is nothing to ask"),
        ("people average (age * 0 + 3)", "every value is 3, so the average is 3: there is nothing to ask"),
    ],
)
def test_what_is_known_before_is_not_asked(text, told):
    with pytest.raises(UsageError) as caught:
        PricedQuestion(SPEC, parsed(text, SPEC), PureDP(Fraction(1))).sought  # noqa: B018
    assert str(caught.value) == told
