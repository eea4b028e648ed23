"""Partitions from end to end: paid for once, asked from purses, in every form, after a restart and after a fault."""

import json
import os
from fractions import Fraction

import pytest

import margrave as mg
from margrave.budget.units import ZCDP, PureDP
from margrave.errors import FaultError, RefusedError, UsageError
from margrave.ledger import Ledger, verify
from margrave.ledger.statements.allowance import allowances
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from margrave.session.expressions import col as c
from margrave.session.session import Session
from tests.session.conftest import CANARY, SPEC, clinic

pytestmark = pytest.mark.slow


def left(ledger, account="ann"):
    return allowances(ledger, account, "clinic@2024")[0].left


def inside(parts):
    return [one.left for one in parts.left.values()]


@pytest.mark.slow
def test_a_partition_is_paid_for_once_and_each_part_asks_by_what_it_was_answered(session, ledger):
    partition = session["people"].partition(c.region)
    told = partition.explain(eps=0.3)
    assert told.affordable and left(ledger) == 1 and told.cost == PureDP(Fraction(3, 10))
    parts = partition.release(eps=0.3)
    assert list(parts) == ["north", "south"] and left(ledger) == pytest.approx(0.7)
    for name in parts:
        first = parts[name].count().release(eps=0.1)
        # The next question depends on the last answer, and differs by part.
        parts[name].where(c.age > (50 if first.value > 200 else 30)).count().release(eps=0.2)
        with pytest.raises(RefusedError, match="of the purse of its part"):
            parts[name].average(c.age).release(eps=0.01)
    assert inside(parts) == [0, 0] and left(ledger) == pytest.approx(0.7)
    again = partition.release(eps=0.3)
    assert inside(again) == [0, 0] and left(ledger) == pytest.approx(0.7)
    assert again["north"].count().release(eps=0.1).numbers == session.answers[0].numbers
    verify(ledger)


def test_unused_parts_are_not_given_back(session, ledger):
    parts = session["people"].partition(c.region).release(eps=0.3)
    parts["north"].count().release(eps=0.1)
    session.close()
    assert left(ledger) == pytest.approx(0.7)
    with Session.open(ledger, "ann") as other:
        assert left(ledger) == pytest.approx(0.7)
        assert inside(other["people"].partition(c.region).release(eps=0.3)) == pytest.approx([0.2, 0.3])


@pytest.mark.slow
def test_every_form_asks_the_same_of_the_same_purse(session, ledger):
    parts = session["visits"].partition(c.ward, parts=1).release(eps=0.2)
    question = parts["a"].join(session["people"]).group_by(c.region).count(rows=1)
    first = question.release(eps=0.1)
    assert inside(parts) == pytest.approx([0.1, 0.2])
    text = session.ask("visits part a of ward parts 1 join people by region count rows 1")
    written = session.json(json.loads(json.dumps(question.node.to_json())))
    for form in (text, written, session.ask(question.text)):
        assert form.release(eps=0.1) == first
        assert form.explain(eps=0.1).left == ("the purse of a: ε = 0 left of ε = 0.2",)
    assert inside(parts) == pytest.approx([0.1, 0.2])
    again = session.ask("visits partition by ward parts 1").release(eps=0.2)
    assert again == parts and session.json(parts.partition.partition.to_json()).release(eps=0.2) == parts
    # What names the source is no matter of the purse: it is charged to the grant, at its own price.
    outside = session.ask("visits part a of ward parts 1 union (visits) count rows 1")
    assert "grant" in outside.explain(eps=0.1).left[0]
    # A second partition of the same rows: whichever has paid, or has room, pays.
    more = session["visits"].partition(c.ward, parts=1).release(eps=0.15)
    assert text.release(eps=0.1) == first
    assert session.ask("visits part a of ward parts 1 count rows 1").release(eps=0.15).value is not None
    assert inside(parts) == pytest.approx([0.1, 0.2]) and inside(more) == pytest.approx([0, 0.15])


@pytest.mark.slow
def test_a_fault_stays_charged_to_the_purse_and_is_free_to_repeat(session, ledger, monkeypatch):
    parts = session["people"].partition(c.region).release(eps=0.3)
    question = parts["north"].count()
    monkeypatch.setattr(session._answerer, "_line", lambda seconds: {})
    session._answerer._process = None
    monkeypatch.setattr(session._answerer, "check", lambda: None)
    monkeypatch.setattr(session._answerer, "_asked", lambda question, seconds: {})
    with pytest.raises(FaultError, match="stays charged"):
        question.release(eps=0.1)
    assert inside(parts) == pytest.approx([0.2, 0.3])
    monkeypatch.undo()
    assert question.release(eps=0.1).value is not None
    assert inside(parts) == pytest.approx([0.2, 0.3])
    verify(ledger)


def test_what_a_part_cannot_ask_is_said_and_costs_nothing(session, ledger):
    people, visits = session["people"], session["visits"]
    parts = people.partition(c.region).release(eps=0.1)
    for wrong in (
        lambda: parts["north"].union(people).count().release(eps=0.1),
        lambda: people.join(parts["north"].select(x=c.age), how="left").count().release(eps=0.1),
        lambda: parts["north"].join(parts["south"].select(x=c.age)).count().release(eps=0.1),
        lambda: parts["nort"],
        lambda: session.ask("people part west of region count").explain(eps=0.1),
        lambda: session.ask("people part 3 of region count").release(eps=0.1),
        lambda: session.batch(parts["north"].count(), parts["south"].count(), eps=0.1),
        lambda: session.batch(parts["north"].count(), people.count(), eps=0.1),
        lambda: session.batch(parts["north"].count(), parts["north"].average(c.age), eps=0.11),
        lambda: parts["north"].union(people).tables(["region"]).release(eps=0.1),
        lambda: parts["north"].tables(["region"]).release(eps=0.11),
        lambda: visits.partition(c.ward, parts=0),
        lambda: visits.partition(c.cost).explain(eps=0.1),
        lambda: people.partition(c.region).explain(eps={"north": 1}),
        lambda: people.partition(c.region).explain(within=3),
        lambda: people.partition(c.region, x=c.age),
    ):
        with pytest.raises((UsageError, RefusedError)):
            wrong()
    assert inside(parts) == pytest.approx([0.1, 0.1]) and left(ledger) == pytest.approx(0.9)
    different = people.partition(c.region).explain(eps={"north": 0.2, "south": "0.05"})
    assert different.cost == PureDP(Fraction(1, 5)) and "purse of south" in repr(different)
    assert "<table>" in different._repr_html_() and "<table>" in parts._repr_html_()


def test_a_purse_pays_for_tables_and_for_several_questions_about_its_part_together(session, ledger):
    parts = session["people"].partition(c.region).release(eps=0.5)
    north = parts["north"].compute(old=c.age // 50)
    tables = north.tables([["old"]])
    first = tables.release(eps=0.2)
    assert inside(parts) == pytest.approx([0.3, 0.5]) and left(ledger) == pytest.approx(0.5)
    assert first.noisy("old")["count"].abs().sum() > 0
    for form in (tables, session.ask(tables.text)):
        assert form.release(eps=0.2).noisy("old").equals(first.noisy("old"))
    assert "purse of north" in repr(tables.explain(within=30, confidence=0.9))
    several = session.batch(north.count(), north.average(c.age), north.variance(c.age))
    assert several.explain(eps=0.1).affordable and not several.explain(eps=0.4).affordable
    answers = several.release(eps=0.1)
    assert inside(parts) == pytest.approx([0.2, 0.5]) and "purse of north" in session.answers[-1].left
    # The same as texts: whichever purse has paid for all of them pays.
    texts = [session.ask(one.text) for one in (north.count(), north.average(c.age), north.variance(c.age))]
    assert [one.rows for one in session.batch(*texts, eps=0.1)] == [one.rows for one in answers]
    assert inside(parts) == pytest.approx([0.2, 0.5]) and left(ledger) == pytest.approx(0.5)
    with pytest.raises(RefusedError, match="of the purse of its part"):
        session.batch(north.count(), north.units(), eps=0.3)
    with pytest.raises(RefusedError, match="of the purse of its part"):
        tables.release(eps=0.3)
    # Texts of two parts are charged outside: no purse pays for both.
    both = [session.ask(f"people part {name} of region count") for name in parts]
    session.batch(*both, eps=0.1)
    assert inside(parts) == pytest.approx([0.2, 0.5]) and left(ledger) == pytest.approx(0.4)
    verify(ledger)


def test_parts_by_a_number_that_no_float_holds_are_asked_each_from_its_own_purse(session):
    for key in (c.age // 60 * Fraction(1, 3), c.age // 60 * Fraction("0.0001") + 10**14):
        parts = session["people"].partition(x=key).release(eps=0.1)
        assert len({str(one) for one in parts}) == len(parts) == 2
        for name in parts:
            parts[name].count().release(eps=0.1)
        assert inside(parts) == [0, 0]
        with pytest.raises(RefusedError, match="only 0 is left"):
            parts[next(iter(parts))].count().release(eps=0.05)


def test_another_account_pays_for_its_own_purses(session, ledger):
    session["people"].partition(c.region).release(eps=0.3)
    with Session.open(ledger, "bob") as bob:
        assert bob.ask("people part north of region count").explain(eps=0.1).left[0].startswith("the grant of bob")
        bob["people"].partition(c.region).release(eps=0.3)
    assert left(ledger, "bob") == pytest.approx(0.7)
    assert allowances(ledger, "ann", "clinic@2024")[1].left == pytest.approx(2.4)


def test_under_replace_a_partition_costs_twice_and_in_rho_four_times(tmp_path):
    spec = DataSpec.load(f'neighbours = "replace"\n{SPEC}')
    with Ledger.create(tmp_path / "replace.db") as ledger:
        ledger.register("clinic@2024", spec.notion, ZCDP(Fraction(1)))
        ledger.add_account("ann")
        ledger.grant("ann", "clinic@2024", ZCDP(Fraction(1)))
        open_data(spec, clinic(20, 30), ledger=ledger, dataset="clinic@2024", place=tmp_path / "store")
        with Session.open(ledger, "ann") as session:
            parts = session["people"].partition(c.region).release(rho=0.1)
            assert parts.cost == ZCDP(Fraction(4, 10)) and left(ledger) == pytest.approx(0.6)
            asked = parts["north"].average(c.income).priced(rho="0.1")
            outside = session["people"].average(c.income).priced(rho="0.1")
            assert asked.mechanism.noise.variance < outside.mechanism.noise.variance
            assert "charged once" in asked.words()[0]
            asked_again = parts["north"].count().release(rho=0.1)
            assert asked_again.question.purse is not None
            tables = [one.tables(["region"]).priced(rho="0.1") for one in (parts["south"], session["people"])]
            assert [one.moves for one in tables] == [1, 2] and tables[0].words()[0].startswith("ρ")
            # Where limits are in ρ, the least budget is told in ρ first, and in ε beside it.
            for asked in (session["people"].count(), parts["south"].tables(["region"])):
                told = asked.explain(within=20)
                assert isinstance(told.cost, ZCDP) and isinstance(told.instead.cost, PureDP)
                assert max(one.half_width for one in (*told.forecast, *told.instead.forecast)) <= 20
                assert "instead" in told.to_json() and f" {told.instead.cost}, discrete Laplace" in repr(told)


def test_public_tables_are_joined_in_every_form(session):
    people = session["people"]
    own = mg.public({"region": ["north", "south"], "land": ["x", "y"]}, key="region")
    named = people.join(session.public["places"]).group_by(c.land).count()
    assert named.node == session.ask("people join places on region by land count").node
    sql = "SELECT land, COUNT(*) FROM people JOIN places ON people.region = places.region GROUP BY land"
    assert session.sql(sql).node == named.node
    assert session.sql(sql.replace("ON people.region = places.region", "USING (region)")).node == named.node
    assert session.json(json.loads(json.dumps(named.node.to_json()))).node == named.node
    given = people.join(own, on=c.region).group_by(c.land).count()
    assert given.node == session.ask("people join here on region by land count", here=own).node
    assert given.node == session.sql(sql.replace("places", "here"), here=own).node
    assert session.ask(given.text).node == given.node and "2 rows" in repr(own)
    answer = named.release(eps=0.5)
    assert [row.keys["land"] for row in answer.rows] == ["x", "y", "z"]
    assert (
        session["visits"]
        .join(mg.public({"w": ["a", "a"], "f": [1, 2]}, key="w"), on=c.ward)
        .count()
        .explain(eps=1)
        .sensitivity
        == 10
    )


def test_a_session_carried_into_another_process_is_refused_there_and_works_on_here(session, ledger):
    session["people"].count().release(eps=0.1)
    parts = session["people"].partition(c.region).release(eps=0.1)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        told = []
        for use in (
            lambda: session["people"].count().release(eps=0.1),
            lambda: session["visits"].count().explain(eps=0.1),
            lambda: session["people"].partition(c.region).release(eps=0.1),
            lambda: session.batch(session["people"].count(), eps=0.1),
            lambda: session.best(session["people"].count()),
            lambda: session.tables(),
            lambda: parts.left,
        ):
            try:
                use()
            except UsageError as error:
                told.append("after a fork" in str(error))
            except BaseException:
                told.append(False)
        session.close()
        os.write(writer, b"".join(b"1" if one else b"0" for one in told))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"1" * 7
    os.close(reader)
    os.close(writer)
    assert session["visits"].count().release(eps=0.1).rows and left(ledger) == pytest.approx(0.7)
    verify(ledger)


def test_the_canary_is_in_nothing_that_a_partition_tells(session, ledger):
    parts = session["people"].partition(c.region).release(eps=0.2)
    answer = parts["north"].count().release(eps=0.1)
    told = [repr(parts), parts._repr_html_(), repr(answer), json.dumps(parts.to_json()), repr(session.public)]
    told += [json.dumps(entry.body) for entry, _ in ledger.entries()]
    assert not [text for text in told if CANARY in text]
