"""All small graphs, their degrees and their induced neighbours, by brute force."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np

from margrave.budget.units import PureDP
from margrave.planning.graphs.degrees import KnownDegrees
from margrave.planning.graphs.nodes import Nodes
from margrave.planning.graphs.shape import pairs_of
from margrave.planning.graphs.spec import GraphSpec


def graph_spec(groups, *, directed=False, known=(), budget=None, edges=Fraction(1, 2)):
    """A graph with a node for each letter of ``groups``, which names its group; ``known``: side → nodes."""
    nodes = Nodes.of([(f"v{i}", letter) for i, letter in enumerate(groups)])
    facts = tuple(KnownDegrees(side, tuple(which)) for side, which in dict(known).items())
    return GraphSpec(nodes, budget or PureDP(Fraction(1)), directed, facts, edges)


def all_graphs(spec):
    """Every simple graph, a row of zeros and ones over the pairs."""
    return np.array(list(product((0, 1), repeat=len(pairs_of(spec)[0]))), dtype=np.int64)


def degree_rows(spec):
    """A row for each public degree: which pairs count in it."""
    one, other = pairs_of(spec)
    rows = []
    for known in spec.known:
        for node in known.nodes:
            ends = {"degree": (one, other), "out_degree": (one,), "in_degree": (other,)}[known.side]
            rows.append(sum((end == node).astype(np.int64) for end in ends))
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(one))


def fibres(spec):
    """The graphs, in sets with the same public degrees."""
    found = {}
    graphs = all_graphs(spec)
    for graph, degrees in zip(graphs, graphs @ degree_rows(spec).T, strict=True):
        found.setdefault(degrees.tobytes(), []).append(graph)
    return [np.array(fibre) for fibre in found.values()]


def induced_differences(spec):
    """The differences of all induced neighbours: no third graph with the same degrees lies between."""
    found = set()
    for fibre in fibres(spec):
        for one, other in combinations(fibre, 2):
            same = one == other
            if (fibre[:, same] == one[same]).all(axis=1).sum() == 2:
                found.add((one - other).tobytes())
    return np.array([np.frombuffer(text, dtype=np.int64) for text in sorted(found)])
