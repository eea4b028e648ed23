"""What a file says never commands the terminal that it is shown in, and programs get it as it is."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
import tomllib
from time import sleep

import pandas as pd
import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli import terminal
from margrave.cli.app import app
from margrave.spec.spec import Spec
from margrave.spec.texts import formulas
from margrave.spec.toml import quote

ESCAPES = {
    "colour": "\x1b[31mred",
    "title": "\x1b]0;owned\x07",
    "eight bits": "\x9b2J",
    "line": "a\nmargrave: 11 files are as they were written",
    "return": "b\rc",
    "delete": "d\x7f",
    "override": "\u202eetag",
    "isolate": "\u2066x\u2069",
    "separator": "\u2028x",
    "tag": "\U000e0041x",
    "markup": "[red]x[/green]",
}
COMMANDS = {chr(code) for code in (*range(32), *range(127, 160), 0x202E, 0x2066, 0x2069, 0x2028, 0xE0041)} - {"\n"}


@pytest.fixture(scope="module")
def spec():
    values = list(ESCAPES.values())
    return {
        "title": "Survey \x1b[2J\x9b31m\u202e of [bold]people\nin two lines",
        "attributes": {
            "odd": {"title": "Odd \x1b[5m", "values": values, "labels": {values[0]: "\x1b[1mlabel"}},
            "x\x1b[7m[/red]": {"values": ["a", "b"]},
        },
        "release": {"all": 2, "nonnegative": "none"},
        "privacy": {"epsilon": 1},
    }


@pytest.fixture(scope="module")
def bundle(spec, tmp_path_factory):
    data = pd.DataFrame({"odd": 200 * list(ESCAPES.values()), "x\x1b[7m[/red]": ["a"] * 200 * len(ESCAPES)})
    return mg.release(spec, data, seed=1).save(tmp_path_factory.mktemp("escapes") / "bundle")


def shown(*arguments, code=0):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


def assert_harmless(text):
    assert not COMMANDS & set(text)


@pytest.mark.slow
def test_show_spells_out_what_would_command_the_terminal(bundle):
    listed = shown("show", bundle)
    assert_harmless(listed.output)
    assert "Survey \\x1b[2J\\x9b31m\\u202e of [bold]people\\x0ain two lines" in listed.stdout
    table = shown("show", bundle, "odd,x\x1b[7m[/red]").stdout
    assert_harmless(table)
    for text in ("Odd \\x1b[5m", "x\\x1b[7m[/red]", "\\x1b[1mlabel", "\\u202eetag", "\\U000e0041x", "[red]x[/green]"):
        assert text in table
    assert not any(line.startswith("margrave: 11") for line in table.splitlines())


@pytest.mark.slow
def test_other_commands_do_too(bundle, spec, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(Spec.from_dict(spec).to_toml())
    assert_harmless(path.read_text())
    for arguments in (["plan", path], ["verify", bundle], ["infer", bundle, "--model", "[odd]"]):
        assert_harmless(shown(*arguments).output)


@pytest.mark.slow
def test_a_ledger_tells_titles_harmlessly(spec, tmp_path):
    data, ledger = pd.DataFrame({"odd": list(ESCAPES.values())}), str(tmp_path / "ledger.db")
    path = tmp_path / "spec.toml"
    declared = {"odd": spec["attributes"]["odd"]}
    path.write_text(Spec.from_dict({**spec, "attributes": declared, "release": {"all": 1}}).to_toml())
    data.to_parquet(tmp_path / "data.parquet")
    shown("ledger", "init", "--ledger", ledger)
    shown("ledger", "dataset", "d@1", "--spec", path, "--cap", "epsilon=1", "--ledger", ledger)
    shown("ledger", "account", "ann", "--ledger", ledger)
    shown("ledger", "grant", "ann", "d@1", "epsilon=1", "--ledger", ledger)
    charged = ["--ledger", ledger, "--account", "ann", "--dataset", "d@1"]
    released = shown("release", path, "--data", tmp_path / "data.parquet", *charged, "--out", tmp_path / "out")
    assert_harmless(released.output)
    for command in (["show"], ["history"], ["history", "--json"], ["export", "d"], ["export", "d", "--json"]):
        said = shown("ledger", *command, "--ledger", ledger).output
        assert_harmless(said)
        assert "export" not in command or "Survey \\" in said
    said = json.loads(shown("ledger", "export", "d", "--json", "--ledger", ledger).stdout)
    assert [one["title"] for one in said["requests"]] == [spec["title"]]


@pytest.mark.slow
def test_errors_that_quote_a_file_are_harmless(bundle, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "margrave", "show", str(bundle), "nothing\x1b[31m"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert_harmless(done.stderr)
    (tmp_path / "spec.toml").write_text('[attributes]\n"a\\u001B" = ["x"]\n[release]\nall = 3\n"\\u202E" = 1\n')
    done = subprocess.run(
        [sys.executable, "-m", "margrave", "plan", str(tmp_path / "spec.toml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert_harmless(done.stderr)
    assert len(done.stderr.splitlines()) > 2


def test_json_gives_every_value_back_and_no_command(bundle):
    text = shown("show", bundle, "odd", "--json").stdout
    assert_harmless(text)
    assert [row["odd"] for row in json.loads(text)["rows"]] == list(ESCAPES.values())


@pytest.mark.slow
def test_csv_in_a_pipe_is_the_values_as_they_are(bundle):
    command = [sys.executable, "-m", "margrave", "show", str(bundle), "odd", "--csv"]
    content = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    assert [row["odd"] for row in rows] == list(ESCAPES.values())


def test_csv_in_a_terminal_is_harmless(monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as tty:
        monkeypatch.setattr(sys, "stdout", tty)
        terminal.print_csv(pd.DataFrame({"a": ["\x1b[31m"], "b": [0.5], "c": [3], "d": [None]}))
    assert os.read(ours, 100).replace(b"\r", b"") == b"a,b,c,d\n\\x1b[31m,0.5,3,\n"
    os.close(ours)


def test_a_draft_spells_out_directions_and_keeps_the_values():
    text = "".join(ESCAPES.values())
    assert not COMMANDS & set(quote(text))
    assert tomllib.loads(f"x = {quote(text)}")["x"] == text


FORMULAS = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "\t=1", "＝1", "-other", "+A1"]
NONE = ["-5", "+5", "-10--5", "-1.5", "+", "-", "<=3", "a=b", "1-2", "−5", "(-1, 2]", "- 3", "5+"]


def test_what_a_spreadsheet_would_compute_is_told_from_numbers_with_a_sign():
    spec = {"attributes": {"a": [*FORMULAS, *NONE]}, "release": {"all": 1}, "privacy": {"epsilon": 1}}
    assert formulas(Spec.from_dict(spec).domain) == tuple(FORMULAS)


@pytest.mark.slow
def test_formulas_are_named_and_written_as_they_are(tmp_path):
    values = [*FORMULAS, *NONE]
    spec = {"attributes": {"a": values}, "release": {"all": 1}, "privacy": {"epsilon": 1}}
    path = tmp_path / "spec.toml"
    path.write_text(Spec.from_dict(spec).to_toml(), encoding="utf-8")
    assert "begins like a formula" in shown("plan", path).stderr
    place = mg.release(Spec.from_dict(spec), pd.DataFrame({"a": values}), seed=1).save(tmp_path / "out")
    assert "begins like a formula" in shown("verify", place).stderr
    with (place / "tables" / "001-a.csv").open(encoding="utf-8", newline="") as file:
        assert [row["a"] for row in csv.DictReader(file)] == values
    assert shown("show", place, "a", "--csv").stdout.splitlines()[1].startswith("=1+1,")


@pytest.mark.slow
def test_a_bundle_without_formulas_is_not_warned_of(tmp_path):
    place = mg.release(mg.examples.path("fungus"), seed=1).save(tmp_path / "out")
    assert "formula" not in shown("verify", place).output


@pytest.mark.parametrize("step", ["progress", "watching"])
def test_a_long_step_is_named_where_no_progress_can_be_shown(monkeypatch, capsys, step):
    monkeypatch.setattr(terminal, "PATIENCE", 0.02)
    with getattr(terminal, step)("Fitting"):
        sleep(0.5)
    assert capsys.readouterr().err == "Fitting ...\n"
    monkeypatch.setattr(terminal, "PATIENCE", 60.0)
    with getattr(terminal, step)("Fitting"):
        pass
    assert not capsys.readouterr().err
