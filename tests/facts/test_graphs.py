"""Sensitivities of graphs with public degrees, against all small graphs."""

from itertools import combinations, product
from time import monotonic

import numpy as np
import pytest

from margrave.errors import UsageError
from margrave.facts.graphs import directed_sensitivity, undirected_sensitivity
from margrave.facts.moves.graver import graver_basis


def largest_change(matrix, edges):
    """The most edges that differ between induced neighbours: moves that put or take each edge at most once."""
    if not edges:
        return 0
    moves = graver_basis(matrix, monotonic() + 60) if len(matrix) else np.eye(edges, dtype=np.int64)
    simple = moves[(np.abs(moves) <= 1).all(axis=1)]
    return int(np.abs(simple).sum(axis=1).max()) if len(simple) else 0


def incidence(rows, edges):
    return np.array([[int(test(edge)) for edge in edges] for test in rows], dtype=np.int64).reshape(-1, len(edges))


@pytest.mark.parametrize("nodes", range(1, 7))
def test_undirected(nodes):
    edges = list(combinations(range(nodes), 2))
    for known in range(nodes + 1):
        if not edges:
            continue
        matrix = incidence([lambda edge, node=node: node in edge for node in range(known)], edges)
        assert undirected_sensitivity(nodes, known) == largest_change(matrix, len(edges)), known


def test_undirected_graph_by_graph():
    """All pairs of graphs with 5 nodes and the same degrees: neighbours if no third graph lies between."""
    edges = list(combinations(range(5), 2))
    matrix = incidence([lambda edge, node=node: node in edge for node in range(5)], edges)
    graphs = np.array(list(product((0, 1), repeat=len(edges))), dtype=np.int64)
    fibres = {}
    for graph, degrees in zip(graphs, graphs @ matrix.T, strict=True):
        fibres.setdefault(degrees.tobytes(), []).append(graph)
    farthest = 0
    for fibre in map(np.array, fibres.values()):
        for one, other in combinations(fibre, 2):
            free = one != other
            between = (fibre[:, ~free] == one[~free]).all(axis=1).sum() - 2
            farthest = max(farthest, int(free.sum()) if between == 0 else 0)
    assert farthest == undirected_sensitivity(5, 5) == 6


@pytest.mark.parametrize("nodes", range(1, 5))
def test_directed(nodes):
    edges = list(product(range(nodes), repeat=2))
    for known_in, known_out in product(range(nodes + 1), repeat=2):
        into = [lambda edge, node=node: edge[1] == node for node in range(known_in)]
        out = [lambda edge, node=node: edge[0] == node for node in range(known_out)]
        matrix = incidence([*into, *out], edges)
        assert directed_sensitivity(nodes, known_in, known_out) == largest_change(matrix, len(edges))


def test_directed_without_loops_has_no_more_and_often_as_much():
    edges = [edge for edge in product(range(3), repeat=2) if edge[0] != edge[1]]
    for known_in, known_out in product(range(4), repeat=2):
        into = [lambda edge, node=node: edge[1] == node for node in range(known_in)]
        found = 0
        for chosen in combinations(range(3), known_out):
            out = [lambda edge, node=node: edge[0] == node for node in chosen]
            found = max(found, largest_change(incidence([*into, *out], edges), len(edges)))
        assert found == directed_sensitivity(3, known_in, known_out)


def test_impossible_numbers():
    for call in (lambda: undirected_sensitivity(3, 4), lambda: directed_sensitivity(0, 0, 0)):
        with pytest.raises(UsageError):
            call()
