"""``margrave risk``: of a spec and of a release, without data."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app
from tests.planning.join.example import changed


def run(*words):
    return CliRunner().invoke(app, ["risk", *map(str, words)])


@pytest.mark.slow
def test_a_spec_and_its_release_have_the_same_limits(tmp_path):
    spec = mg.examples.path("fungus")
    mg.release(spec, seed="risk").save(tmp_path / "out")
    planned, released = (json.loads(run(path, "--json").stdout) for path in (spec, tmp_path / "out"))
    assert planned == released
    assert planned["membership_advantage"] == pytest.approx(0.4621, abs=1e-3)


GRAPH = """
[data]
source  = "edges.csv"
columns = ["one", "other"]
[graph]
directed = false
nodes    = { red = ["ann", "bob", "cid"], blue = ["dan", "eve"] }
[release]
edges = 0.5
[privacy]
epsilon = 1
"""
LOCAL = """
[attributes]
smoke = { values = ["no", "yes"] }
[release]
all = 1
[privacy]
epsilon = 1
[local]
expected_size = 20000
"""


def written(tmp_path, text):
    path = tmp_path / "spec.toml"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_of_a_graph_it_speaks_of_edges_and_an_edge_is_one_step(tmp_path):
    found = json.loads(run(written(tmp_path, GRAPH), "--json").stdout)
    (tmp_path / "edges.csv").write_text("one,other\nann,bob\ncid,dan\n")
    mg.release(tmp_path / "spec.toml", seed="risk").save(tmp_path / "out")
    assert json.loads(run(tmp_path / "out", "--json").stdout) == found
    assert [round(one["after"], 3) for one in found["limits"] if one["attack"] != "membership"] == [0.731, 0.731, 0.961]
    said = " ".join([*(one["words"] for one in found["limits"]), *found["words"]])
    assert "an edge" in said and "not about a node" in said
    assert not {"person", "people", "smokers"} & set(said.split())
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert 'id="risk"' in page and all(one["words"] in page for one in found["limits"])


@pytest.mark.slow
def test_of_a_graph_with_public_degrees_it_speaks_of_steps_and_says_what_has_no_limit(tmp_path):
    shown = run(written(tmp_path, GRAPH.replace("[release]", 'degrees = ["ann"]\n[release]')))
    assert "two graphs, a step apart" in shown.output and "reconstruction" not in shown.output
    assert "What follows from the degrees has no limit" in " ".join(shown.output.split())


@pytest.mark.slow
def test_of_a_local_collection_no_limit_on_membership_is_stated(tmp_path):
    found = json.loads(run(written(tmp_path, LOCAL), "--json").stdout)
    assert found["membership_advantage"] is None and found["limits"][0]["after"] == pytest.approx(0.7311, abs=1e-4)
    assert any("the collector too" in sentence for sentence in found["words"])


@pytest.mark.slow
def test_bundles_of_every_way_are_recognised_by_a_fresh_program(tmp_path):
    (tmp_path / "edges.csv").write_text("one,other\nann,bob\n")
    mg.release(written(tmp_path, GRAPH), seed="risk").save(tmp_path / "out")
    words = [sys.executable, "-m", "margrave", "risk", str(tmp_path / "out")]
    assert "edges" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_it_is_said_in_words():
    shown = run(mg.examples.path("czech"))
    assert shown.exit_code == 0
    assert "at most 88.1 % are told rightly: at least 11.9 % are wrong." in shown.output
    assert "not about what can be learnt of people in general" in shown.output


@pytest.mark.slow
def test_a_join_is_told_by_the_owner_who_protects_least(tmp_path):
    shown = run(written(tmp_path, changed(("at_most = 3000", 'at_most = 3000\nneighbours = "replace"'))), "--json")
    found = json.loads(shown.stdout)
    assert shown.exit_code == 0 and {one["attack"] for one in found["limits"]} >= {"reconstruction", "linkage"}
    assert all(one["before"] <= one["after"] <= 1 for one in found["limits"])
