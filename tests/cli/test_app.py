"""The command line as a whole: exit codes, mistakes, interruptions, help."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from margrave.cli import app as program
from margrave.measure import run as measuring
from tests.cli.typed import CZECH, apart, inside, run


@pytest.mark.slow
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
        (["release", CZECH, "--print", "--data", "nowhere.csv"], 1, "nowhere.csv"),
        (["nonsense"], 2, "No such command"),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else None,
)
def test_mistakes_have_a_code_and_a_sentence_and_no_trace(arguments, code, words):
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr and not done.stdout


@pytest.mark.slow
def test_a_process_of_its_own_ends_with_the_same_code_and_words():
    mistake = ["plan", "nowhere.toml"]
    real, told = apart(*mistake), run(*mistake)
    assert (real.returncode, real.stdout, real.stderr) == (told.returncode, told.stdout, told.stderr)


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


@pytest.mark.slow
def test_an_interrupted_release_says_so_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "measure", interrupted)
    monkeypatch.setattr(sys, "argv", ["margrave", "release", CZECH, "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stop:
        program.main()
    assert stop.value.code == 130
    assert "interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_speaks_of_charges_only_where_there_are_any(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "chosen", lambda _: interrupted)
    for command, charged in (("infer", False), ("release", True)):
        monkeypatch.setattr(sys, "argv", ["margrave", command, "x"])
        with pytest.raises(SystemExit):
            program.main()
        assert ("charged" in capsys.readouterr().err) == charged


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


def test_a_command_that_is_named_is_described_alone_and_every_other_word_has_all_of_them():
    everything = len(program.app.registered_commands), len(program.app.registered_groups)
    assert [found.callback.__name__ for found in program.chosen(["plan", "x.toml"]).registered_commands] == ["plan"]
    for arguments in ([], ["--help"], ["plam"], ["ledger", "show"]):
        found = program.chosen(arguments)
        assert (len(found.registered_commands), len(found.registered_groups)) == everything


def test_version():
    assert inside("--version").stdout.startswith("margrave 0.")


def test_every_command_is_documented():
    """docs/cli.md is made from the commands: `make docs` after a change."""
    folder = Path(__file__).parents[2] / "docs"
    assert (folder / "cli.md").read_text() == runpy.run_path(str(folder / "generate.py"))["text"]()
