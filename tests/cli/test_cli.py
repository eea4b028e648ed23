"""The command line as a person or a script meets it."""

import json
import os
import subprocess
import sys
from time import sleep

import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app

CZECH = str(mg.examples.path("czech"))


def run(*arguments):
    """In a process of its own: exit codes and streams as they really are."""
    return subprocess.run(
        [sys.executable, "-m", "margrave", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def inside(*arguments):
    """In this process, for commands that succeed."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_demo_shows_exact_and_private_tables(tmp_path):
    out = inside("demo", "fungus", "--out", str(tmp_path / "demo")).stdout
    assert "EXACT" in out and "PRIVATE" in out and "margrave release" in out
    assert "std_error" in out


def test_plan_shows_cost_noise_and_forecast():
    out = inside("plan", CZECH).stdout
    for word in ("ε = 1", "Laplace", "mental, family", "RMSE", "In plain words", "Memory"):
        assert word in out


def test_plan_as_json():
    plan = json.loads(inside("plan", CZECH, "--json").stdout)
    assert plan["guarantee"].keys() == {"epsilon"}
    assert plan["rmse"] == pytest.approx(3.2, abs=0.05)
    assert [row["cells"] for row in plan["forecast"]] == [4, 8, 16]
    assert plan["groups"]["5"]["epsilon"] == pytest.approx(5)


def test_plan_for_a_target_and_a_sweep():
    rows = json.loads(inside("plan", CZECH, "--sweep", "0.5,1", "--json").stdout)
    assert [row["budget"] for row in rows] == ["0.5", "1"]
    found = inside("plan", CZECH, "--target", "5@95%")
    assert "Write this budget" in found.stderr


def test_release_prints_tables_or_json():
    text = inside("release", CZECH)
    assert "mental, family" in text.stdout
    tables = json.loads(inside("release", CZECH, "--json").stdout)
    assert tables["private"] is True and len(tables["tables"]) == 3
    seeded = inside("release", CZECH, "--seed", "1", "--json")
    assert json.loads(seeded.stdout)["private"] is False and "NOT PRIVATE" in seeded.stderr


def test_count_needs_its_word():
    refused = run("count", CZECH)
    assert refused.returncode == 3 and "--not-private" in refused.stderr and not refused.stdout
    allowed = inside("count", CZECH, "--not-private", "--table", "smoke", "--json")
    assert "NOT PRIVATE" in allowed.stderr
    rows = json.loads(allowed.stdout)[0]["rows"]
    assert sum(row["count"] for row in rows) == 1841


def test_init_drafts_a_spec_that_release_refuses(tmp_path):
    inside("examples", "czech", "--to", str(tmp_path))
    drafted = inside("init", str(tmp_path / "data" / "czech.csv"))
    assert "READS THE DATA" in drafted.stderr
    spec = tmp_path / "draft.toml"
    spec.write_text(drafted.stdout)
    assert mg.Spec.load(spec).draft
    refused = run("release", str(spec))
    assert refused.returncode == 3 and "draft = true" in refused.stderr


def test_a_draft_never_repeats_a_password():
    from margrave.cli.commands import _without_password

    assert _without_password("postgresql://ann:secret@host/db?table=t") == "postgresql://ann@host/db?table=t"
    assert _without_password("data/people.csv") == "data/people.csv"
    shown = repr(mg.Spec.load({**_SMALL, "data": {"source": "postgresql://ann:secret@host/db?table=t"}}))
    assert "secret" not in shown


_SMALL = {"attributes": {"a": ["x", "y"]}, "release": {"all": 1}, "privacy": {"epsilon": 1}}


def test_examples_are_listed_and_copied_once(tmp_path):
    assert "rochdale" in inside("examples").stdout
    inside("examples", "journey", "--to", str(tmp_path))
    assert mg.plan(tmp_path / "journey.toml")
    again = run("examples", "journey", "--to", str(tmp_path))
    assert again.returncode == 2 and "exists already" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["plan", "nowhere.toml"], 1, "nowhere.toml"),
        (["plan"], 2, "Missing argument"),
        (["plan", CZECH, "--target", "x"], 2, "5@95%"),
        (["plan", CZECH, "--target", "5@95%", "--sweep", "1"], 2, "not both"),
        (["plan", CZECH, "--sweep", "0"], 2, "greater than 0"),
        (["plan", CZECH, "--sweep", "one"], 2, "--sweep takes numbers such as 0.1,1,10: 'one' is not a number"),
        (["plan", CZECH, "--sweep", ","], 2, "--sweep takes numbers"),
        (["plan", "people.csv"], 1, "people.csv > spec.toml' drafts one"),
        (["init", "nowhere.csv"], 1, "margrave: nowhere.csv does not exist"),
        (["count", CZECH, "--not-private", "--table", "zz"], 2, "unknown attribute 'zz'; there are smoke, mental"),
        (["demo", "chech"], 2, "did you mean 'czech'"),
        (["release", CZECH, "--data", "nowhere.csv"], 1, "nowhere.csv"),
        (["nonsense"], 2, "No such command"),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else None,
)
def test_mistakes_have_a_code_and_a_sentence_and_no_trace(arguments, code, words):
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr and not done.stdout


def test_an_unforeseen_error_shows_no_text_of_its_own():
    program = (
        "import margrave.cli.app as app\n"
        "def fail(): raise ValueError('XK47QZ')\n"
        "app.app.command('fail')(fail)\n"
        "import sys; sys.argv = ['margrave', 'fail']; app.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ValueError" in done.stderr and "XK47QZ" not in done.stderr and "Traceback" not in done.stderr


def test_an_interrupted_release_says_so_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    from margrave.cli.app import main
    from margrave.measure import run as measuring

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "measure", interrupted)
    monkeypatch.setattr(sys, "argv", ["margrave", "release", CZECH, "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130
    assert "interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_speaks_of_charges_only_where_there_are_any(monkeypatch, capsys):
    from margrave.cli import app as program

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "app", interrupted)
    for command, charged in (("infer", False), ("release", True)):
        monkeypatch.setattr(sys, "argv", ["margrave", command, "x"])
        with pytest.raises(SystemExit):
            program.main()
        assert ("charged" in capsys.readouterr().err) == charged


@pytest.mark.parametrize("step", ["progress", "watching"])
def test_a_long_step_is_named_where_no_progress_can_be_shown(monkeypatch, capsys, step):
    from margrave.cli import terminal

    monkeypatch.setattr(terminal, "PATIENCE", 0.02)
    with getattr(terminal, step)("Fitting"):
        sleep(0.5)
    assert capsys.readouterr().err == "Fitting ...\n"
    monkeypatch.setattr(terminal, "PATIENCE", 60.0)
    with getattr(terminal, step)("Fitting"):
        pass
    assert not capsys.readouterr().err


def test_the_program_uses_one_thread_for_small_matrices_unless_told_otherwise():
    program = (
        "import os, margrave.cli.app as app\n"
        "app.main = lambda: print(os.environ['OMP_NUM_THREADS'], flush=True)\n"
        "app.program()"
    )
    for told, expected in (({}, "1"), ({"OMP_NUM_THREADS": "3"}, "3")):
        environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | told
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
        assert done.stdout == f"{expected}\n", done.stderr


@pytest.mark.parametrize(
    "group", [(), ("ledger",), ("graph",), ("attack",)], ids=lambda group: " ".join(group) or "all"
)
def test_the_list_of_commands_cuts_no_sentence_short(group):
    assert "..." not in inside(*group, "--help").stdout.partition("Commands:")[2]


def test_version():
    assert inside("--version").stdout.startswith("margrave 0.")


def test_every_command_is_documented():
    """docs/cli.md is made from the commands: `make docs` after a change."""
    import runpy
    from pathlib import Path

    folder = Path(__file__).parents[2] / "docs"
    assert (folder / "cli.md").read_text() == runpy.run_path(str(folder / "generate.py"))["text"]()
