"""Faults that other systems had, each of which must not happen here."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from margrave.budget.units import PureDP
from margrave.errors import FaultError, MargraveError, UsageError
from margrave.ledger import Ledger
from margrave.ledger.statements.allowance import allowances
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.question import PricedQuestion
from margrave.session.expressions import col as c
from margrave.session.session import Session
from tests.measure.questions.stores import engine_of
from tests.planning.questions.samples import data_of, data_spec
from tests.session.conftest import SPEC, clinic

pytestmark = pytest.mark.slow


def left(ledger):
    return allowances(ledger, "ann", "clinic@2024")[0].left


@pytest.mark.parametrize("wrong", [float("nan"), -1, float("-inf"), "-0.1", "nan", 0])
def test_a_budget_that_is_no_number_or_negative_refunds_nothing_not_even_to_a_purse(session, ledger, wrong):
    """PINQ: a NaN or negative ε passes comparisons, and gives budget back."""
    people = session["people"]
    for spend in (
        lambda: people.count().release(eps=wrong),
        lambda: people.count().release(rho=wrong),
        lambda: session.batch(people.count(), eps=wrong),
        lambda: people.partition(c.region).release(eps=wrong),
        lambda: people.partition(c.region).release(eps={"north": wrong, "south": 0.1}),
    ):
        with pytest.raises(UsageError):
            spend()
    assert left(ledger) == 1


@pytest.mark.parametrize("wrong", [-1, 0, 1.5, "2", float("nan"), True])
def test_a_bound_that_is_none_buys_no_cheaper_price(session, wrong):
    """PINQ: a negative stability makes a question cheaper than nothing."""
    visits = session["visits"]
    for bounded in (
        lambda: visits.count(rows=wrong),
        lambda: visits.group_by(c.ward).units(groups=wrong),
        lambda: visits.group_by(c.ward).count(per_group=wrong),
        lambda: visits.partition(c.ward, parts=wrong),
    ):
        with pytest.raises(UsageError):
            bounded()


def test_a_join_is_charged_for_both_sides_and_never_reaches_another_data_set(session, ledger, tmp_path):
    """PINQ: a join asked the agent of one side alone."""
    people, visits = session["people"], session["visits"]
    assert people.join(visits).count().explain(eps=1).sensitivity == 5
    assert visits.join(people).count().explain(eps=1).sensitivity == 5
    spec = DataSpec.load(SPEC)
    ledger.register("other@1", spec.notion, PureDP(Fraction(1)))
    ledger.grant("ann", "other@1", PureDP(Fraction(1)))
    open_data(spec, clinic(20, 20), ledger=ledger, dataset="other@1", place=tmp_path / "other")
    with Session.open(ledger, "ann", "other@1") as other:
        for joined in (
            lambda: people.join(other["visits"]),
            lambda: people.union(other["people"]),
            lambda: people.intersect(other["people"]),
            lambda: people.except_(other["people"]),
            lambda: session.batch(other["people"].count(), eps=0.1),
        ):
            with pytest.raises(UsageError, match=r"another data set|another session"):
                joined()
    assert left(ledger) == 1


@pytest.mark.parametrize("text", ["people take 10 count", "people skip 1 count", "people limit 1 count"])
def test_there_is_no_take(session, text):
    """PINQ: ``take`` was called stable, though one row more at the start moves every row after it."""
    with pytest.raises(UsageError):
        session.ask(text)
    with pytest.raises(UsageError):
        session.sql("SELECT COUNT(*) FROM people LIMIT 10")


def test_an_average_costs_what_it_says_and_moves_by_one_range(session, ledger):
    """SmartNoise 202: an average is a sum and a count, and cost twice its ε."""
    question = session["people"].average(c.age).priced(eps="0.1")
    assert question.amount == Fraction(1, 10) and question.sought.move.l1 == 110
    session["people"].average(c.age).release(eps=0.1)
    assert left(ledger) == pytest.approx(0.9)


def test_what_is_clamped_is_what_is_asked_about_and_a_total_after_it_was_added_up(tmp_path):
    """SmartNoise 201: columns were clamped before the expression was computed, rows before their sum."""
    spec = data_spec()
    unit = {"people": [{"region": "north", "age": 5, "income": None, "joined": None}]}
    unit |= {"visits": [{"ward": "a", "cost": Fraction(3, 2), "seen": None}] * 2}
    engine = engine_of(spec, data_of([unit], spec), tmp_path / "store")

    def exact(text):
        question = PricedQuestion(spec, parsed(text, spec), PureDP(Fraction(1)))
        return [int(one) * question.sought.value.step for one in engine.exact(question.sought).reshape(-1)]

    assert exact("visits sum cost low 0 high 2") == [2]
    assert exact("visits with twice = cost * 2 sum twice low 0 high 5") == [5]
    assert exact("visits with less = cost - 1 sum less low 0 high 2") == [1]
    # Two rows of 1.5 − 1, each clamped to 0 … 1 after it was computed: (Σ(v − 0), Σ(1 − v)).
    assert exact("visits with less = cost - 1 average less low 0 high 1") == [1, 1]


@pytest.mark.slow
def test_no_value_makes_a_question_fail(tmp_path):
    """diffprivlib 107: one infinite or missing value, and the query crashes: its owner is found by asking."""
    data = clinic(60, 90)
    data["people"].loc[:5, "income"] = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0]
    data["people"]["age"] = data["people"]["age"].astype("object")
    data["people"].loc[:1, "age"] = None
    data["visits"].loc[:3, "cost"] = [np.inf, np.nan, -1.0, 1e300]
    data["visits"] = pd.concat([data["visits"], data["visits"].iloc[[0] * 40]])
    spec = DataSpec.load(SPEC)
    texts = [
        "people average income", "people variance age", "people median income", "people by region median income",
        "people join visits by ward sum cost low 0 high 9", "people with x = income * income // 3 average x",
        "people where income is missing count", "visits per unit n = sum(cost) quantiles(0.1, 0.9) of n",
        "people cumulative age", "visits choose ward", "people by region quantiles(0.1,0.2,0.3,0.4,0.5) of age",
    ]  # fmt: skip
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        ledger.register("clinic@2024", spec.notion, PureDP(Fraction(3)))
        ledger.add_account("ann")
        ledger.grant("ann", "clinic@2024", PureDP(Fraction(3)))
        open_data(spec, data, ledger=ledger, dataset="clinic@2024", place=tmp_path / "store")
        with Session.open(ledger, "ann") as session:
            for text in texts:
                assert session.ask(text).release(eps=0.1).rows, text


def test_a_question_is_charged_before_the_data_is_asked_and_a_fault_has_one_text(session, ledger, monkeypatch):
    """Lomas: charged after answering, and sent the text of the exception."""
    kinds = []

    def failing(question):
        kinds.extend(entry.kind for entry, _ in ledger.entries())
        raise FaultError("what a library said about row 17")

    monkeypatch.setattr(session._answerer, "numbers", failing)
    with pytest.raises(MargraveError):
        session["people"].count().release(eps=0.1)
    assert kinds[-1] == "reserve" and left(ledger) == pytest.approx(0.9)
    assert all("row 17" not in str(entry.body) for entry, _ in ledger.entries())


@pytest.mark.parametrize("text", ["median age", "quantiles(0.1, 0.2, 0.3, 0.4, 0.5) of age", "average age", "count"])
def test_every_declared_group_has_an_answer_also_an_empty_one(session, text):
    """OpenDP 2640: grouped medians came back empty, without a word."""
    none = f"people where age > 105 by region, half = bins(age, 0, 50, 110) {text}"
    answer = session.ask(none).release(eps=0.1)
    groups = {(row.keys["region"], row.keys["half"]) for row in answer.rows}
    assert groups == {(region, group) for region in ("north", "south") for group in ("0-49", "50-110")}
    assert all(row.value is not None for row in answer.rows)
