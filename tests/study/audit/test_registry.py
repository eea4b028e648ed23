"""What can be audited is recognised, from the command line too."""

import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.budget.units import PureDP
from margrave.cli.app import app
from margrave.errors import LedgerError, UsageError, VerificationError
from margrave.ledger import Ledger
from margrave.planning.written import notion_of
from margrave.spec.choices import NEIGHBOURS
from margrave.study.audit.exact import FIXED
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.registry import AUDITORS, WAYS, audit

pytestmark = pytest.mark.slow

QUICK = ("--samples", "2000", "--releases", "40")


def run(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)])


def test_a_plan_that_looks_at_the_data_is_audited_too(tmp_path):
    spec = tmp_path / "spec.toml"
    lines = ['a = ["0", "1"]', 'b = ["0", "1", "2"]', "[release]", "all = 2", 'strategy = "adaptive"']
    spec.write_text("\n".join(["[attributes]", *lines, "[privacy]", "epsilon = 1.0"]))
    shown = run(spec, *QUICK)
    assert shown.exit_code == 0, shown.output
    assert "a selection alone" in shown.output and "whole transcripts" in shown.output


@pytest.fixture
def bundle(tmp_path):
    return mg.release(mg.examples.path("fungus"), seed="audit").save(tmp_path / "out")


@pytest.fixture(scope="module")
def charged(tmp_path_factory):
    place = tmp_path_factory.mktemp("ledger") / "ledger.db"
    spec = mg.Spec.load(mg.examples.path("fungus"))
    with Ledger.create(place) as made:
        made.register("fungus@1", notion_of(spec), PureDP(Fraction(1)))
        made.add_account("ann")
        made.grant("ann", "fungus@1", PureDP(Fraction(1)))
        mg.release(spec, ledger=made, account="ann", dataset="fungus@1")
    return place


@pytest.fixture
def ledger(charged, tmp_path):
    return Path(shutil.copy(charged, tmp_path))


def test_a_spec_is_recognised():
    shown = run(mg.examples.path("fungus"), *QUICK, "--json")
    found = json.loads(shown.stdout)
    assert shown.exit_code == 0 and found["what"] == "a release" and not found["violated"]
    assert [one["check"] for one in found["findings"]] == [
        "price",
        "noise",
        "releases end to end",
        "two numbers compared",
    ]


def test_a_bundle_is_recognised_and_verified(bundle):
    shown = run(bundle, *QUICK)
    assert shown.exit_code == 0 and "Audit of a bundle" in shown.output and "NOT PRIVATE" in shown.output
    (bundle / "cube.json").write_text("{}")
    assert isinstance(run(bundle, *QUICK).exception, VerificationError)


def test_a_ledger_is_recognised(ledger):
    shown = run(ledger, *QUICK)
    assert shown.exit_code == 0 and "Audit of a ledger" in shown.output and "1 stored answers" in shown.output


def test_the_bundle_of_a_graph_is_verified_and_priced_by_its_moves(tmp_path):
    spec = {
        "data": {"source": "edges.csv", "columns": ["one", "other"]},
        "graph": {"directed": False, "nodes": {"red": ["a", "b"], "blue": ["c", "d"]}, "degrees": ["a"]},
        "release": {"edges": 0.5},
        "privacy": {"epsilon": 1},
    }
    edges = pd.DataFrame([("a", "b"), ("c", "d")], columns=["one", "other"])
    found = audit(str(mg.release(spec, edges, seed="audit").save(tmp_path / "graph")), Effort())
    assert [one.check for one in found.findings] == ["cost, as verify computes it", "price"]
    assert not found.violated and found.findings[1].found == pytest.approx(found.findings[1].stated)


@pytest.mark.parametrize("name", ["kept.dat", "2024.backup", "ledger", "ledger.toml", "ledger.zip"])
def test_a_ledger_is_recognised_by_what_is_in_it_whatever_its_name_is(ledger, name):
    found = audit(str(ledger.rename(ledger.with_name(name))), Effort())
    assert found.what == "a ledger" and not found.violated


def test_another_file_of_sqlite_is_no_ledger_and_stays_as_it_is(tmp_path):
    path = tmp_path / "addresses.dat"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE addresses (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="there is no ledger in"):
        audit(str(path), Effort())
    assert path.read_bytes() == before


def test_a_ledger_whose_beginning_is_lost_is_called_damaged(ledger):
    content = ledger.read_bytes()
    ledger.write_bytes(bytes(100) + content[100:])
    with pytest.raises(VerificationError, match="damaged"):
        audit(str(ledger), Effort())


def test_the_program_itself_and_its_known_bugs():
    shown = run("mechanisms", "--samples", "20000")
    plans = 2 * len(NEIGHBOURS) * len(FIXED)  # each under ε and under ρ
    assert shown.exit_code == 0 and shown.output.count("exact") == plans + 6
    missed = run("bugs", "--samples", "100", "--json")
    assert isinstance(missed.exception, VerificationError)
    assert [(one["violated"], one["samples"]) for one in json.loads(missed.stdout)] == [(False, 0)] * 6


def test_what_is_nothing_is_refused_with_a_list():
    with pytest.raises(UsageError, match=r"nonsense.*mechanisms.*ledger.*spec.*bundle"):
        audit("nonsense", Effort())
    assert len({kind.name for kind in AUDITORS}) == len(AUDITORS)


def test_a_violation_is_said_and_has_its_exit_code(monkeypatch):
    found = Audit("a release", 0.999, (Finding("price", "recomputed", 1.0, 2.0),))
    assert found.violated and found.verdict.startswith("VIOLATION: price states 1")
    monkeypatch.setitem(WAYS, "release", lambda plan, effort: found)
    shown = run(mg.examples.path("fungus"))
    assert isinstance(shown.exception, VerificationError) and shown.exception.exit_code == 4


@pytest.mark.parametrize("effort", [{"samples": 1}, {"releases": 1}, {"confidence": 1.0}, {"confidence": 0.1}])
def test_rejected(effort):
    with pytest.raises(UsageError):
        Effort(**effort)


def test_a_file_that_is_no_ledger_is_not_called_a_damaged_one(tmp_path):
    (tmp_path / "note.txt").write_text("a note")
    with pytest.raises(UsageError, match=r"nothing that can be audited.*a ledger \(a file"):
        audit(str(tmp_path / "note.txt"), Effort())
