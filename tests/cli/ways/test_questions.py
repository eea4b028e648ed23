"""``margrave data open`` and ``margrave ask``, from a spec to an answer."""

import json

import pytest

from margrave.errors import UsageError
from tests.cli.typed import inside, run
from tests.session.conftest import SPEC, clinic


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARGRAVE_ACCOUNT", "ann")
    for name, frame in clinic(200, 300).items():
        frame.to_csv(f"{name}.csv", index=False)
    text = SPEC
    for name in ("people", "visits"):
        text = text.replace(f"[tables.{name}]\n", f'[tables.{name}]\nsource = "{name}.csv"\n')
    (tmp_path / "clinic.toml").write_text(text)
    inside("ledger", "init")
    inside("ledger", "dataset", "clinic@2024", "--spec", "clinic.toml", "--cap", "epsilon=3")
    inside("ledger", "account", "ann")
    inside("ledger", "grant", "ann", "clinic@2024", "epsilon=1")
    return tmp_path


@pytest.mark.slow
def test_a_curator_opens_and_an_analyst_asks(folder):
    told = inside("data", "open", "clinic@2024", "--spec", "clinic.toml").output
    assert "clinic@2024 is open for questions" in told and (folder / "clinic-2024.store").is_dir()
    question = "people where age in 18-64 by region count"
    explained = inside("ask", question, "--eps", "0.1", "--explain").output
    assert "at most 1 row of each unit is used" in explained and "0.9 left" in explained
    assert json.loads(inside("ask", question, "--within", "20", "--json").output)["cost"]["epsilon"].startswith("0.1")
    answer = inside("ask", question, "--eps", "0.1").output
    assert "region north" in answer and "0.9 left" in answer
    again = json.loads(inside("ask", question, "--eps", "0.1", "--json").output)
    assert [row["region"] for row in again["rows"]] == ["north", "south"] and "0.9 left" in again["left"]
    assert "opened for questions" in inside("ledger", "history").output
    tables = "people tables(region)"
    assert "planned as a release" in inside("ask", tables, "--eps", "0.1", "--explain").output
    assert "north" in inside("ask", tables, "--eps", "0.1").output
    assert json.loads(inside("ask", tables, "--eps", "0.1", "--json").output)["tables"][0]["table"] == ["region"]
    inside("ask", tables, "--eps", "0.1", "--out", "out")
    assert "are as they were written" in inside("verify", "out").output
    assert run("ask", tables, "--eps", "0.1", "--out", "out").returncode == UsageError.exit_code
    assert run("ask", tables, "--eps", "0.1", "--out", "other", "--explain").returncode == UsageError.exit_code
    inside("ledger", "verify")


@pytest.mark.slow
def test_a_partition_is_paid_for_on_the_command_line_and_its_parts_ask_in_later_commands(folder):
    inside("data", "open", "clinic@2024", "--spec", "clinic.toml")
    partition = "people partition by region"
    assert "a unit is in one part" in inside("ask", partition, "--eps", "0.2", "--explain").output
    assert "south  ε = 0.2 left of ε = 0.2" in inside("ask", partition, "--eps", "0.2").output
    north = "people part north of region join places on region by land count"
    assert "the purse of north: ε = 0.05 left" in inside("ask", north, "--eps", "0.15").output
    told = json.loads(inside("ask", partition, "--eps", "0.2", "--json").output)
    assert told["left"] == {"north": "ε = 0.05 left of ε = 0.2", "south": "ε = 0.2 left of ε = 0.2"}
    done = run("ask", "people part north of region count", "--eps", "0.1")
    assert done.returncode and "of the purse of its part" in done.stderr
    assert "the grant of ann: ε = 0.7 left" in inside("ask", "people count", "--eps", "0.1", "--explain").output
    assert "a purse for each" in inside("ledger", "history").output
    inside("ledger", "verify")


@pytest.mark.slow
def test_a_public_table_comes_from_a_file(folder):
    inside("data", "open", "clinic@2024", "--spec", "clinic.toml")
    (folder / "more.toml").write_text(
        '[public.lands]\nkey = "region"\ncolumns = { region = ["north"], land = ["x"] }\n'
    )
    for question, form in (
        ("people join lands on region by land count", ()),
        ("SELECT land, COUNT(*) FROM people JOIN lands ON people.region = lands.region GROUP BY land", ("--sql",)),
    ):
        told = inside("ask", question, "--eps", "0.1", "--explain", "--public", "more.toml", *form).output
        assert "public (region = ('north'), land = ('x')) on region by land count" in told
    for text, words in (("[tables]", "unknown"), ("", "[public] is missing"), ("[public.a]\nkey = 'b'", "needs")):
        (folder / "more.toml").write_text(text)
        done = run("ask", "people count", "--eps", "0.1", "--public", "more.toml")
        assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_mistakes_are_said_in_a_sentence(folder):
    done = run("ask", "people count", "--eps", "0.1")
    assert done.returncode == UsageError.exit_code and "open for questions: none yet" in done.stderr
    inside("data", "open", "clinic@2024", "--spec", "clinic.toml")
    for text, words in (("people cout", "is expected, not 'cout'"), ("nobody count", "a table is expected")):
        done = run("ask", text, "--eps", "0.1")
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
