"""The commands on finished releases: what they print, and the exit codes that scripts rely on."""

import json
import sys

import pandas as pd
import pytest

import margrave as mg
from margrave.cli.app import main
from margrave.spec.spec import Spec

SMALL = {
    "attributes": {
        "smoke": {"values": ["no", "yes"], "labels": {"no": "does not smoke", "yes": "smokes"}},
        "age": ["young", "middle", "old"],
        "unbiased": ["a", "b"],
    },
    "release": {"tables": [["smoke", "age"], ["age", "unbiased"]], "strategy": "margins"},
    "privacy": {"epsilon": 1},
}


@pytest.fixture(scope="module")
def small():
    rows = [("no", "young", "a")] * 31 + [("yes", "old", "b")] * 17 + [("no", "middle", "b")] * 9
    return mg.release(Spec.from_dict(SMALL), pd.DataFrame(rows, columns=["smoke", "age", "unbiased"]), seed=7)


@pytest.fixture
def folder(small, tmp_path):
    """A bundle to be spoilt."""
    return small.save(tmp_path / "bundle")


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["margrave", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        said = capsys.readouterr()
        return caught.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def spec(tmp_path):
    path = mg.examples.copy("czech", tmp_path)[0]
    path.write_text(path.read_text().replace("[release]", '[release]\nstrategy = "margins"'))
    return path


@pytest.mark.slow
def test_release_writes_a_bundle(run, spec, tmp_path):
    code, said, beside = run("release", spec, "--out", tmp_path / "out")
    assert (code, said) == (0, "")
    assert "margrave verify" in beside
    assert run("verify", tmp_path / "out")[0] == 0
    assert mg.Release.load(tmp_path / "out").private


def test_release_refuses_a_taken_place_before_it_opens_any_data(run, spec, tmp_path):
    (tmp_path / "out").mkdir()
    code, _, beside = run("release", spec, "--out", tmp_path / "out", "--data", tmp_path / "no-such-data.csv")
    assert code == 2
    assert "exists already" in beside


@pytest.mark.slow
def test_show(run, folder):
    code, said, beside = run("show", folder, "age,smoke")
    assert code == 0
    assert "NOT PRIVATE" in beside
    assert "does not smoke" in said
    assert "std_error" in said
    code, said, _ = run("show", folder, "smoke,age", "--json", "--level", "0.9")
    found = json.loads(said)
    assert (found["private"], found["table"], found["level"], len(found["rows"])) == (False, ["smoke", "age"], 0.9, 6)
    code, said, _ = run("show", folder, "smoke", "--csv", "--unbiased")
    assert said.splitlines()[0] == "smoke,count,std_error,low,high"


def test_show_lists_what_there_is(run, folder):
    code, said, beside = run("show", folder)
    assert code == 0
    assert "smoke, age" in said
    assert "Protected is" in said
    assert "NOT PRIVATE" in beside and f"margrave show {folder} " in beside
    assert json.loads(run("show", folder, "--json")[1])["tables"][0]["table"] == ["smoke", "age"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("smok",), 2, "did you mean 'smoke'"),
        (("smoke,unbiased",), 2, "says nothing about smoke, unbiased together"),
        (("smoke", "--json", "--csv"), 2, "not both"),
        (("smoke", "--level", "2"), 2, "between 0 and 1"),
        (("--csv",), 2, "name a table"),
    ],
)
def test_show_says_what_is_wrong(run, folder, arguments, code, text):
    found, _, beside = run("show", folder, *arguments)
    assert found == code
    assert text in beside


@pytest.mark.slow
def test_verify_names_the_first_difference(run, folder):
    code, said, _ = run("verify", folder, "--json")
    assert (code, json.loads(said)["verified"]) == (0, True)
    code, said, _ = run("verify", folder)
    assert "as they were written" in said
    (folder / "cube.csv").unlink()
    code, said, beside = run("verify", folder)
    assert (code, said) == (4, "")
    assert beside == "margrave: cube.csv is missing\n"


def test_no_bundle_is_bad_input_rather_than_a_difference(run, tmp_path):
    for command in ("verify", "show", "report"):
        code, _, beside = run(command, tmp_path / "nothing")
        assert code == 1
        assert "no such folder" in beside


@pytest.mark.slow
def test_report(run, folder, tmp_path, small):
    code, said, _ = run("report", folder)
    assert (code, said.strip()) == (0, str(folder / "report.html"))
    packed = small.save(tmp_path / "out.zip")
    assert run("report", packed)[0] == 2
    code, said, _ = run("report", packed, "--out", tmp_path / "apart.html")
    assert (code, said.strip()) == (0, str(tmp_path / "apart.html"))
    assert (tmp_path / "apart.html").read_bytes() == (folder / "report.html").read_bytes()
    assert run("report", packed, "--out", tmp_path / "apart.html")[0] == 2
    (folder / "report.html").write_text("another")
    assert run("report", folder)[0] == 1


def test_a_saved_release_made_in_python_is_the_same_for_the_commands(run, folder, small):
    shown = json.loads(run("show", folder, "smoke,age", "--json")[1])["rows"]
    wanted = small.table("smoke", "age")
    assert wanted["age"].dtype.ordered and wanted["age"].dtype.categories.tolist() == list(small.domain["age"].values)
    pd.testing.assert_frame_equal(pd.DataFrame(shown), wanted.astype({"smoke": str, "age": str}))


def test_attributes_of_a_table_are_words_or_joined_by_commas(run, folder):
    code, joined, _ = run("show", folder, "smoke,age", "--csv")
    assert code == 0 and run("show", folder, "smoke", "age", "--csv")[1] == joined


def test_a_report_is_a_page_and_no_pdf(run, folder, tmp_path):
    code, _, said = run("report", folder, "--out", tmp_path / "r.pdf")
    assert code != 0 and "r.html" in said and not (tmp_path / "r.pdf").exists()
