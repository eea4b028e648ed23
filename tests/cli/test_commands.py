"""Releasing, counting, drafting and copying examples."""

import json

import pytest

import margrave as mg
from margrave.cli.init import _without_password
from tests.cli.typed import CZECH, inside, run


@pytest.mark.slow
def test_release_prints_tables_or_json():
    text = inside("release", CZECH, "--print")
    assert "mental, family" in text.stdout
    tables = json.loads(inside("release", CZECH, "--json").stdout)
    assert tables["private"] is True and len(tables["tables"]) == 3
    seeded = inside("release", CZECH, "--seed", "1", "--json")
    assert json.loads(seeded.stdout)["private"] is False and "NOT PRIVATE" in seeded.stderr


@pytest.mark.slow
def test_count_needs_its_word():
    refused = run("count", CZECH)
    assert refused.returncode == 3 and "--not-private" in refused.stderr and not refused.stdout
    allowed = inside("count", CZECH, "--not-private", "--table", "smoke", "--json")
    assert "NOT PRIVATE" in allowed.stderr
    rows = json.loads(allowed.stdout)[0]["rows"]
    assert sum(row["count"] for row in rows) == 1841


@pytest.mark.slow
def test_init_drafts_a_spec_that_release_refuses(tmp_path):
    inside("examples", "czech", "--to", str(tmp_path))
    drafted = inside("init", str(tmp_path / "data" / "czech.csv"))
    assert "READS THE DATA" in drafted.stderr
    spec = tmp_path / "draft.toml"
    spec.write_text(drafted.stdout)
    assert mg.Spec.load(spec).draft
    refused = run("release", str(spec), "--print")
    assert refused.returncode == 3 and "draft = true" in refused.stderr


def test_a_draft_never_repeats_a_password():
    assert _without_password("postgresql://ann:secret@host/db?table=t") == "postgresql://ann@host/db?table=t"
    assert _without_password("data/people.csv") == "data/people.csv"
    shown = repr(mg.Spec.load({**_SMALL, "data": {"source": "postgresql://ann:secret@host/db?table=t"}}))
    assert "secret" not in shown


_SMALL = {"attributes": {"a": ["x", "y"]}, "release": {"all": 1}, "privacy": {"epsilon": 1}}


@pytest.mark.slow
def test_examples_are_listed_and_copied_once(tmp_path):
    assert "rochdale" in inside("examples").stdout
    inside("examples", "journey", "--to", str(tmp_path))
    assert mg.plan(tmp_path / "journey.toml")
    again = run("examples", "journey", "--to", str(tmp_path))
    assert again.returncode == 2 and "exists already" in again.stderr
