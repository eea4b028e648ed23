"""A session over the wire is a session: the same questions, objects and words, and nothing is believed unchecked."""

import subprocess
import sys
from fractions import Fraction

import pytest

import margrave as mg
from margrave.budget.units import PureDP
from margrave.client.remote import connect
from margrave.errors import RefusedError, UsageError, VerificationError
from margrave.ledger import Ledger
from margrave.publish.questions.answers import AnswerTable
from margrave.publish.release import Release
from margrave.session.session import Session
from tests.cli.typed import run
from tests.serve.served import DATASET

pytestmark = pytest.mark.slow


@pytest.fixture
def session(served, new_name):
    name = new_name()
    with connect(served.address, served.person(name, epsilon=2)) as found:
        yield found


def test_the_whole_interface_is_that_of_a_session_on_the_spot(served, session, new_name):
    """What is built, explained, answered and combined is word for word the same."""
    twin = new_name()
    served.person(twin)
    with Ledger.open(served.url) as ledger:
        ledger.grant(twin, DATASET, PureDP(Fraction(2)))
        with Session.open(ledger, twin) as local:
            for each in (local, session):
                people = each["people"]
                people.group_by(mg.col.region).count().release(eps="0.1")
                each.ask("people average age").release(eps="0.1")
                each.batch(people.count(), people.group_by(mg.col.region).count(), eps="0.1")
                people.tables([["region"], []]).release(eps="0.2")
            same = repr(session).replace(session.account, twin)
            assert same == repr(local)
            assert session._repr_html_().replace(session.account, twin) == local._repr_html_()
            assert [type(one) for one in session.answers] == [type(one) for one in local.answers]
            for remote, here in zip(session.answers, local.answers, strict=True):
                if isinstance(remote, AnswerTable):
                    # The twin's questions are the same, and so are their stored answers.
                    assert repr(remote.with_left("")) == repr(here.with_left("")) and remote.left
            best = people_best(session)
            assert repr(best) == repr(people_best(local))
            asked = session["people"].where(mg.col.age > 30).count()
            told, here = asked.explain(eps="0.5"), local["people"].where(mg.col.age > 30).count().explain(eps="0.5")
            assert repr(told).replace(session.account, twin) == repr(here)
            assert session.datasets == local.datasets and session.tables == local.tables


def people_best(session):
    return session.best(session["people"].count())


def test_asked_again_it_is_free_and_the_same(session):
    first = session.ask("people count").release(eps="0.1")
    left = [one.spent for one in session.allowances()]
    assert session.ask("people count").release(eps="0.1") == first
    assert [one.spent for one in session.allowances()] == left


def granted(session):
    """What was spent of the grant."""
    return next(one for one in session.allowances() if one.what.startswith("the grant")).spent.epsilon


def test_a_partition_is_paid_for_once_and_its_parts_from_their_purses(served, session, new_name):
    people = session["people"]
    partition = people.partition(mg.col.region)
    assert partition.explain(eps="0.3").affordable and granted(session) == 0
    parts = partition.release(eps="0.3")
    assert list(parts) == ["north", "south"] and granted(session) == Fraction(3, 10)
    first = parts["north"].count().release(eps="0.1")
    assert parts["north"].count().release(eps="0.1") == first
    with pytest.raises(RefusedError, match="of the purse of its part"):
        parts["north"].average(mg.col.age).release(eps="0.25")
    # Written as text it is the same part, whose purse pays.
    text = parts["south"].count().text
    session.ask(text).release(eps="0.2")
    assert [one.left for one in partition.release(eps="0.3").left.values()] == pytest.approx([0.2, 0.1])
    # So are several questions at once, and tables.
    north = parts["north"]
    _, mean = session.batch(north.count(), north.average(mg.col.age), eps="0.1")
    assert session.batch(north.count(), north.average(mg.col.age), eps="0.1")[1] == mean
    north.tables(["region"]).release(eps="0.05")
    assert parts.left["north"].left == pytest.approx(0.05) and granted(session) == Fraction(3, 10)
    body = {"text": text, "budget": {"epsilon": "0.1"}, "purse": "ab/0"}
    with served.client(served.person(new_name(), epsilon=1)) as other:
        refused = other.post(f"/v1/datasets/{DATASET}/explain", json=body)
        assert refused.status_code == 400 and "no such purse" in refused.json()["detail"]


def test_a_part_without_a_purse_is_charged_as_any_other_question(session):
    part = session["people"].partition(mg.col.region)
    node = part.priced(eps="0.1").part(0)
    body = {"kind": "count", "rows": node.to_json()}
    session.json(body).release(eps="0.1")
    assert granted(session) == Fraction(1, 10)


def test_tables_come_as_a_verified_release(session):
    found = session["visits"].tables([["ward"]]).release(eps="0.1")
    assert isinstance(found, Release)
    assert list(found.table("ward")["ward"]) == ["a", "b"]


def test_what_is_refused_is_refused_in_the_same_words(session):
    with pytest.raises(RefusedError, match="the grant of"):
        session.ask("people count").release(eps="2.5")
    assert all(one.spent.empty for one in session.allowances() if one.what.startswith("the grant"))
    with pytest.raises(UsageError, match="did you mean 'people'"):
        session["peopel"]


def test_a_token_that_does_not_hold_opens_nothing(served):
    with pytest.raises(RefusedError, match="token"):
        connect(served.address, "mgv_" + "A" * 43)
    with pytest.raises(RefusedError, match="https alone"):
        connect("http://curator.example", "mgv_x")
    with pytest.raises(UsageError, match="address"):
        connect("ftp://curator.example", "mgv_x")
    with pytest.raises(UsageError, match="no token"):
        connect(served.address, "mgv_ä")


def test_an_answer_that_was_changed_on_the_way_is_not_believed(session, monkeypatch):
    session.ask("people count").release(eps="0.1")
    asked = session.ask("visits count")
    whole = session._wire._once

    def other(method, path, body, headers):
        found = whole(method, path, body, headers)
        changed = found.content.replace(b'"numbers":["', b'"numbers":["1')
        return type(found)(found.status, changed if path.endswith("/content") else found.content)

    monkeypatch.setattr(session._wire, "_once", other)
    with pytest.raises(VerificationError, match="not the answer"):
        asked.release(eps="0.1")


def test_the_answer_to_another_question_is_not_believed(session, monkeypatch):
    session.ask("people count").release(eps="0.1")
    (stored,) = session._contents()
    monkeypatch.setattr(session, "_answered", lambda body: stored)
    with pytest.raises(VerificationError, match="not the answer"):
        session.ask("visits count").release(eps="0.1")


def test_what_breaks_off_is_tried_again_under_the_same_key(session, monkeypatch):
    """A reply that is lost on the way costs nothing: the same key is the same request."""
    whole, lost = session._wire._once, []

    def losing(method, path, body, headers):
        found = whole(method, path, body, headers)
        if method == "POST" and len(lost) < 2:
            lost.append(headers["Idempotency-Key"])
            raise OSError("lost")
        return found

    monkeypatch.setattr(session._wire, "_once", losing)
    session.ask("people count").release(eps="0.1")
    assert len(lost) == 2 and len(set(lost)) == 1
    grant = next(one for one in session.allowances() if one.what.startswith("the grant"))
    assert grant.spent.epsilon == Fraction(1, 10)


def test_a_question_is_asked_of_a_server_from_the_command_line(served, new_name):
    token = served.person(new_name(), epsilon=1)
    options = ("--server", served.address, "--token", token, "--eps", "0.1")
    told = run("ask", "people by region count", *options)
    assert told.returncode == 0 and "region north" in told.stdout and "0.9 left" in told.stdout
    explained = run("ask", "people count", *options, "--explain")
    assert "0.8 left" in explained.stdout
    nobody = run("ask", "people count", "--server", served.address, "--eps", "0.1")
    assert nobody.returncode == 2 and "MARGRAVE_TOKEN" in nobody.stderr


def test_a_client_loads_no_reader_of_data():
    program = (
        "import sys, margrave.client.remote;"
        "print([name for name in sys.modules if name.startswith('margrave.measure') or name == 'margrave.pipeline'"
        " or name in ('duckdb', 'polars', 'sqlite3', 'psycopg')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
