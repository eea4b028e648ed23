"""Reading a graph: what is refused, without a word of it; and noise that is neither too small nor too large."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import DataError, SpecError
from margrave.measure.graphs import measure_graph
from margrave.noise import Generator
from margrave.planning.graphs.degrees import KnownDegrees
from margrave.planning.graphs.plan import make_graph_plan
from margrave.planning.graphs.shape import blocks_of, pairs_of
from margrave.planning.graphs.spec import GraphSpec
from tests.measure.test_canary import WORD, silent
from tests.planning.graphs.graphs import graph_spec

CLEAR = PureDP(Fraction(10**6))
"""So large a budget that the noise is zero."""


def frame(*edges):
    return pd.DataFrame(edges, columns=["from", "to"], dtype=object)


def clear(spec, data):
    return measure_graph(make_graph_plan(replace(spec, budget=CLEAR)), data, Generator.seeded("clear"))


def test_edges_in_either_direction_of_an_undirected_graph():
    spec = graph_spec("xxyy", known={"degree": (0, 2)})
    measured = clear(spec, frame(("v1", "v0"), ("v1", "v2"), ("v3", "v0")))
    pairs = list(zip(*(end.tolist() for end in pairs_of(spec)), strict=True))
    assert [pair for pair, edge in zip(pairs, measured.pairs, strict=True) if edge] == [(0, 1), (0, 3), (1, 2)]
    assert dict(zip(blocks_of(spec)[0], measured.blocks.tolist(), strict=True)) == {(0, 0): 1, (0, 1): 2, (1, 1): 0}
    assert measured.degrees["degree"].tolist() == [2, 1]


def test_directed_edges_both_ways_are_two():
    spec = graph_spec("xxy", directed=True, known={"out_degree": (0, 1, 2), "in_degree": (2,)})
    measured = clear(spec, frame(("v0", "v1"), ("v1", "v0"), ("v0", "v2")))
    counts = dict(zip(blocks_of(spec)[0], measured.blocks.tolist(), strict=True))
    assert counts == {(0, 0): 2, (0, 1): 1, (1, 0): 0}
    assert measured.degrees["out_degree"].tolist() == [2, 1, 0] and measured.degrees["in_degree"].tolist() == [1]


def test_a_graph_without_edges():
    assert not clear(graph_spec("xxyy"), frame()).pairs.any()


def test_given_degrees_are_never_compared_with_the_data():
    spec = replace(graph_spec("xxyy"), known=(KnownDegrees("degree", (0, 1), (2, 2)),))
    assert clear(spec, frame(("v2", "v3"))).degrees["degree"].tolist() == [2, 2]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([("v0", WORD), ("v1", WORD), (WORD, "v1")], "column 'to' must name a node: 2 records break this"),
        ([("v0", None)], "column 'to' must name a node: 1 record breaks this"),
        ([("v0", "v0"), ("v1", "v2")], "must name two different nodes: 1 record breaks this; remove the loops"),
        ([("v0", "v1")] * 3, "must name each edge once"),
    ],
)
def test_what_does_not_fit_is_counted_and_not_named(edges, said, directed):
    with pytest.raises(DataError, match=said) as error:
        clear(graph_spec("xxyy", directed=directed), frame(*edges))
    silent(error.value)
    assert not any(name in str(error.value) for name in ("v0", "v1", "v2"))


def test_an_edge_in_both_directions_is_there_twice_only_if_undirected():
    edges = frame(("v0", "v1"), ("v1", "v0"))
    with pytest.raises(DataError, match=r"once, in either direction: 1 record"):
        clear(graph_spec("xxyy"), edges)
    assert clear(graph_spec("xxyy", directed=True), edges).pairs.sum() == 2


def test_whole_numbers_name_nodes(tmp_path):
    (tmp_path / "edges.csv").write_text("from,to\n1,2\n", encoding="utf-8")
    spec = graph_spec("xx")
    named = replace(spec, nodes=replace(spec.nodes, names=("1", "2")))
    assert clear(named, tmp_path / "edges.csv").pairs.tolist() == [1]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PureDP(Fraction(3)), ZCDP(Fraction(2))])
def test_the_noise_is_as_large_as_planned(budget):
    """Within 10 % of the planned standard deviation, which a scale wrong by 30 % in either direction is not."""
    spec = graph_spec("xxxyyy", known={"degree": range(6)}, budget=budget)
    plan = make_graph_plan(spec)
    data = frame(("v0", "v1"), ("v0", "v4"), ("v3", "v5"))
    exact = clear(spec, data)
    generator = Generator.seeded("noise")
    drawn = [measure_graph(plan, data, generator) for _ in range(300)]
    for noise, noisy, truth in (
        (plan.block_noise, [one.blocks for one in drawn], exact.blocks),
        (plan.pair_noise, [one.pairs for one in drawn], exact.pairs),
    ):
        errors = np.array(noisy) - truth
        assert np.sqrt((errors**2).mean() / noise.variance) == pytest.approx(1, abs=0.1)
        assert abs(errors.mean()) < 4 * np.sqrt(noise.variance / errors.size)
    assert not drawn[0].private


def test_edges_are_read_as_the_spec_says_that_they_are_written(tmp_path):
    text = """
[data]
source = "edges.txt"
delimiter = ";"
encoding = "latin-1"
[graph]
nodes = ["Zoë", "Ana", "Ib"]
[privacy]
epsilon = 1000000
"""
    (tmp_path / "edges.txt").write_bytes("from;to\nZoë;Ana\nIb;Zoë\n".encode("latin-1"))
    (tmp_path / "graph.toml").write_text(text, encoding="utf-8")
    spec = GraphSpec.load(tmp_path / "graph.toml")
    assert clear(spec, spec.data.location).pairs.tolist() == [1, 1, 0]
    with pytest.raises(SpecError, match="decimal"):
        GraphSpec.load(text.replace("delimiter", "decimal"))
