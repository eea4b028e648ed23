"""The commands of a local collection, from the spec to the verified bundle."""

import json
from threading import Event, Thread

import numpy as np
import pytest
from typer.testing import CliRunner

from margrave.cli.app import app
from margrave.errors import DataError, MargraveError, UsageError
from margrave.local.memory import Memory
from margrave.local.simulate import simulate_lines
from margrave.noise import Generator
from margrave.planning.local.plan import make_local_plan
from margrave.planning.local.spec import LocalSpec

TEXT = """
title = "Survey"
[attributes]
smoke = { values = ["no", "yes"], title = "Do you smoke?" }
region = ["north", "south", "east"]
[release]
all = 2
[privacy]
epsilon = 1
[local]
expected_size = 3000
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(TEXT, encoding="utf-8")
    plan = make_local_plan(LocalSpec.load(TEXT))
    codes = np.random.default_rng(1).integers(0, 2, (3000, 2))
    (tmp_path / "reports.txt").write_bytes(b"\n".join(simulate_lines(plan, codes, Generator.seeded(1))))
    return tmp_path


def run(*words, error=None):
    done = CliRunner().invoke(app, list(words))
    if error is None:
        assert done.exit_code == 0, done.output
    else:
        assert isinstance(done.exception, error), done.output
    return done.stdout


@pytest.mark.slow
def test_a_collection_from_the_plan_to_the_verified_bundle(place):
    assert "likelihood ratio at most 2.718" in run("plan", "spec.toml")
    assert json.loads(run("plan", "spec.toml", "--json"))["way"] == "local"
    assert "Refused" not in run("local", "collect", "spec.toml", "reports.txt", "--out", "kept.json")
    run("release", "spec.toml", "--data", "kept.json", "--out", "out")
    assert "3,000 reports" in run("show", "out")
    assert "yes" in run("show", "out", "smoke,region")
    assert "error" in run("show", "out", "smoke", "--unbiased", "--level", "0.9")
    assert "follow from the sums of 3,000 reports" in run("verify", "out")
    assert "report.html" in run("report", "out")
    assert json.loads(run("local", "collect", "spec.toml", "reports.txt", "--json"))["reports"] == 3000


def test_a_release_that_nobody_keeps_is_refused_without_a_word_about_a_budget(place):
    done = CliRunner().invoke(app, ["release", "spec.toml", "--data", "reports.txt"])
    assert "nothing would be kept of what was collected: name a place with --out" in str(done.exception)
    assert "budget" not in str(done.exception)


def test_a_target_is_told_in_respondents(place):
    done = CliRunner().invoke(app, ["plan", "spec.toml", "--target", "0.02@95%"])
    assert "bring the share of each cell of each wanted table this near" in done.output


def test_a_report_is_made_once(place):
    answers = ["--answer", "smoke=yes", "--answer", "region=east", "--memory", "memory.json"]
    first = run("local", "encode", "spec.toml", *answers, "--token", "my-own-token")
    assert first.strip().endswith("my-own-token")
    other = ["--answer", "smoke=no", "--answer", "region=north", "--memory", "memory.json"]
    assert first.strip() in run("local", "encode", "spec.toml", *other)
    (place / "spec.toml").write_text(TEXT.replace("Survey", "Another title").replace("epsilon = 1", "epsilon = 3"))
    assert first.strip() in run("local", "encode", "spec.toml", *other)
    assert "yes" not in (place / "memory.json").read_text(encoding="utf-8")
    (place / "one.txt").write_text(first, encoding="utf-8")
    (place / "spec.toml").write_text(TEXT, encoding="utf-8")
    assert json.loads(run("local", "collect", "spec.toml", "one.txt", "--json"))["reports"] == 1


def test_wrong_answers_are_refused_and_nothing_is_remembered(place):
    run("local", "encode", "spec.toml", "--answer", "smoke", "--memory", "memory.json", error=UsageError)
    run("local", "encode", "spec.toml", "--answer", "smoke=yes", "--memory", "memory.json", error=UsageError)
    assert not (place / "memory.json").exists()


def test_a_damaged_memory_is_not_written_over(place):
    (place / "memory.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="not the memory"):
        Memory(place / "memory.json").recall(make_local_plan(LocalSpec.load(TEXT)))


def test_of_two_reports_made_at_the_same_time_one_is_given_twice(place):
    plan, memory = make_local_plan(LocalSpec.load(TEXT)), Memory(place / "memory.json")
    started, others = Event(), []

    def make():
        other = Thread(target=lambda: others.append((started.set(), memory.once(plan, lambda: "another"))[1]))
        other.start()
        assert started.wait(30)
        other.join(0.1)
        made.append(other)
        return "one"

    made = []
    assert memory.once(plan, make) == "one"
    made[0].join(30)
    assert others == [memory.recall(plan)] == ["one"]


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said | {"tallies": [[10**6] * len(one) for one in said["tallies"]]},
        lambda said: said | {"tallies": [[0.5] * len(one) for one in said["tallies"]]},
        lambda said: said | {"reports": [-1 for _ in said["reports"]]},
        lambda said: said | {"reports": [count + 0.5 for count in said["reports"]]},
    ],
)
def test_sums_that_no_reports_have_are_refused(place, change):
    run("local", "collect", "spec.toml", "reports.txt", "--out", "kept.json")
    said = json.loads((place / "kept.json").read_text(encoding="utf-8"))
    (place / "changed.json").write_text(json.dumps(change(said)), encoding="utf-8")
    run("release", "spec.toml", "--data", "changed.json", "--out", "out", error=MargraveError)


def test_a_file_of_brackets_is_refused(place):
    (place / "deep.json").write_text('{"a":' + "[" * 100_000, encoding="utf-8")
    run("release", "spec.toml", "--data", "deep.json", "--out", "out", error=DataError)


def test_the_state_folder_is_the_default(place, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    assert Memory().path == place / "state" / "margrave" / "reports.json"


def test_files_of_another_plan_or_of_none_are_refused(place):
    run("local", "collect", "spec.toml", "reports.txt", "--out", "kept.json")
    (place / "other.toml").write_text(TEXT.replace("epsilon = 1", "epsilon = 2"), encoding="utf-8")
    run("release", "other.toml", "--data", "kept.json", "--out", "out", error=DataError)
    (place / "bad.json").write_text('{"format": 1}', encoding="utf-8")
    run("release", "spec.toml", "--data", "bad.json", "--out", "out", error=DataError)


def test_tokens_are_handed_out_and_all_others_refused(place):
    run("local", "tokens", "spec.toml", "--count", "40", "--out", "tokens.txt", "--issued", "issued.txt")
    tokens = (place / "tokens.txt").read_text(encoding="utf-8").split()
    answers = ["--answer", "smoke=yes", "--answer", "region=east"]
    own = [
        run("local", "encode", "spec.toml", *answers, "--token", token, "--memory", f"memory-{token}/m.json")
        for token in (tokens[0], tokens[1], "nobody-gave-me-this")
    ]
    (place / "own.txt").write_text("".join(own), encoding="utf-8")
    found = json.loads(run("local", "collect", "spec.toml", "own.txt", "--issued", "issued.txt", "--json"))
    assert (found["reports"], found["refused"]) == (2, {"token never issued": 1})
    run("local", "tokens", "spec.toml", "--count", "2", "--out", "tokens.txt", "--issued", "x.txt", error=UsageError)


def test_a_collection_goes_on_in_one_file(place):
    lines = (place / "reports.txt").read_text(encoding="utf-8").split("\n")
    (place / "first.txt").write_text("\n".join(lines[:2000]), encoding="utf-8")
    run("local", "collect", "spec.toml", "first.txt", "--into", "all.json")
    assert "Refused, token used before: 2,000." in run(
        "local", "collect", "spec.toml", "reports.txt", "--into", "all.json"
    )
    assert json.loads(run("local", "collect", "spec.toml", "all.json", "--json"))["reports"] == 3000
    run("local", "collect", "spec.toml", "first.txt", "--into", "x.json", "--out", "y.json", error=UsageError)


def test_a_page_is_written_once(place):
    run("local", "page", "spec.toml", "--out", "page.html")
    assert "Do you smoke?" in (place / "page.html").read_text(encoding="utf-8")
    run("local", "page", "spec.toml", "--out", "page.html", error=UsageError)
    run("local", "page", "spec.toml", "--out", "other.html", "--post", "ftp://x", error=UsageError)
