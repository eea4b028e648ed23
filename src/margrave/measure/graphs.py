"""Measuring a graph: its edges are read and checked, then noise is added, and only noisy whole numbers leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.crossing import MeasuredGraph
from margrave.measure.engines.count import count_margins
from margrave.measure.failures import Failures
from margrave.measure.sources.sources import open_source
from margrave.noise import Generator
from margrave.planning.graphs.degrees import Side
from margrave.planning.graphs.plan import GraphPlan
from margrave.planning.graphs.shape import blocks_of, pairs_of
from margrave.planning.graphs.spec import GraphSpec
from margrave.progress import Progress
from margrave.spec.codebook import Categories, Codebook, CodebookEntry


def measure_graph(plan: GraphPlan, data: Any, generator: Generator, progress: Progress | None = None) -> MeasuredGraph:
    """Count the edges of each block, add noise to each, and to each pair of nodes."""
    edges = _edges(plan.spec, data, progress)
    degrees = _degrees(plan.spec, edges)
    blocks, block_of_pair = blocks_of(plan.spec)
    counts = np.bincount(block_of_pair[edges == 1], minlength=len(blocks)).astype(np.int64)
    noisy = counts + plan.block_noise.sample(len(blocks), generator)
    pairs = None if plan.pair_noise is None else edges + plan.pair_noise.sample(edges.size, generator)
    return MeasuredGraph(noisy, pairs, degrees, generator.private)


def _edges(spec: GraphSpec, data: Any, progress: Progress | None) -> Integers:
    """For each pair of nodes, 1 if there is an edge and 0 if not."""
    columns, nodes = spec.data.columns, len(spec.nodes)
    source = open_source(data, dialect=spec.data.dialect)
    outside = max(spec.nodes.names, key=len) + "*"  # longer than every node, so none of them
    entries = tuple(CodebookEntry(name, Categories(spec.nodes.names), other=outside) for name in columns)
    counts = count_margins(source, Codebook(entries), [columns], progress=progress)[columns]
    failures = Failures()
    for axis, name in enumerate(columns):
        unknown = int(counts.sum(axis=1 - axis)[nodes])
        failures.add(f"column {name!r}", "must name a node", "add the node to graph.nodes, or remove the edge", unknown)
    place = f"columns {columns[0]!r} and {columns[1]!r}"
    failures.add(place, "must name two different nodes", "remove the loops", int(np.trace(counts[:nodes, :nodes])))
    one, other = pairs_of(spec)
    edges = counts[one, other] if spec.directed else counts[one, other] + counts[other, one]
    again = int(np.maximum(edges - 1, 0).sum())
    both = "" if spec.directed else ", in either direction"
    failures.add(place, f"must name each edge once{both}", "remove what is there again", again)
    failures.check()
    return np.asarray(edges, dtype=np.int64)


def _degrees(spec: GraphSpec, edges: Integers) -> dict[Side, Integers]:
    """The public degrees. Those that the spec gives are never compared with the data: nothing may depend on that."""
    one, other = (ends[edges == 1] for ends in pairs_of(spec))
    sent, taken = (np.bincount(ends, minlength=len(spec.nodes)).astype(np.int64) for ends in (one, other))
    by_side: dict[Side, Integers] = {"degree": sent + taken, "out_degree": sent, "in_degree": taken}
    return {
        known.side: by_side[known.side][list(known.nodes)]
        if known.values is None
        else np.array(known.values, dtype=np.int64)
        for known in spec.known
    }
