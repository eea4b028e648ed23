"""What a row stands for is part of what is protected: one record, or as many as a column says."""

import json
import sys
from functools import partial

import pandas as pd
import pytest

import margrave as mg
from margrave import pipeline
from margrave.cli import main
from margrave.errors import RefusedError, UsageError
from margrave.ledger import DataSetName, Notion, ledger, verify
from margrave.ledger.records import Pool
from margrave.ledger.statements.statement import statement
from margrave.ledger.statements.words import sentence
from margrave.planning.asked import request_of
from margrave.planning.written import notion_of
from margrave.publish.verification.verify import verify as verify_bundle
from tests.ledger.helpers import TENTH, Clock, ask, eps, released
from tests.ledger.test_versions import older

SPEC = """
[data]
{data}
[attributes]
smoke = ["no", "yes"]
[release]
tables = [["smoke"]]
strategy = "margins"
nonnegative = "none"
rounding = "none"
{release}
[privacy]
epsilon = 1.0
"""
PEOPLE = pd.DataFrame({"smoke": ["no", "yes", "no"], "income": [41_000, 87_654, 52_300], "n": [4, 2, 1]})
COUNTED = Notion(count="n")


def spec_of(data="", release=""):
    return mg.Spec.parse(SPEC.format(data=data, release=release))


def opened(url, notion, most="3"):
    bank = mg.Ledger.create(url)
    bank.register("survey@1", notion, eps(most))
    bank.add_account("ann")
    bank.grant("ann", "survey@1", eps(most))
    return bank


def spent(bank):
    return bank.records(Pool)[0].spent.epsilon


@pytest.mark.parametrize(("registered", "asked"), [("", 'count = "income"'), ('count = "n"', 'count = "income"'),
                                                   ('count = "n"', "")])  # fmt: skip
def test_a_release_that_weighs_rows_in_another_way_is_refused_before_anything_is_spent(
    url, registered, asked, monkeypatch
):
    monkeypatch.setattr(pipeline.run, "measure", lambda *_: pytest.fail("data was opened"))
    with opened(url, notion_of(spec_of(registered))) as bank:
        head = bank.head
        with pytest.raises(RefusedError, match="registered with another notion of privacy"):
            mg.release(spec_of(asked), PEOPLE, ledger=bank, account="ann")
        assert (bank.head, spent(bank)) == (head, 0)


@pytest.mark.slow
def test_a_data_set_of_counted_records_is_released_by_its_column_and_says_so_without_naming_it(url, tmp_path):
    spec = spec_of('count = "n"')
    with opened(url, notion_of(spec)) as bank:
        out = mg.release(spec, PEOPLE, ledger=bank, account="ann")
        verify(bank)
        said = statement(bank, "survey")
    words = "one record is protected, not a row"
    assert words in "\n".join(said.lines()) and said.to_json()["unit"]["counted"] is True
    assert "column" not in "\n".join(said.lines())
    assert out.plan.protection.counted
    out.save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out/release.json").read_text())
    assert manifest["guarantee"]["unit"]["counted"] is True
    assert any("Each row of the data stands for a number of records" in text for text in manifest["guarantee"]["words"])
    assert "Each row of the data stands for a number of records" in (tmp_path / "out/report.html").read_text()
    verify_bundle(tmp_path / "out")
    with pytest.raises(RefusedError, match="lost its"):
        mg.release(mg.Release.load(tmp_path / "out").plan, PEOPLE)


def test_rows_that_are_records_are_said_to_be_nothing_else(url):
    with opened(url, Notion()) as bank:
        said = statement(bank, "survey")
    assert "counted" not in said.to_json()["unit"] and "Each row" not in "\n".join(said.lines())
    assert "Each row" not in "\n".join(mg.plan(spec_of()).promise.words())


def test_versions_under_one_cap_agree_on_what_a_row_stands_for(url):
    with opened(url, COUNTED) as bank:
        bank.register("survey@2", COUNTED)
        for other in (Notion(), Notion(count="m")):
            with pytest.raises(RefusedError, match="how many records a row stands for"):
                bank.register("survey@3", other)


def test_a_notion_has_units_or_counted_records():
    with pytest.raises(UsageError, match="have no units"):
        Notion(unit="person", records=2, count="n")
    with pytest.raises(UsageError, match="has a name"):
        Notion(count=" ")
    assert Notion.from_json(COUNTED.to_json()) == COUNTED
    assert "count" not in Notion().to_json(), "as it was written before"


def test_what_is_registered_now_is_told_for_good(url):
    with opened(url, Notion()) as bank, pytest.raises(RefusedError, match="is one record: it was registered so"):
        bank.declare_count("survey@1", "n")


def test_of_an_older_data_set_the_column_is_declared_once(url):
    older(url, 4).close()
    one, other = (mg.Ledger.open(url, clock=Clock("2030-01-02")) for _ in range(2))
    with one as bank, other:
        other.reserve(ask(1))  # remembers the data set
        with pytest.raises(RefusedError, match="declare it once, 'margrave ledger dataset survey@1 --count n'"):
            bank.reserve(ask(30, notion=COUNTED))
        bank.declare_count("survey@1", "n")
        assert "its column n says" in sentence(list(bank.entries())[-1][0])
        for one in (bank, other):
            with pytest.raises(RefusedError, match="another notion"):
                one.reserve(ask(30))
            with pytest.raises(RefusedError, match="another notion"):
                one.reserve(ask(30, notion=Notion(count="m")))
            with pytest.raises(RefusedError, match="another notion"):
                one.reserve(ask(1))
            with pytest.raises(RefusedError, match="its column 'n' says"):
                one.declare_count("survey@1", "m")
        before = spent(bank)
        released(other, 30, notion=COUNTED)
        assert spent(bank) == before + TENTH.epsilon
        verify(bank)
        assert statement(bank, "survey").to_json()["unit"]["counted"] is True


def test_an_older_data_set_goes_on_without_counts_and_is_then_settled(url):
    older(url, 4).close()
    with mg.Ledger.open(url, clock=Clock("2030-01-02")) as bank:
        released(bank, 30)
        with pytest.raises(RefusedError, match="charged so"):
            bank.declare_count("survey@1", "n")
        with pytest.raises(RefusedError, match="another notion"):
            bank.reserve(ask(31, notion=COUNTED))
        released(bank, 31)
        verify(bank)


def test_a_version_registered_beside_an_older_one_says_what_rows_of_both_stand_for(url):
    older(url, 4).close()
    with mg.Ledger.open(url, clock=Clock("2030-01-02")) as bank:
        bank.register("survey@2", Notion())
        for name in ("survey@1", "survey@2"):
            with pytest.raises(RefusedError, match="is one record: it was registered so"):
                bank.declare_count(name, "income")
            with pytest.raises(RefusedError, match="another notion"):
                bank.reserve(ask(30, dataset=DataSetName.parse(name), notion=Notion(count="income")))
        verify(bank)


def test_a_version_registered_after_a_declaration_has_its_column(url):
    older(url, 4).close()
    with mg.Ledger.open(url, clock=Clock("2030-01-02")) as bank:
        bank.declare_count("survey@1", "n")
        with pytest.raises(RefusedError, match="how many records a row stands for"):
            bank.register("survey@2", Notion())
        bank.register("survey@2", COUNTED)
        released(bank, 30, dataset=DataSetName.parse("survey@2"), notion=COUNTED)
        verify(bank)


def test_a_question_is_the_same_as_before_rows_were_said_to_be_counted():
    plan = mg.plan(spec_of('count = "n"'))
    digest = "ac27633f6b4e7cfba1c7f2de4f230860fe02baf57417333fedd34b7c6c7aced1"
    assert request_of(plan, DataSetName("survey", "1"), "ann").question == digest


def test_the_command_declares_a_column_or_registers_a_spec(tmp_path, monkeypatch, capsys):
    place = str(tmp_path / "ledger.db")
    older(place, 4).close()
    monkeypatch.setattr(ledger, "opened", partial(ledger.opened, clock=Clock("2030-01-02")))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["margrave", "ledger", *words, "--ledger", place])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0

    assert run("dataset", "survey@1") == 2
    assert run("dataset", "survey@1", "--count", "n", "--cap", "epsilon=1") == 2
    assert run("dataset", "survey@1", "--count", "n") == 0
    assert "stands for as many records as n says" in capsys.readouterr().out
    assert run("dataset", "survey@1", "--count", "n") == 3
    assert run("verify") == 0


EXACT = {
    "sensitive": ('sensitive = ["smoke"]', ""),
    "public": ('public = [["smoke"]]', ""),
    "replace": ("", 'neighbours = "replace"'),
}


@pytest.mark.parametrize("why", EXACT)
def test_sums_of_a_column_are_not_published_exactly_unless_that_is_declared(why):
    release, privacy = EXACT[why]
    text = (
        SPEC.replace("smoke =", 'ill = ["no", "yes"]\nsmoke =').replace('[["smoke"]]', '[["smoke", "ill"]]') + privacy
    )
    data = PEOPLE.assign(ill=["no", "no", "yes"])

    def released_by(section):
        return mg.release(mg.Spec.parse(text.format(data=section, release=release)), data, seed=1)

    with pytest.raises(RefusedError, match=r"sums of the column 'income' would be published exactly"):
        released_by('count = "income"')
    assert released_by('count = { column = "n", public = true }').measured.exact
    assert released_by('count = "n"\nconfidential = false').measured.exact
    assert released_by("").measured.exact


def test_facts_that_the_spec_gives_are_not_read_from_a_column():
    spec = spec_of('count = "n"', "public = [{ of = [], count = 7 }]")
    assert mg.release(spec, PEOPLE, seed=1).measured.exact[()] == 7


def test_a_public_column_of_counts_is_written_and_read_back():
    spec = spec_of('count = { column = "n", public = true }')
    assert spec.data.count_public and mg.Spec.parse(spec.to_toml()) == spec
    assert "count" not in str(spec.public_dict())
    with pytest.raises(mg.errors.SpecError, match="needs column"):
        spec_of("count = { public = true }")
    with pytest.raises(mg.errors.SpecError, match="contradicts count"):
        spec_of('count = "n"\nunit = { column = "person", max_records = 2 }')
