"""The bundle of a graph: its parts, what `release.json` says of it, and the graph made of them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.crossing import MeasuredGraph
from margrave.errors import BundleError, VerificationError
from margrave.planning.graphs.plan import GraphPlan, check_size, sensitivity
from margrave.planning.graphs.shape import blocks_of, pair_count, pairs_of
from margrave.planning.graphs.written import spec_from_json, spec_json
from margrave.planning.written import noise_from_json
from margrave.publish.bundle.account import of_kind
from margrave.publish.bundle.forms import Forms
from margrave.publish.bundle.untrusted.parquet import read_parquet
from margrave.publish.framed.bundle import Framing, Read, arrow_table
from margrave.publish.framed.frame import Frame, reading_manifest
from margrave.publish.graphs.answers import GraphAnswers
from margrave.publish.graphs.page import graph_page
from margrave.reconstruct.graphs import NearestGraph

if TYPE_CHECKING:
    import pyarrow as pa

FORMS = Forms(words=1, report=4)
"""The forms of words and report. A number is raised whenever the same graph would get another output of that part."""


def parts(graph: GraphAnswers) -> Iterator[tuple[str, pa.Table]]:
    """Every table of a bundle by its name without an ending."""
    yield "blocks", _arrow(graph.blocks())
    yield "nodes", _arrow(graph.nodes()[["node", "group"]])
    names = graph.plan.spec.nodes.names
    for known in graph.plan.spec.known:
        degrees = {"node": [names[node] for node in known.nodes], known.side: graph.measured.degrees[known.side]}
        yield f"exact/{_dashed(known.side)}", arrow_table(degrees)
    if graph.measured.pairs is not None:
        yield "pairs", _arrow(graph.pairs())
    if graph.nearest is not None:
        yield "edges", _arrow(graph.edges())


def _dashed(side: str) -> str:
    return side.replace("_", "-")


def _arrow(frame: Any) -> pa.Table:
    return arrow_table({name: frame[name].to_numpy() for name in frame.columns})


def published(graph: GraphAnswers) -> Mapping[str, Any] | None:
    """What is told of the simple graph: whether one was found, and is proven to be the nearest."""
    if graph.measured.pairs is None:
        return None
    if graph.nearest is None:
        return {"found": False}
    return {"found": True, "edges": int(graph.nearest.edges.sum()), "nearest_proven": graph.nearest.proven}


@reading_manifest()
def rebuilt(frame: Frame, read: Read) -> GraphAnswers:
    """The graph in a bundle. Its plan is made of its spec and events, and costs what these give."""
    plan = _plan(frame.said)
    nearest = None
    pairs, blocks = None, _numbers(read, "blocks", len(blocks_of(plan.spec)[0]), "noisy")
    if plan.pair_noise is not None:
        pairs = _numbers(read, "pairs", pair_count(plan.spec), "noisy")
        nearest = _nearest(plan, frame.said["published"], read)
    degrees = {
        one.side: _numbers(read, f"exact/{_dashed(one.side)}", len(one.nodes), one.side) for one in plan.spec.known
    }
    return GraphAnswers(plan, MeasuredGraph(blocks, pairs, degrees, frame.private), nearest, frame.ledger)


def _plan(said: Mapping[str, Any]) -> GraphPlan:
    spec = spec_from_json(said["spec"])
    check_size(spec)
    noises = [noise_from_json(one["noise"]) for one in said["events"]]
    if len(noises) != (2 if spec.edges else 1):
        raise BundleError("release.json lists other events than its spec asks for")
    return GraphPlan(spec, sensitivity(spec), noises[0], noises[1] if spec.edges else None)


def _numbers(read: Read, stem: str, rows: int, column: str) -> Any:
    name = f"{stem}.parquet"
    values = read_parquet(read(name), name, rows, [column]).column(column).to_numpy()
    if values.dtype != np.int64:
        raise BundleError(f"{name}: {column} must be whole numbers")
    return values


def _nearest(plan: GraphPlan, said: Mapping[str, Any], read: Read) -> NearestGraph | None:
    if not of_kind(said["found"], bool):
        return None
    edges = _numbers(read, "pairs", pair_count(plan.spec), "edge")
    if not np.isin(edges, (0, 1)).all():
        raise BundleError("pairs.parquet: an edge is there or not, 1 or 0")
    return NearestGraph(edges.astype(np.bool_), of_kind(said["nearest_proven"], bool))


def check(graph: GraphAnswers) -> tuple[str, ...]:
    """The simple graph has the public degrees, and degrees that the spec gives are those that it gives."""
    names = graph.plan.spec.nodes.names
    for known in graph.plan.spec.known:
        stated = graph.measured.degrees[known.side]
        if known.values is not None and tuple(stated.tolist()) != known.values:
            raise VerificationError(f"exact/{_dashed(known.side)}.parquet has other degrees than the spec gives")
        if graph.nearest is None:
            continue
        wrong = np.flatnonzero(_degrees(graph, known.side)[list(known.nodes)] != stated)
        if wrong.size:
            raise VerificationError(
                f"pairs.parquet: the simple graph does not give {names[known.nodes[wrong[0]]]!r} its public "
                f"{known.side.replace('_', '-')}"
            )
    found = "The block table follows from the measurements"
    if graph.nearest is None:
        return (f"{found}.",)
    facts = ", and has the public degrees" if graph.plan.spec.known else ""
    return (f"{found}. The simple graph of {int(graph.nearest.edges.sum())} edges has no loop and none twice{facts}.",)


def _degrees(graph: GraphAnswers, side: str) -> Any:
    assert graph.nearest is not None
    one, other = (ends[graph.nearest.edges] for ends in pairs_of(graph.plan.spec))
    sent, taken = (np.bincount(ends, minlength=len(graph.plan.spec.nodes)) for ends in (one, other))
    return {"degree": sent + taken, "out_degree": sent, "in_degree": taken}[side]


FRAMING = Framing(
    forms=FORMS,
    spec=lambda graph: spec_json(graph.plan.spec),
    published=published,
    parts=parts,
    report=graph_page,
    rebuilt=rebuilt,
    check=check,
)
