"""A session from end to end: questions are charged, answered once, free again, and never without their charge."""

import json
import os
import signal
import traceback
from fractions import Fraction

import pytest

from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.errors import DataError, FaultError, MargraveError, RefusedError, UsageError
from margrave.ledger import verify
from margrave.ledger.statements.allowance import allowances
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.programs.work import Work
from margrave.planning.questions.question import PricedQuestion
from margrave.publish.verification.verify import verify as verify_bundle
from margrave.session.expressions import col as c
from margrave.session.expressions import when
from margrave.session.public import public
from margrave.session.session import Session
from tests.session.conftest import CANARY, SPEC, clinic

pytestmark = pytest.mark.slow


def left(ledger, account="ann"):
    return allowances(ledger, account, "clinic@2024")[0].left


@pytest.mark.slow
def test_a_question_is_charged_answered_and_free_when_asked_again(session, ledger):
    question = session["people"].where(c.age.between(18, 64)).group_by(c.region).average(c.income)
    told = question.explain(eps=0.1, rows=100)
    assert left(ledger) == 1 and told.affordable and "0.9" in told.left[0]
    first = question.release(eps=0.1)
    assert left(ledger) == pytest.approx(0.9)
    assert {row.keys["region"] for row in first.rows} == {"north", "south"}
    again = session.ask(question.text).release(eps=0.1)
    assert again == first and left(ledger) == pytest.approx(0.9)
    with Session.open(ledger, "ann") as other:
        assert other.ask(question.text).release(eps="0.1") == first
    with Session.open(ledger, "bob") as bob:
        assert bob.ask(question.text).release(eps=0.1).numbers == first.numbers
    assert left(ledger, "bob") == pytest.approx(0.9)
    assert allowances(ledger, "ann", "clinic@2024")[1].left == pytest.approx(2.9)
    verify(ledger)


@pytest.mark.slow
def test_answers_are_near_the_truth(session):
    data = clinic()
    people, visits = data["people"], data["visits"]
    p, v = session["people"], session["visits"]
    kept = visits.groupby("person").ward.count().clip(upper=5)
    for question, truth, room in (
        (p.count(), len(people), 0),
        (v.count(), kept.sum(), 0),
        (v.units(), len(kept), 0),
        (p.join(v.per_unit(n="count"), how="left").where(c.n.is_missing()).count(), len(people) - len(kept), 0),
        (p.join(v, how="semi").where(c.region == "north").count(), None, 0),
        (p.compute(old=when(c.age >= 65, 1).otherwise(0)).sum(c.old), (people.age >= 65).sum(), 0),
        (p.average(c.age), people.age.mean(), 0),
        (p.variance(c.age), people.age.var(ddof=0), 0),
    ):
        answer = question.release(eps=0.1)
        if truth is not None:
            slack = 3 * (answer.high - answer.low) + room
            assert answer.low - slack <= truth <= answer.high + slack, answer
    assert p.select("age").distinct().union(p.select("age")).count().explain(eps=1).sensitivity == 2
    assert p.intersect(p.where(c.age > 3)).except_(p).count().explain(eps=1).sensitivity == 1
    assert p.histogram(c.income, [0, 10_000, 200_000]).explain(eps=1).sensitivity == 1
    assert p.choose(c.region).release(eps="0.01").rows[0].value in ("north", "south")
    assert p.median(c.income).release(eps="0.01").rows[0].extra["off_by"] > 0
    assert len(p.cumulative(c.age).release(eps="0.01").rows) == 111


def test_names_are_whatever_an_analyst_gives_and_nothing_is_lost_by_them(session):
    p, v = session["people"], session["visits"]
    week = public({"day": [1, 2], "a b": ["x", "y"]}, key="day")
    hostile = p.compute(**{"day": c.age, 'q"q,': c.income // 3}).where(c["day"] > 3).sum(c['q"q,'], low=0, high=5)
    for question in (v.join(week, on=c.seen.weekday()).group_by(c["a b"]).count(rows=1), hostile):
        assert session.ask(question.text).node == question.node
    first = p.compute(**{"age group": c.age.bins(0, 50, 110)}).where(
        ~c["age group"].is_missing(), ~c.region.is_missing()
    )
    asked = first.tables([["age group", "region"]])
    asked.release(eps=0.5)
    assert session.ask(asked.text).node == asked.node
    assert session.best(first.group_by(c["age group"]).count()).answers == 1
    told = p.histogram(c.age, [0, 50, 110]).release(eps=0.1).to_pandas()
    assert list(told["age"]) == ["0-49", "50-110"] and "value" in told
    assert p.histogram(c.age // 20).text == "people by bin = (age // 20) count"


def test_what_cannot_be_afforded_is_refused_and_costs_nothing(session, ledger):
    question = session["people"].count()
    assert not question.explain(eps=1.5).affordable
    with pytest.raises(RefusedError, match="the grant of ann"):
        question.release(eps=1.5)
    assert left(ledger) == 1 and not session.answers


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), "nan", "-0.1", True, None, "x"])
def test_no_budget_refunds(session, ledger, wrong):
    with pytest.raises(UsageError):
        session["people"].count().release(eps=wrong)
    assert left(ledger) == 1


def test_questions_that_have_no_bounded_price_cannot_be_asked(session):
    p = session["people"]
    for wrong in (
        lambda: p.count(rows=0),
        lambda: p.count(rows=-3),
        lambda: p.average(c.income, rows=True),
        lambda: session.ask("people take 10 count"),
        lambda: p.join(session["visits"], how="outer"),
        lambda: p.average(c.region).release(eps=0.1),
        lambda: p.where(c.age > float("nan")),
        lambda: p.average(c.income, low=5, high=1),
        lambda: session["nobody"],
        lambda: p.group_by(c.age.bins(0, 50)),
        lambda: p.count().explain(eps=1, rho=1),
        lambda: p.count().explain(),
        lambda: p.group_by(c.region).where(c.age > 1),
        lambda: p.where(c.age > 1 and c.age < 5),
    ):
        with pytest.raises(MargraveError):
            wrong()


@pytest.mark.slow
def test_a_killed_worker_is_a_fault_that_stays_charged_and_is_free_to_repeat(session, ledger, monkeypatch):
    question = session["people"].count()
    session._answerer.check()
    process = session._answerer._process
    asked = session._answerer._line

    def killed(seconds):
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return asked(seconds)

    monkeypatch.setattr(session._answerer, "_line", killed)
    os.kill(process.pid, signal.SIGSTOP)  # Or it could answer before it is killed.
    with pytest.raises(FaultError, match="stays charged") as caught:
        question.release(eps=0.1)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert left(ledger) == pytest.approx(0.9)
    monkeypatch.undo()
    assert question.release(eps=0.1).value is not None
    assert left(ledger) == pytest.approx(0.9)
    verify(ledger)


@pytest.mark.slow
def test_a_worker_that_takes_too_long_is_given_up(session, monkeypatch):
    monkeypatch.setattr(Work, "guard", 0.0)
    with pytest.raises(FaultError):
        session["people"].count().release(eps=0.1)
    monkeypatch.undo()
    assert session["people"].count().release(eps=0.1).rows


def test_a_store_that_is_gone_costs_nothing(session, ledger, tmp_path):
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="cannot be opened"):
        session["people"].count().release(eps=0.1)
    assert left(ledger) == 1


def test_a_data_set_is_recoded_once_and_as_it_was_registered(ledger, tmp_path):
    spec = DataSpec.load(SPEC)
    with pytest.raises(RefusedError, match="open for questions already"):
        open_data(spec, clinic(), ledger=ledger, dataset="clinic@2024", place=tmp_path / "again")
    ledger.register("clinic@2025", spec.notion)
    other = DataSpec.load(SPEC.replace("max_records = 5", "max_records = 6"))
    with pytest.raises(RefusedError, match="records of a unit"):
        open_data(other, clinic(), ledger=ledger, dataset="clinic@2025", place=tmp_path / "again")
    assert not (tmp_path / "again").exists()
    open_data(spec, clinic(50, 90), ledger=ledger, dataset="clinic@2025", place=tmp_path / "again")
    with pytest.raises(UsageError, match="say which data set"):
        Session.open(ledger, "ann")
    with Session.open(ledger, "ann", "clinic@2025") as found:
        assert set(found.datasets) == {"clinic@2024", "clinic@2025"}
    verify(ledger)


def test_the_canary_reaches_nothing(session, ledger):
    """No id, and no raw value, is in an answer, a repr, the journal, or the JSON of a question."""
    answer = session["people"].group_by(c.region).count().release(eps=0.1)
    told = [repr(answer), answer._repr_html_(), repr(session), session._repr_html_(), repr(session["people"])]
    told += [repr(session["people"].count().explain(eps=0.1)), session["people"].count().explain(eps=0.1)._repr_html_()]
    told += [json.dumps(entry.body) for entry, _ in ledger.entries()]
    told += [json.dumps(answer.question.to_json()), repr(session._answerer), repr(session["people"].count())]
    assert not [text for text in told if CANARY in text]
    assert "clinic@2024" in repr(session) and "<meter" in session._repr_html_()


@pytest.mark.slow
def test_the_canary_is_in_no_error_no_chain_and_no_log(session, ledger, tmp_path):
    """Refusals, faults on this side and in the worker, and the curator's log, with the canary in every id."""
    people, told = session["people"], []
    for wrong in (
        lambda: people.average(c.region).release(eps=0.1),
        lambda: people.count().release(eps=7),
        lambda: session.ask("people where region = kanarien count").release(eps=0.1),
        lambda: session.sql("SELECT person FROM people"),
        lambda: session.sql("SELECT COUNT(*) FROM people WHERE person = 'x'"),
        lambda: people.select("person").count().release(eps=0.1),
    ):
        with pytest.raises(MargraveError) as caught:
            wrong()
        told += [str(caught.value), repr(caught.value.__context__), repr(caught.value.__cause__)]
    session._answerer.check()
    session._answerer._process.stdin.write(b'{"format": 1, "asked": {"kind": "count"}}\n')
    session._answerer._process.stdin.flush()
    assert session._answerer._line(60) == {"fault": True}
    logs = [path.read_text() for path in (tmp_path / "store").glob("*.log")]
    assert len(logs) == 1 and logs[0]
    told += [*logs, *(json.dumps(entry.body) for entry, _ in ledger.entries()), repr(session._answerer)]
    assert len(told) > 12 and not [text for text in told if CANARY in text]


def test_an_account_that_does_not_exist_has_no_session(ledger):
    with pytest.raises(UsageError, match="no account"):
        Session.open(ledger, "eve")


def test_the_question_is_the_same_in_whichever_order_its_declaration_is_written(session):
    question = session["people"].count().priced(eps=0.1)
    tables = SPEC.split("[tables.visits]")
    head, people = tables[0].split("[tables.people]")
    turned = DataSpec.load(f"{head}[tables.visits]{tables[1]}\n[tables.people]{people}")
    assert PricedQuestion(turned, question.aggregate, question.budget).question == question.question
    assert question.amount == Fraction(1, 10)


def test_sql_asks_the_same_question(session):
    asked = session.sql("SELECT region, COUNT(*) FROM people WHERE age >= 18 GROUP BY region")
    assert asked.node == session["people"].where(c.age >= 18).group_by(c.region).count().node
    with pytest.raises(UsageError, match="LIMIT"):
        session.sql("SELECT COUNT(*) FROM people LIMIT 1")


def test_the_least_budget_is_told_in_rho_too_where_the_limits_allow_it(session, ledger):
    told = session["people"].count().explain(within=20)
    assert isinstance(told.cost, PureDP) and told.instead is None and "instead" not in told.to_json()
    ledger.register("other@1", DataSpec.load(SPEC).notion, ApproxDP(Fraction(1), Fraction(1, 10**6)))
    limits = allowances(ledger, "ann", "other@1")
    session.allowances = lambda purse=None: limits
    told = session["people"].count().explain(within=20)
    assert isinstance(told.cost, PureDP) and isinstance(told.instead.cost, ZCDP)
    assert told.instead.forecast[0].half_width <= 20 and told.instead.cost.rho < told.cost.epsilon**2 / 2


def test_a_batch_is_one_charge_and_each_question_is_asked_once(session, ledger):
    people = session["people"]
    count, mean = people.count(), people.group_by(c.region).average(c.age)
    first = session.batch(count, mean, count, eps=0.2)
    assert first[0] == first[2] and len(first[1].rows) == 2
    assert left(ledger) == pytest.approx(0.8)
    assert session.batch(count, mean, eps=0.2)[1] == first[1] and left(ledger) == pytest.approx(0.8)
    reserved = [entry for entry, _ in ledger.entries() if entry.kind == "reserve"]
    assert len(reserved) == 1 and len(reserved[0].body["mechanisms"]) == 2
    with pytest.raises(RefusedError):
        session.batch(count, people.median(c.age), eps=1)
    assert left(ledger) == pytest.approx(0.8)
    with pytest.raises(UsageError, match="needs questions"):
        session.batch(eps=0.1)
    verify(ledger)


@pytest.mark.slow
def test_the_best_estimate_is_free_and_from_all_sessions_of_the_account(session, ledger):
    first = session["people"].count().release(eps=0.1)
    with Session.open(ledger, "ann") as other:
        second = other["people"].count().release(eps=0.2)
        other["people"].count().release(eps=0.2)
        third = other.batch(other["people"].count(), other["visits"].count(), eps=0.2)[0]
    before = left(ledger)
    best = session.best(session["people"].count())
    assert best.answers == 3 and left(ledger) == before
    assert min(first.numbers + second.numbers + third.numbers) <= best.rows[0].value
    with Session.open(ledger, "bob") as bob, pytest.raises(UsageError, match="ask for it first"):
        bob.best(bob["people"].count())


def test_answers_that_agree_by_chance_are_two(session, monkeypatch):
    monkeypatch.setattr(session._answerer, "numbers", lambda question: (400,))
    session["people"].count().release(eps=0.1)
    session.batch(session["people"].count(), session["visits"].count(), eps=0.2)
    session["people"].count().release(eps=0.1)
    assert session.best(session["people"].count()).answers == 2


@pytest.mark.slow
def test_tables_are_an_ordinary_release_that_is_charged_once(session, ledger, tmp_path):
    question = session["people"].where(c.age >= 18).tables([["region"]])
    told = question.explain(eps=0.2)
    assert left(ledger) == 1 and "planned as a release" in repr(told) and told.forecast[0].std_error > 0
    out = question.release(eps=0.2)
    assert left(ledger) == pytest.approx(0.8)
    assert session.ask(question.text).release(eps="0.2").table("region").equals(out.table("region"))
    assert left(ledger) == pytest.approx(0.8) and "tables(region)" in repr(session)
    out.save(tmp_path / "out")
    assert verify_bundle(tmp_path / "out").tables == 1
    nobody = session["people"].where(c.age > c.age).tables(["region"]).release(eps=0.1)
    assert set(nobody.table("region")["count"]) != {None}
    verify(ledger)


@pytest.mark.slow
def test_all_answers_together_give_the_best_tables(session):
    people = session["people"].where(~c.region.is_missing())
    assert session.tables == ("people", "visits") and len(session.tables()) == 0
    alone = people.group_by(c.region).count().release(eps=0.1)
    people.tables([["region"]]).release(eps=0.1)
    people.count().release(eps=0.1)
    found = session.tables()
    assert [len(one.rows) for one in found] == [1, 2] and found.tables[1].answers == 3
    assert found.table("region")["value"].sum() == pytest.approx(found.tables[0].value)
    best = session.best(people.group_by(c.region).count())
    assert best.rows[0].std_error < 0.71 * alone.rows[0].std_error and "at no cost" in repr(found)
    with pytest.raises(UsageError, match="not one table"):
        found.table("age")


@pytest.mark.slow
def test_a_batch_is_explained_and_what_follows_is_not_charged(session, ledger):
    people = session["people"]
    batch = people.variance(c.age), people.average(c.age), people.count()
    told = session.batch(*batch).explain(eps=0.2)
    assert "3 questions together, 2 of them measured" in repr(told) and "follows from" in repr(told)
    assert told.affordable and told.to_json()["wanted"][1] == "people average age" and "<table>" in told._repr_html_()
    assert left(ledger) == 1 and "people count" in repr(session.batch(*batch))
    first = session.batch(*batch, eps=0.2)
    assert left(ledger) == pytest.approx(0.8) and len(session.answers) == 2
    assert first[1].low <= first[1].value <= first[1].high
    again = session.batch(*batch).release(eps=0.2)
    assert again == first and left(ledger) == pytest.approx(0.8)
