"""``margrave risk``: of a spec and of a release, without data."""

import json

import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app


def run(*words):
    return CliRunner().invoke(app, ["risk", *map(str, words)])


@pytest.mark.slow
def test_a_spec_and_its_release_have_the_same_limits(tmp_path):
    spec = mg.examples.path("fungus")
    mg.release(spec, seed="risk").save(tmp_path / "out")
    planned, released = (json.loads(run(path, "--json").stdout) for path in (spec, tmp_path / "out"))
    assert planned == released
    assert planned["membership_advantage"] == pytest.approx(0.4621, abs=1e-3)


@pytest.mark.slow
def test_it_is_said_in_words():
    shown = run(mg.examples.path("czech"))
    assert shown.exit_code == 0
    assert "at most 88.1 % are told rightly: at least 11.9 % are wrong." in shown.output
    assert "not about what can be learnt of people in general" in shown.output
