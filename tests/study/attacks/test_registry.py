"""Attacks by name, from the command line, and the rules on whose data they may be carried out."""

import json
import sys

import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app
from margrave.cli.studies.attack import app as commands
from margrave.errors import RefusedError, UsageError
from margrave.study.attacks.figures import png
from margrave.study.attacks.registry import ATTACKS, attack
from margrave.study.attacks.result import Attack, Row
from margrave.study.attacks.subjects import Subject, bundled, domain_of, load
from margrave.study.attacks.terms import Terms

pytestmark = pytest.mark.slow


def run(*words):
    return CliRunner().invoke(app, ["attack", *map(str, words)])


@pytest.fixture
def secret_spec(tmp_path):
    """The spec of the fungus, as if its data were confidential."""
    mg.examples.copy("fungus", tmp_path)
    path = tmp_path / "fungus.toml"
    path.write_text(path.read_text().replace("confidential = false", "confidential = true"))
    return path


def test_every_attack_is_a_command_and_the_other_way_round():
    named = {command.name or command.callback.__name__ for command in commands.registered_commands}
    assert named == {*ATTACKS, "all"}


def test_confidential_data_is_attacked_by_its_curator_alone_and_nothing_is_written(secret_spec, tmp_path):
    assert isinstance(run("k-anonymity", "--spec", secret_spec).exception, RefusedError)
    with pytest.raises(RefusedError, match="--i-am-the-curator"):
        load(secret_spec, None, curator=False)
    shown = run("k-anonymity", "--spec", secret_spec, "--i-am-the-curator")
    assert shown.exit_code == 0 and "NOT FOR PUBLICATION" in shown.output
    picture = tmp_path / "picture.png"
    refused = run("k-anonymity", "--spec", secret_spec, "--i-am-the-curator", "--out", picture)
    assert isinstance(refused.exception, RefusedError) and not picture.exists()


def test_data_that_is_declared_public_may_be_attacked(tmp_path):
    picture = tmp_path / "picture.png"
    shown = run("k-anonymity", "--spec", mg.examples.path("fungus"), "--json", "--out", picture)
    found = json.loads(shown.stdout)
    assert shown.exit_code == 0 and [row["label"] for row in found["rows"]][-1] == "6 attributes"
    assert picture.read_bytes().startswith(b"\x89PNG") and "NOT FOR PUBLICATION" not in shown.output


def test_options_about_data_need_a_spec_and_some_attacks_take_none():
    assert isinstance(run("linkage", "--i-am-the-curator").exception, UsageError)
    with pytest.raises(UsageError, match="of its own making"):
        attack("membership", Terms(subject=bundled("fungus")))
    with pytest.raises(UsageError, match="did you mean 'linkage'"):
        attack("linkages", Terms())


def test_a_shown_attack_has_three_columns_a_bound_and_a_paragraph():
    shown = run("composition", "--runs", "200", "--seed", "shown")
    assert shown.exit_code == 0
    for text in ("exact answers", "each looked at alone", "Margrave's ledger", "bound", "The ledger's rule holds"):
        assert text in shown.output


def test_without_matplotlib_there_is_still_the_table(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = run("composition", "--runs", "50", "--out", tmp_path / "picture.png")
    assert shown.exit_code == 0 and "margrave[study]" in shown.output and list(tmp_path.iterdir()) == []


def test_pictures_of_all_go_to_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "margrave.cli.studies.attack._run", lambda name, *rest: (tmp_path / "all" / name).write_text("")
    )
    assert run("all", "--out", tmp_path / "all").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == sorted(ATTACKS)
    assert isinstance(run("all", "--out", tmp_path / "all").exception, UsageError)


def test_a_picture_has_as_many_panels_as_the_attack():
    found = attack("averaging", Terms(runs=50))
    assert png(found).startswith(b"\x89PNG")
    errors = [row.wrong for row in found.rows]
    assert errors == sorted(errors, reverse=True) and found.cells()[0][1] == "0"


def test_the_earlier_place_of_averaging_still_works():
    from margrave.study import attack as earlier

    with pytest.warns(DeprecationWarning, match="averaging now"):
        assert earlier.averaging is not None
    with pytest.raises(AttributeError):
        earlier.nonsense  # noqa: B018


def test_records_go_to_values_and_back():
    subject = bundled("fungus")
    assert len(subject) == 70 and not subject.confidential
    assert (subject.coded(subject.frame()) == subject.codes).all()
    assert subject.table(["locus_a"]).sum() == 70
    assert subject.only(["locus_b", "locus_a"]).domain.names == ("locus_a", "locus_b")


def test_rejected():
    with pytest.raises(UsageError):
        Terms(epsilon=0)
    with pytest.raises(UsageError):
        Subject(domain_of({"a": ("0",)}), bundled("fungus").codes, "wrong")
    with pytest.raises(UsageError):
        Attack("a", "b", 1, "c", ("x", "y", "z"), (), "", ())
    assert Row.of("a", (1, 2, 3)).bound is None
