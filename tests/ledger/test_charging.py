"""Releases charged to a ledger, from the plan to the bundle and back."""

import shutil
from fractions import Fraction

import pandas as pd
import pytest

import margrave as mg
from margrave import pipeline
from margrave.budget.units import ZCDP
from margrave.errors import DataError, RefusedError, UsageError, VerificationError
from margrave.ledger import verify
from margrave.ledger.records import Pool, RequestRecord
from margrave.ledger.statements.statement import statement
from margrave.ledger.statements.words import sentence
from margrave.planning.asked import request_of
from margrave.planning.written import notion_of
from margrave.publish.charging import published_in
from margrave.publish.verification.verify import verify as verify_bundle
from tests.ledger.helpers import eps

SPEC = """
[attributes]
smoke = ["no", "yes"]
age = ["young", "old"]
[release]
tables = [["smoke", "age"]]
strategy = "margins"
nonnegative = "none"
rounding = "none"
[privacy]
epsilon = 1.0
"""
DATA = pd.DataFrame({"smoke": ["no", "yes", "no"] * 30, "age": ["young", "old", "old"] * 30})


@pytest.fixture(scope="module")
def plan():
    return mg.plan(mg.Spec.parse(SPEC))


@pytest.fixture
def ledger(url, plan):
    with mg.Ledger.create(url) as one:
        one.register("survey@1", notion_of(plan.spec), eps(3))
        one.add_account("ann")
        one.grant("ann", "survey@1", eps(3))
        yield one


def spent(ledger):
    return ledger.records(Pool)[0].spent.epsilon


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_asked_again_the_bundle_is_identical_and_free(ledger, plan, tmp_path):
    first = mg.release(plan, DATA, ledger=ledger, account="ann")
    again = mg.release(mg.Spec.parse(SPEC), DATA, ledger=ledger, account="ann", dataset="survey@1")
    first.save(tmp_path / "first")
    again.save(tmp_path / "again")
    again.save(tmp_path / "again.zip")
    assert files(tmp_path / "first") == files(tmp_path / "again")
    assert (tmp_path / "again.zip").read_bytes() == first.stored
    assert spent(ledger) == plan.cost.epsilon
    assert verify(ledger, published_in(tmp_path)).published == 3
    for name in ("first", "again.zip"):
        assert verify_bundle(tmp_path / name).private
    loaded = mg.Release.load(tmp_path / "first")
    assert loaded.ledger == first.ledger
    assert loaded.ledger["dataset"] == "survey@1"
    loaded.save(tmp_path / "loaded")
    assert files(tmp_path / "loaded") == files(tmp_path / "first")


def test_the_data_is_not_opened_for_what_is_known_or_refused(ledger, plan, monkeypatch):
    mg.release(plan, DATA, ledger=ledger, account="ann")
    opened = []
    monkeypatch.setattr(pipeline.run, "measure", lambda *_: opened.append(1))
    mg.release(plan, DATA, ledger=ledger, account="ann")
    rich = mg.Spec.parse(SPEC.replace("epsilon = 1.0", "epsilon = 2.5"))
    with pytest.raises(RefusedError, match="is left"):
        mg.release(rich, DATA, ledger=ledger, account="ann")
    replaced = mg.Spec.parse(SPEC + 'neighbours = "replace"\n')
    with pytest.raises(RefusedError, match="the neighbours"):
        mg.release(replaced, DATA, ledger=ledger, account="ann")
    assert opened == []


def test_the_cost_depends_on_the_question_alone(plan):
    requests = [request_of(plan, mg_name(), "ann") for _ in range(2)]
    assert requests[0] == requests[1]
    assert requests[0].cost == plan.cost


def mg_name():
    from margrave.ledger import DataSetName

    return DataSetName("survey", "1")


def test_the_charge_comes_before_the_data_and_the_commit_before_the_bundle(ledger, plan, monkeypatch):
    seen = []
    measure, keep, commit = pipeline.run.measure, mg.Ledger.keep, mg.Ledger.commit
    monkeypatch.setattr(pipeline.run, "measure", lambda *a: (seen.append(("open", spent(ledger))), measure(*a))[1])
    monkeypatch.setattr(mg.Ledger, "keep", lambda *a: (seen.append(("keep", spent(ledger))), keep(*a))[1])
    monkeypatch.setattr(mg.Ledger, "commit", lambda *a: (seen.append(("commit", spent(ledger))), commit(*a))[1])
    mg.release(plan, DATA, ledger=ledger, account="ann")
    assert seen == [(step, plan.cost.epsilon) for step in ("open", "keep", "commit")]


def test_a_failure_with_the_data_open_stays_charged(ledger, plan):
    bad = DATA.assign(smoke="sometimes")
    for _ in range(2):
        with pytest.raises(DataError):
            mg.release(plan, bad, ledger=ledger, account="ann", request="mine")
    assert [one.status for one in ledger.records(RequestRecord)] == ["reserved"]
    assert spent(ledger) == plan.cost.epsilon
    last = list(ledger.entries())[-1][0]
    assert (last.kind, last.body["reason"]) == ("failed", "DataError")
    assert "sometimes" not in sentence(last)
    mg.release(plan, DATA, ledger=ledger, account="ann")
    assert spent(ledger) == plan.cost.epsilon
    verify(ledger)


@pytest.fixture
def draws(monkeypatch):
    """What was drawn, each time that noise was drawn."""
    found, measure = [], pipeline.run.measure
    monkeypatch.setattr(pipeline.run, "measure", lambda *given: found.append(measure(*given)) or found[-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("failure", [ValueError("not solved"), KeyboardInterrupt(), MemoryError()])
def test_whatever_fails_after_the_draw_is_repeated_from_the_same_noise(ledger, plan, monkeypatch, draws, failure):
    """Drawing again until the answer can be worked out would publish noise that was selected."""

    def fail(_):
        raise failure

    for _ in range(2):
        with monkeypatch.context() as patched:
            patched.setattr("margrave.publish.ways.release._written", fail)
            with pytest.raises(type(failure)):
                mg.release(plan, DATA, ledger=ledger, account="ann", request="once")
        verify(ledger)
    ledger.end_grant("ann", "survey@1")
    ledger.add_account("bob")
    ledger.grant("bob", "survey@1", eps(1))
    out = mg.release(plan, DATA, ledger=ledger, account="bob")
    assert len(draws) == 1
    for kept, published in zip(draws[0].answers, out.measured.answers, strict=True):
        assert (kept.outputs == published.outputs).all()
    assert spent(ledger) == plan.cost.epsilon
    verify(ledger)


def test_of_two_that_draw_at_once_the_first_is_published(ledger, plan, monkeypatch, draws):
    keep, release = mg.Ledger.keep, lambda: mg.release(plan, DATA, ledger=ledger, account="ann")
    first = []

    def overtaken(*given):
        monkeypatch.setattr(mg.Ledger, "keep", keep)
        first.append(release())
        return keep(*given)

    monkeypatch.setattr(mg.Ledger, "keep", overtaken)
    second = release()
    assert len(draws) == 2 and first[0].stored == second.stored
    assert (second.measured.answers[0].outputs == draws[1].answers[0].outputs).all()
    assert spent(ledger) == plan.cost.epsilon
    assert verify(ledger).bundles == 1


def test_a_bundle_that_could_not_be_read_costs_nothing(ledger, plan, monkeypatch):
    monkeypatch.setattr(pipeline.run, "measure", lambda *_: pytest.fail("the data was opened"))
    monkeypatch.setattr("margrave.publish.bundle.room.MOST_MANIFEST", 1000)
    with pytest.raises(RefusedError, match=r"release\.json"):
        mg.release(plan, DATA, ledger=ledger, account="ann")
    assert spent(ledger) == 0


def test_a_bundle_does_not_tell_who_had_to_ask_again(ledger, plan, monkeypatch, tmp_path):
    with pytest.raises(DataError):
        mg.release(plan, DATA.assign(smoke="sometimes"), ledger=ledger, account="ann", request="mine")
    before = statement(ledger, "survey").to_json()
    ledger.end_grant("ann", "survey@1")
    ledger.add_account("bob")
    ledger.grant("bob", "survey@1", eps(1))
    out = mg.release(plan, DATA, ledger=ledger, account="bob")
    (charged,) = before["requests"]
    assert (out.ledger["entry"], out.ledger["time"]) == (charged["entry"], charged["time"])
    assert statement(ledger, "survey").to_json()["requests"] == before["requests"]
    out.save(tmp_path / "out")
    assert verify(ledger, published_in(tmp_path)).published == 1


def test_an_interruption_leaves_the_request_to_be_taken_up(ledger, plan, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pipeline.run, "measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            mg.release(plan, DATA, ledger=ledger, account="ann")
    assert [one.status for one in ledger.records(RequestRecord)] == ["reserved"]
    mg.release(plan, DATA, ledger=ledger, account="ann")
    assert [one.status for one in ledger.records(RequestRecord)] == ["committed"]
    assert spent(ledger) == plan.cost.epsilon


def test_what_can_be_known_without_data_costs_nothing(ledger, plan, tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        mg.release(plan, tmp_path / "none.csv", ledger=ledger, account="ann")
    with pytest.raises(UsageError, match="seeded noise is not private"):
        mg.release(plan, DATA, ledger=ledger, account="ann", seed=1)
    with pytest.raises(UsageError, match="needs an account"):
        mg.release(plan, DATA, ledger=ledger)
    with pytest.raises(RefusedError, match="draft"):
        mg.release(mg.Spec.parse("draft = true\n" + SPEC), DATA, ledger=ledger, account="ann")
    assert spent(ledger) == 0


def test_a_ledger_restored_from_a_backup_is_detected(tmp_path, plan):
    path, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    with mg.Ledger.create(path) as ledger:
        ledger.register("survey@1", notion_of(plan.spec), eps(3))
        ledger.add_account("ann")
        ledger.grant("ann", "survey@1", eps(3))
    shutil.copy(path, backup)
    out = tmp_path / "out"
    out.mkdir()
    with mg.Ledger.open(path) as ledger:
        mg.release(plan, DATA, ledger=ledger, account="ann").save(out / "first")
        verify(ledger, published_in(out))
        backup_after_reserve(ledger, tmp_path)
    backup.replace(path)
    with mg.Ledger.open(path) as ledger:
        verify(ledger)
        with pytest.raises(VerificationError, match=r"charged by entry 5, and the ledger ends at entry 4"):
            verify(ledger, published_in(out))
        mg.release(plan, DATA, ledger=ledger, account="ann").save(out / "second")
        with pytest.raises(VerificationError, match="another entry of that number"):
            verify(ledger, published_in(out))
    with mg.Ledger.open(tmp_path / "half.db") as ledger:
        verify(ledger)
        with pytest.raises(VerificationError, match="no commit of this release"):
            verify(ledger, published_in(out / "first"))
    other = mg.Ledger.create(tmp_path / "other.db")
    with other, pytest.raises(VerificationError, match="another ledger"):
        verify(other, published_in(out))


def backup_after_reserve(ledger, folder):
    """The same ledger as it stood between charge and commit: the last entry and its effects taken away."""
    import sqlite3

    from margrave.ledger.replay import recomputed

    target = sqlite3.connect(folder / "half.db")
    with ledger.store.connection() as connection:
        connection.backup(target)
    named = "ledger_journal_no_delete"
    (guard,) = target.execute("SELECT sql FROM sqlite_master WHERE name = ?", (named,)).fetchone()
    target.execute(f"DROP TRIGGER {named}")
    target.execute("DELETE FROM ledger_journal WHERE number > 5")
    target.execute(guard)
    target.execute("DELETE FROM ledger_answer")
    target.execute("DELETE FROM ledger_state")
    target.commit()
    half = mg.Ledger.open(folder / "half.db")
    with half.store.reading() as session:
        view = recomputed(session)
    target.executemany("INSERT INTO ledger_state VALUES (?, ?)", [(k, r.text) for k, r in view.changes.items()])
    target.commit()
    target.close()
    half.close()


def test_facts_and_units_belong_to_the_notion():
    facts = mg.Spec.parse(SPEC.replace("[privacy]", 'public = [[], ["age"]]\n[privacy]'))
    notion = notion_of(facts)
    assert len(notion.facts) == 2
    assert notion.induced == "worst-case"
    other = notion_of(
        mg.Spec.parse(
            SPEC.replace('"old"]', '"old", "older"]').replace("[privacy]", 'public = [[], ["age"]]\n[privacy]')
        )
    )
    assert "public facts" in notion.difference(other)
    unit = mg.Spec.parse('[data]\nsource = "x.csv"\nunit = { column = "person", max_records = 3 }\n' + SPEC)
    assert (notion_of(unit).unit, notion_of(unit).records) == ("person", 3)


def test_the_public_statement(url, plan):
    with mg.Ledger.create(url) as ledger:
        unit = mg.Spec.parse('[data]\nsource = "x.csv"\nunit = { column = "person_id", max_records = 3 }\n' + SPEC)
        ledger.register("survey@1", notion_of(plan.spec), ZCDP(Fraction(3)))
        ledger.register("homes@1", notion_of(unit), eps(3))
        ledger.add_account("ann")
        ledger.grant("ann", "survey@1", ZCDP(Fraction(3)))
        mg.release(plan, DATA, ledger=ledger, account="ann", dataset="survey@1", request="secret-project")
        with pytest.raises(DataError):
            spec = mg.Spec.parse(SPEC.replace("1.0", "0.5"))
            mg.release(spec, DATA.assign(age="no age"), ledger=ledger, account="ann", dataset="survey@1")
        said = statement(ledger, "survey")
        text = "\n".join(said.lines())
        assert "ann" not in text
        assert "secret-project" not in text
        for part in ("also whether it is in the data", "No public facts", "discrete laplace", "ε = 1", "ε = 0.5"):
            assert part in text
        assert "ρ = 0.625" in text
        assert "secret-project" not in str(said.to_json())
        assert said.to_json()["neighbours"] == "add-remove"
        assert statement(ledger, "survey@1").to_json() == said.to_json()
        homes = "\n".join(statement(ledger, "homes").lines())
        assert "Nothing has been spent." in homes
        assert "person_id" not in homes
        assert "at most 3 records" in homes
        with pytest.raises(UsageError, match="not registered"):
            statement(ledger, "nothing")
