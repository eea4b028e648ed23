"""A released graph: its frames, its folder, and the command line."""

import json
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import combinations

import pandas as pd
import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app
from margrave.errors import MargraveError, UsageError
from margrave.publish.graphs import GraphRelease

SPEC = """
title = "Friends"
[data]
source = "friends.csv"
columns = ["one", "other"]
[graph]
nodes = { red = ["ann", "bob", "cid", "dan"], blue = ["eve", "fay", "gus, the 2nd", "hal"] }
degrees = ["ann", "bob", "cid", "dan", "eve"]
[privacy]
epsilon = 4
"""
EDGES = [("ann", "bob"), ("cid", "ann"), ("dan", "eve"), ("eve", "fay"), ("gus, the 2nd", "hal"), ("bob", "eve")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.toml").write_text(SPEC, encoding="utf-8")
    pd.DataFrame(EDGES, columns=["one", "other"]).to_csv(tmp_path / "friends.csv", index=False)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["graph", *words])


def test_the_folder(folder):
    out = mg.release_graph("graph.toml", seed=5)
    out.save("out")
    files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert sorted(files) == ["blocks.csv", "edges.csv", "manifest.json", "nodes.csv", "pairs.csv"]
    manifest = json.loads(files["manifest.json"])
    for name, said in manifest["files"].items():
        assert (said["bytes"], said["sha256"]) == (len(files[name]), sha256(files[name]).hexdigest())
    assert manifest["guarantee"]["cost"] == {"epsilon": "4"} and manifest["private"] is False
    assert manifest["facts"] == [{"fact": "degree", "nodes": 5, "from": "the data, disclosed without protection"}]
    assert [one["l1_sensitivity"] for one in manifest["events"]] == [7, 7]
    assert "friends.csv" not in files["manifest.json"].decode()
    edges = pd.read_csv(folder / "out" / "edges.csv")
    pd.testing.assert_frame_equal(edges, out.edges(), check_dtype=False)
    nodes = pd.read_csv(folder / "out" / "nodes.csv")
    assert nodes["degree"].isna().sum() == 3 and "gus, the 2nd" in set(nodes["node"])


def test_a_simple_graph_with_the_public_degrees_and_its_block_table(folder):
    out = mg.release_graph("graph.toml", seed=1)
    edges = [frozenset(edge) for edge in out.edges().itertuples(index=False, name=None)]
    assert len(set(edges)) == len(edges) and all(len(edge) == 2 for edge in edges)
    nodes = out.nodes().set_index("node")
    for name, degree in nodes["degree"].dropna().items():
        assert degree == sum(name in edge for edge in edges) == sum(name in pair for pair in EDGES)
    blocks = out.blocks()
    assert blocks["edges"].sum() == len(edges)
    assert blocks["pairs"].sum() == len(list(combinations(nodes.index, 2))) == len(out.pairs())
    for row in blocks.itertuples():
        groups = [sorted(nodes.loc[list(edge), "group"]) for edge in edges]
        assert row.edges == groups.count(sorted([row.one_group, row.other_group]))
    assert 2 * blocks["count"][0] + blocks["count"][1] == pytest.approx(nodes["degree"][:4].sum())


def test_without_edges(folder):
    spec = replace(mg.GraphSpec.load("graph.toml"), edges=Fraction(0))
    out = mg.release_graph(spec, "friends.csv")
    assert out.private and "edges" not in out.blocks() and out.manifest()["graph"] is None
    for ask in (out.edges, out.pairs):
        with pytest.raises(UsageError, match=r"release.edges = 0.5"):
            ask()
    out.save("blocks")
    assert sorted(path.name for path in (folder / "blocks").iterdir()) == ["blocks.csv", "manifest.json", "nodes.csv"]


def test_a_graph_not_found_in_time_is_left_out(folder, monkeypatch):
    out = mg.release_graph("graph.toml", seed=1)
    monkeypatch.setitem(out.__dict__, "nearest", None)
    assert out.manifest()["graph"] == {"found": False}
    with pytest.raises(UsageError, match="was found in time"):
        out.edges()
    out.save("left")
    assert not (folder / "left" / "edges.csv").exists()


def test_directed(folder):
    text = SPEC.replace("[graph]", "[graph]\ndirected = true").replace("degrees = [", "out_degrees = [")
    out = mg.release_graph(mg.GraphSpec.load(text), "friends.csv", seed=2)
    assert list(out.blocks().columns[:2]) == ["from_group", "to_group"] and len(out.blocks()) == 4
    sent = out.edges()["from_node"].value_counts()
    for name, degree in out.nodes().set_index("node")["out_degree"].dropna().items():
        assert degree == sent.get(name, 0)


def test_saved_as_a_whole_or_not_at_all(folder, monkeypatch):
    out = mg.release_graph("graph.toml", seed=5)
    monkeypatch.setattr(GraphRelease, "manifest", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        out.save("out")
    assert sorted(path.name for path in folder.iterdir()) == ["friends.csv", "graph.toml"]


def test_the_command_line(folder):
    shown = run("plan", "graph.toml")
    assert shown.exit_code == 0 and "cost ε = 4" in shown.output and "at most 7 edges" in shown.output
    plan = json.loads(run("plan", "graph.toml", "--json").stdout)
    assert plan["sensitivity"] == 7 and plan["cost"] == {"epsilon": "4"} and plan["warnings"]
    assert run("release", "graph.toml", "--out", "out").exit_code == 0
    assert json.loads((folder / "out" / "manifest.json").read_text(encoding="utf-8"))["private"] is True
    again = run("release", "graph.toml", "--out", "out")
    assert isinstance(again.exception, UsageError) and "exists already" in str(again.exception)
    printed = run("release", "graph.toml", "--seed", "3")
    assert "NOT PRIVATE" in printed.output and "one_group" in printed.output
    found = json.loads(run("release", "graph.toml", "--seed", "3", "--json").stdout)
    assert len(found["blocks"]) == 3 and len(found["edges"]) == found["graph"]["edges"]


def test_data_that_is_not_there(folder):
    with pytest.raises(MargraveError, match="does not exist"):
        mg.release_graph("graph.toml", "nowhere.csv")
    with pytest.raises(UsageError, match="no data is named"):
        mg.release_graph(mg.GraphSpec.load(SPEC.replace('source = "friends.csv"', "")))
