"""A released graph: its tables, its earlier names, and the command line, which is that of every release."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app
from margrave.errors import MargraveError, UsageError
from margrave.publish.graphs.release import GraphRelease
from tests.publish.graphs.friends import EDGES, SPEC


def run(*words):
    return CliRunner().invoke(app, [*words])


def test_a_simple_graph_with_the_public_degrees_and_its_block_table(friends):
    out = mg.release("graph.toml", seed=1)
    edges = [frozenset(edge) for edge in out.edges().itertuples(index=False, name=None)]
    assert len(set(edges)) == len(edges) and all(len(edge) == 2 for edge in edges)
    nodes = out.nodes().set_index("node")
    for name, degree in nodes["degree"].dropna().items():
        assert degree == sum(name in edge for edge in edges) == sum(name in pair for pair in EDGES)
    blocks = out.blocks()
    assert blocks["edges"].sum() == len(edges) == out.pairs()["edge"].sum()
    assert blocks["pairs"].sum() == len(list(combinations(nodes.index, 2))) == len(out.pairs())
    for row in blocks.itertuples():
        groups = [sorted(nodes.loc[list(edge), "group"]) for edge in edges]
        assert row.edges == groups.count(sorted([row.one_group, row.other_group]))
    assert 2 * blocks["count"][0] + blocks["count"][1] == pytest.approx(nodes["degree"][:4].sum())


def test_without_edges(friends):
    spec = replace(mg.GraphSpec.load("graph.toml"), edges=Fraction(0))
    out = mg.release(spec, "friends.csv")
    assert out.private and "edges" not in out.blocks()
    for ask in (out.edges, out.pairs):
        with pytest.raises(UsageError, match=r"release.edges = 0.5"):
            ask()


def test_a_graph_not_found_in_time_is_left_out(friends, monkeypatch):
    monkeypatch.setattr("margrave.publish.graphs.release.nearest_graph", lambda *_: None)
    out = mg.release("graph.toml", seed=1)
    with pytest.raises(UsageError, match="was found in time"):
        out.edges()
    assert "edge" not in out.pairs()


def test_directed(friends):
    text = SPEC.replace("[graph]", "[graph]\ndirected = true").replace("degrees = [", "out_degrees = [")
    out = mg.release(mg.GraphSpec.load(text), "friends.csv", seed=2)
    assert list(out.blocks().columns[:2]) == ["from_group", "to_group"] and len(out.blocks()) == 4
    sent = out.edges()["from_node"].value_counts()
    for name, degree in out.nodes().set_index("node")["out_degree"].dropna().items():
        assert degree == sent.get(name, 0)


def test_a_release_says_what_it_is_and_not_where_its_data_was(friends):
    out = mg.release("graph.toml", seed=1)
    assert repr(out) == "GraphRelease(8 nodes, ε = 4, NOT PRIVATE: the noise comes from a seed)"
    assert out.plan.spec.data.source is None


def test_earlier_names_still_work_and_say_that_they_are(friends):
    with pytest.warns(DeprecationWarning, match="plan_graph is now called plan"):
        plan = mg.plan_graph("graph.toml")
    assert plan == mg.plan("graph.toml")
    with pytest.warns(DeprecationWarning, match="release_graph is now called release"):
        out = mg.release_graph(plan, "friends.csv", seed=3)
    assert isinstance(out, GraphRelease)
    assert out.blocks().equals(mg.release(plan, "friends.csv", seed=3).blocks())
    shown = run("graph", "plan", "graph.toml")
    assert shown.exit_code == 0 and "is now 'margrave plan'" in shown.output
    released = run("graph", "release", "graph.toml", "--out", "out")
    assert released.exit_code == 0 and "is now 'margrave release'" in released.output
    assert mg.Release.load("out").private


@pytest.mark.slow
def test_the_command_line_is_that_of_every_release(friends):
    shown = run("plan", "graph.toml")
    assert shown.exit_code == 0 and "cost ε = 4" in shown.output and "at most 7 edges" in shown.output
    plan = json.loads(run("plan", "graph.toml", "--json").stdout)
    assert plan["sensitivity"] == 7 and plan["cost"] == {"epsilon": "4"} and plan["warnings"]
    assert isinstance(run("plan", "graph.toml", "--sweep", "1,2").exception, UsageError)
    assert run("release", "graph.toml", "--out", "out").exit_code == 0
    again = run("release", "graph.toml", "--out", "out")
    assert isinstance(again.exception, UsageError) and "exists already" in str(again.exception)
    printed = run("release", "graph.toml", "--seed", "3")
    assert "NOT PRIVATE" in printed.output and "one_group" in printed.output
    found = json.loads(run("release", "graph.toml", "--seed", "3", "--json").stdout)
    assert [one["table"] for one in found["tables"]] == [["blocks"], ["edges"]]
    assert run("verify", "out").exit_code == 0 and "has the public degrees" in run("verify", "out").output
    contents = run("show", "out")
    assert contents.exit_code == 0 and "8 nodes, ε = 4" in contents.output and "red, blue" in contents.output
    told = json.loads(run("show", "out", "--json").stdout)
    assert told["private"] is True and told["guarantee"]["cost"] == {"epsilon": "4"}
    assert run("show", "out", "nodes", "--csv").stdout.splitlines()[0] == "node,group,degree"
    for words, text in ((("weights",), "has the tables"), (("blocks", "--unbiased"), "leave out --unbiased")):
        assert text in str(run("show", "out", *words).exception)
    assert run("report", "out").stdout.strip().endswith("report.html")
    assert run("report", "out", "--out", "anew.html").exit_code == 0
    assert (friends / "anew.html").read_bytes() == (friends / "out" / "report.html").read_bytes()


def test_data_that_is_not_there(friends):
    with pytest.raises(MargraveError, match="does not exist"):
        mg.release("graph.toml", "nowhere.csv")
    with pytest.raises(UsageError, match="no data is named"):
        mg.release(mg.GraphSpec.load(SPEC.replace('source = "friends.csv"', "")))


def test_a_graph_and_its_plan_look_like_something_in_a_notebook_and_in_a_terminal(friends):
    out = mg.release("graph.toml", seed=1)
    plan, seen = out.plan._repr_html_(), out._repr_html_()
    assert "<table>" in plan and "<table>" in seen and "What the words mean" in plan and "What the words mean" in seen
    assert "NOT PRIVATE" in seen and out.plan.words()[0].split(" ")[0] in seen
    assert all(sheet.title in repr(out.plan) for sheet in out.plan.sheets())
    assert out.plan.words()[0] in repr(out.plan)
    assert "object at 0x" not in repr(out.plan) and "GraphSpec(" not in repr(out.plan)
