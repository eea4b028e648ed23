"""What can be audited is recognised, from the command line too."""

import json
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.budget.units import PureDP
from margrave.cli.app import app
from margrave.errors import UsageError, VerificationError
from margrave.ledger import Ledger
from margrave.planning.written import notion_of
from margrave.spec.choices import NEIGHBOURS, STRATEGIES
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.registry import AUDITORS, WAYS, audit

pytestmark = pytest.mark.slow

QUICK = ("--samples", "2000", "--releases", "40")


def run(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)])


@pytest.fixture
def bundle(tmp_path):
    return mg.release(mg.examples.path("fungus"), seed="audit").save(tmp_path / "out")


@pytest.fixture
def ledger(tmp_path):
    spec = mg.Spec.load(mg.examples.path("fungus"))
    with Ledger.create(tmp_path / "ledger.db") as made:
        made.register("fungus@1", notion_of(spec), PureDP(Fraction(1)))
        made.add_account("ann")
        made.grant("ann", "fungus@1", PureDP(Fraction(1)))
        mg.release(spec, ledger=made, account="ann", dataset="fungus@1")
    return tmp_path / "ledger.db"


def test_a_spec_is_recognised():
    shown = run(mg.examples.path("fungus"), *QUICK, "--json")
    found = json.loads(shown.stdout)
    assert shown.exit_code == 0 and found["what"] == "a release" and not found["violated"]
    assert [one["check"] for one in found["findings"]] == ["price", "noise", "releases end to end"]


def test_a_bundle_is_recognised_and_verified(bundle):
    shown = run(bundle, *QUICK)
    assert shown.exit_code == 0 and "Audit of a bundle" in shown.output and "NOT PRIVATE" in shown.output
    (bundle / "cube.json").write_text("{}")
    assert isinstance(run(bundle, *QUICK).exception, VerificationError)


def test_a_ledger_is_recognised(ledger):
    shown = run(ledger, *QUICK)
    assert shown.exit_code == 0 and "Audit of a ledger" in shown.output and "1 stored answers" in shown.output


def test_the_program_itself_and_its_known_bugs():
    shown = run("mechanisms", "--samples", "20000")
    plans = 2 * len(NEIGHBOURS) * len(STRATEGIES)  # each under ε and under ρ
    assert shown.exit_code == 0 and shown.output.count("exact") == plans + 6
    bugs = run("bugs", "--samples", "100000", "--json")
    assert bugs.exit_code == 0 and [one["violated"] for one in json.loads(bugs.stdout)] == [True] * 6
    missed = run("bugs", "--samples", "100")
    assert isinstance(missed.exception, VerificationError) and "NOT FOUND" in missed.output


def test_what_is_nothing_is_refused_with_a_list():
    with pytest.raises(UsageError, match=r"nonsense.*mechanisms.*spec.*bundle.*ledger"):
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
    with pytest.raises(UsageError, match=r"nothing that can be audited.*a ledger \(\.db"):
        audit(str(tmp_path / "note.txt"), Effort())
