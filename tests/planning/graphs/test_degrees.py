"""Which degrees a simple graph can have, against all small graphs."""

from itertools import product

import pytest

from margrave.errors import SpecError, UsageError
from margrave.planning.graphs.degrees import KnownDegrees, contradiction
from margrave.planning.graphs.spec import GraphSpec
from tests.planning.graphs.graphs import all_graphs, degree_rows, graph_spec


def possible_degrees(spec):
    """The public degrees of all graphs."""
    return {tuple(row) for row in (all_graphs(spec) @ degree_rows(spec).T).tolist()}


@pytest.mark.parametrize(("nodes", "known"), [(2, 2), (3, 2), (4, 1), (4, 2), (4, 3), (4, 4), (5, 3), (5, 4), (5, 5)])
def test_undirected(nodes, known):
    possible = possible_degrees(graph_spec("x" * nodes, known={"degree": range(known)}))
    for degrees in product(range(nodes), repeat=known):
        found = contradiction(nodes, [KnownDegrees("degree", tuple(range(known)), degrees)])
        assert (found is None) == (degrees in possible), degrees


@pytest.mark.parametrize(
    "known", [((0, 1), (0, 1, 2)), ((0,), (1, 2)), ((0, 1, 2), (0, 1, 2)), ((2,), ()), ((1,), (1,))]
)
def test_directed(known):
    out, into = known
    facts = {side: which for side, which in (("out_degree", out), ("in_degree", into)) if which}
    possible = possible_degrees(graph_spec("xxx", directed=True, known=facts))
    for degrees in product(range(3), repeat=len(out) + len(into)):
        given = [KnownDegrees("out_degree", out, degrees[: len(out)])]
        given += [KnownDegrees("in_degree", into, degrees[len(out) :])] if into else []
        assert (contradiction(3, given) is None) == (degrees in possible), degrees


@pytest.mark.slow
def test_directed_graphs_of_four_nodes():
    possible = possible_degrees(
        graph_spec("xxxx", directed=True, known={"out_degree": range(4), "in_degree": (0, 1, 2)})
    )
    for degrees in product(range(4), repeat=7):
        given = [
            KnownDegrees("out_degree", (0, 1, 2, 3), degrees[:4]),
            KnownDegrees("in_degree", (0, 1, 2), degrees[4:]),
        ]
        assert (contradiction(4, given) is None) == (degrees in possible), degrees


def test_the_broken_condition_is_named():
    def said(count, **sides):
        return contradiction(count, [KnownDegrees(side, tuple(range(len(d))), d) for side, d in sides.items()])

    assert "add up to 5, which is odd" in said(4, degree=(2, 1, 1, 1))
    assert "the 2 largest add up to 6, and given the others at most 4" in said(4, degree=(3, 3, 1, 1))
    assert "Erdős and Gallai" in said(4, degree=(3, 3, 1, 1))
    assert "Gale and Ryser" in said(3, out_degree=(2, 2, 2), in_degree=(2, 2, 0))
    assert "from 0 to 3" in said(4, degree=(4,))
    assert contradiction(4, [KnownDegrees("degree", (0, 1))]) is None


def test_given_degrees_are_not_mixed_with_those_of_the_data():
    given, read = KnownDegrees("out_degree", (0, 1), (1, 1)), KnownDegrees("in_degree", (0, 1))
    for known in ((given, read), (KnownDegrees("out_degree", (0,)), KnownDegrees("in_degree", (0,), (1,)))):
        assert "give both, or none" in contradiction(3, known)
    graph = {"directed": True, "nodes": ["a", "b", "c"], "out_degrees": {"a": 1}, "in_degrees": "all"}
    with pytest.raises(SpecError, match="in-degrees are read from the data, and the others are given"):
        GraphSpec.load({"graph": graph, "privacy": {"epsilon": 1}})


@pytest.mark.parametrize(
    "arguments", [("degree", ()), ("degree", (1, 1)), ("sideways", (1,)), ("degree", (1,), (1, 2))]
)
def test_rejected(arguments):
    with pytest.raises(UsageError):
        KnownDegrees(*arguments)
