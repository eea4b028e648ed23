"""Reading the spec of a graph: every problem at once, with its line."""

from dataclasses import replace
from fractions import Fraction

import pytest

import margrave as mg
from margrave.budget.units import ZCDP, PureDP
from margrave.errors import SpecError, UsageError
from margrave.planning.graphs.degrees import KnownDegrees
from margrave.planning.graphs.nodes import Nodes
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.graphs.written import spec_json
from tests.planning.graphs.graphs import graph_spec

GOOD = """
title = "Friends"
[data]
source = "friends.csv"
columns = ["one", "other"]
[graph]
nodes = { red = ["ann", "bob"], blue = ["cid", 4, "eve"] }
degrees = { ann = 2, cid = 1 }
[release]
edges = 0.25
[privacy]
epsilon = 0.1
"""


def problems(text):
    with pytest.raises(SpecError) as error:
        mg.GraphSpec.load(text)
    return str(error.value)


def test_a_spec():
    spec = mg.GraphSpec.load(GOOD)
    assert spec.nodes == Nodes(("ann", "bob", "cid", "4", "eve"), ("red", "blue"), (0, 0, 1, 1, 1))
    assert spec.known == (KnownDegrees("degree", (0, 2), (2, 1)),)
    assert spec.budget == PureDP(Fraction(1, 10)) and spec.edges == Fraction(1, 4)
    assert spec.data.columns == ("one", "other") and not spec.directed and spec.title == "Friends"
    assert "friends.csv" not in str(spec_json(spec)) + repr(spec)


def test_a_mapping_and_the_defaults():
    graph = {"directed": True, "nodes": ["a", "b", "c"], "out_degrees": "all", "in_degrees": ["c", "a"]}
    spec = mg.GraphSpec.load({"graph": graph, "privacy": {"rho": 1}})
    assert spec.known == (KnownDegrees("out_degree", (0, 1, 2)), KnownDegrees("in_degree", (0, 2)))
    assert spec.nodes.groups == ("all",) and spec.data.location is None and spec.budget == ZCDP(Fraction(1))


def test_nodes_in_a_file(tmp_path):
    (tmp_path / "nodes.csv").write_text("node,group,degree\nann,red,1\nbob,red,\n cid ,blue,2\n", encoding="utf-8")
    (tmp_path / "graph.toml").write_text('[graph]\nnodes = "nodes.csv"\n[privacy]\nepsilon = 1\n', encoding="utf-8")
    spec = mg.GraphSpec.load(tmp_path / "graph.toml")
    assert spec.nodes.names == ("ann", "bob", "cid") and spec.known == (KnownDegrees("degree", (0, 2), (1, 2)),)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("group,degree\nred,1\n", "needs the column 'node'"),
        ("node,colour\nann,1\n", "needs the column 'node'"),
        ("node,degree\nann,x\nbob,1\n", "line 2: degree must be a whole number"),
        ("node,group\nann,red\n,red\n", "line 3: a node needs a name"),
        ("node\nann\nann\n", "more than once: 'ann'"),
        ("node\nann\n", "from 2 to 4000 nodes, not 1"),
        ('node\n"ann\n', "is not a CSV file"),
        ("node,in_degree\nann,1\nbob,1\n", "an undirected graph has no in_degrees"),
        ("node,degree\nann,1\nbob,0\n", "which is odd"),
        ("", "needs the column 'node'"),
    ],
)
def test_a_bad_file_of_nodes(tmp_path, content, said):
    (tmp_path / "nodes.csv").write_text(content, encoding="utf-8")
    (tmp_path / "graph.toml").write_text('[graph]\nnodes = "nodes.csv"\n[privacy]\nepsilon = 1\n', encoding="utf-8")
    assert said in problems(tmp_path / "graph.toml")


def test_a_missing_file_of_nodes(tmp_path):
    (tmp_path / "graph.toml").write_text('[graph]\nnodes = "nodes.csv"\n[privacy]\nepsilon = 1\n', encoding="utf-8")
    assert "nodes.csv: no such file" in problems(tmp_path / "graph.toml")


@pytest.mark.parametrize(
    ("line", "by", "said"),
    [
        ("epsilon = 0.1", "epsilon = 1\ndelta = 1e-6", "line 11, privacy: a graph release needs epsilon alone, or rho"),
        ("edges = 0.25", "edges = 1", "line 10, release.edges: is a share"),
        ('["one", "other"]', '["one"]', "line 5, data.columns: must name two different columns"),
        ("ann = 2", "anne = 2", "line 8, graph.degrees: 'anne' is not a node: did you mean 'ann'?"),
        ("ann = 2", "ann = 5", "a degree must be a whole number from 0 to 4"),
        ("degrees = {", "in_degrees = {", "an undirected graph has no in_degrees: it has degrees"),
        ('red = ["ann", "bob"]', "red = []", "line 7, graph.nodes.red: a group needs at least one node"),
        ('"eve"', '"ann"', "more than once: 'ann'"),
        ("nodes =", "knots =", "unknown key 'knots'"),
        ("degrees = { ann = 2, cid = 1 }", "degrees = 3", 'must be "all", a list of nodes'),
        ("[privacy]\nepsilon = 0.1", "", "the section [privacy] is missing"),
    ],
)
def test_problems(line, by, said):
    assert line in GOOD
    assert said in problems(GOOD.replace(line, by))


def test_rejected_values():
    spec = graph_spec("xxyy")
    for change in (
        {"edges": Fraction(1)},
        {"known": (KnownDegrees("in_degree", (0,)),)},
        {"known": (KnownDegrees("degree", (7,)),)},
        {"known": (KnownDegrees("degree", (0,)), KnownDegrees("degree", (1,)))},
        {"known": (KnownDegrees("degree", (0, 1, 2, 3), (1, 0, 0, 0)),)},
    ):
        with pytest.raises(UsageError):
            replace(spec, **change)
    for arguments in ((("a",), ("g",), (0,)), (("a", "a"), ("g",), (0, 0)), (("a", "b"), ("g", "h"), (0, 0))):
        with pytest.raises(UsageError):
            Nodes(*arguments)
    assert isinstance(spec, GraphSpec)
