"""The spec of a graph as JSON: exact in both directions, and nothing else is read."""

import json
from fractions import Fraction

import pytest

from margrave.budget.units import ZCDP
from margrave.errors import MargraveError, UsageError
from margrave.planning.graphs.degrees import KnownDegrees
from margrave.planning.graphs.nodes import Nodes
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.graphs.written import spec_from_json, spec_json
from tests.planning.graphs.graphs import graph_spec

NODES = Nodes.of([("ann", "red"), ("bob", "blue"), ("cid", "red"), ("dan", "blue")])


@pytest.mark.parametrize(
    "spec",
    [
        graph_spec("aab"),
        graph_spec("abab", directed=True, known={"out_degree": (0, 2), "in_degree": (1,)}),
        GraphSpec(
            NODES, ZCDP(Fraction(1, 3)), False, (KnownDegrees("degree", (1, 3), (1, 2)),), Fraction(0), title="x"
        ),
    ],
)
def test_what_is_written_is_read_again(spec):
    assert spec_from_json(json.loads(json.dumps(spec_json(spec)))) == spec


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said["graph"].pop("groups"),
        lambda said: said["graph"].update(directed="no"),
        lambda said: said["graph"].update(nodes="ann"),
        lambda said: said["graph"]["nodes"].__setitem__(0, 1),
        lambda said: said["graph"]["group_of"].__setitem__(0, 7),
        lambda said: said["graph"]["group_of"].__setitem__(0, 0.0),
        lambda said: said["graph"]["degrees"][0].update(nodes=[9]),
        lambda said: said["graph"]["degrees"][0].update(side="weight"),
        lambda said: said["graph"]["degrees"][0].update(values=[True, True]),
        lambda said: said["release"].update(edges="1"),
        lambda said: said["privacy"].update(delta="1/10"),
        lambda said: said.update(title=None),
    ],
)
def test_nothing_else_is_read(change):
    said = spec_json(graph_spec("aab", known={"degree": (0, 1)}))
    change(said)
    with pytest.raises((MargraveError, KeyError, TypeError)):
        spec_from_json(said)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 1001])
def test_names_that_no_file_can_hold_are_refused_before_anything_is_spent(name):
    with pytest.raises(UsageError, match="a node or a group"):
        GraphSpec(Nodes.of([("ann", "red"), (name, "red")]), ZCDP(Fraction(1)))
