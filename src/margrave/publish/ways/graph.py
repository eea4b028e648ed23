"""A graph: its bundle, how a ledger keeps it, and what is shown of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from margrave.crossing import MeasuredGraph
from margrave.errors import UsageError
from margrave.files.content import Content
from margrave.planning.asked import Sheet
from margrave.planning.describe import number
from margrave.planning.graphs.plan import GraphPlan
from margrave.planning.graphs.shape import blocks_of, pair_count
from margrave.planning.promise.guarantee import approximate
from margrave.planning.ways.graph import formulas
from margrave.progress import Progress
from margrave.publish.bundle.parts.drawn import arrays_of, bytes_of
from margrave.publish.bundle.untrusted.reading import Files
from margrave.publish.framed.bundle import framed_archive, framed_report
from margrave.publish.framed.verify import verify_framed
from margrave.publish.graphs.framing import FRAMING
from margrave.publish.graphs.release import GraphRelease
from margrave.publish.verification.found import Verified
from margrave.publish.way import Asking, BundleWay, Contents, ShownTable


class GraphPack:
    """The noisy answers about a graph, with the public degrees, and its bundle as one archive."""

    at_once = False

    def check(self, asked: GraphPlan) -> None:
        """A graph of as many nodes as there can be is kept."""

    def keep(self, asked: GraphPlan, drawn: MeasuredGraph) -> Content:
        pairs = () if drawn.pairs is None else (drawn.pairs,)
        degrees = (drawn.degrees[known.side] for known in asked.spec.known)
        return b"".join(bytes_of(asked.question, (drawn.blocks, *pairs, *degrees)))

    def kept(self, asked: GraphPlan, content: Content) -> MeasuredGraph:
        spec = asked.spec
        shapes = [(len(blocks_of(spec)[0]),), *([(pair_count(spec),)] if asked.pair_noise is not None else [])]
        found = arrays_of(asked.question, content, (*shapes, *((len(known.nodes),) for known in spec.known)))
        blocks, pairs = next(found), next(found) if asked.pair_noise is not None else None
        return MeasuredGraph(blocks, pairs, {known.side: next(found) for known in spec.known}, True)

    def write(self, asked: GraphPlan, drawn: MeasuredGraph, charge: Mapping[str, Any]) -> tuple[Content, str]:
        return framed_archive(FRAMING, GraphRelease.of(asked, drawn, charge))

    def read(self, content: Content) -> GraphRelease:
        return GraphRelease.unpacked(content)


def verify(files: Files, progress: Progress | None, bars: bool) -> Verified:
    return verify_framed(FRAMING, files, progress, lambda graph: formulas(graph.plan))


def contents(graph: GraphRelease) -> Contents:
    frame = graph.blocks()
    rows = [
        (f"{row[0]}, {row[1]}", *(number(float(value)) for value in row[2:]))
        for row in frame.itertuples(index=False, name=None)
    ]
    headers = ("groups", *(str(name).replace("_", " ") for name in frame.columns[2:]))
    plan = graph.plan
    title = f"{plan.title or 'Graph'}: {len(plan.spec.nodes)} nodes, {approximate(plan.cost)}"
    tables = [{"table": list(names), "rows": len(found)} for names, found in tables_of(graph)]
    said = {"guarantee": {"cost": plan.cost.as_dict(), "words": list(plan.words())}, "tables": tables}
    return Contents(title, (Sheet("Edges by the groups of their ends", headers, rows),), plan.words(), said, "edges")


def tables_of(graph: GraphRelease) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The block table, and the simple graph where there is one."""
    yield ("blocks",), graph.blocks()
    if graph.nearest is not None:
        yield ("edges",), graph.edges()


def table(graph: GraphRelease, asking: Asking) -> ShownTable:
    known = {"blocks": graph.blocks, "nodes": graph.nodes, "edges": graph.edges, "pairs": graph.pairs}
    if asking.unbiased or asking.level != Asking().level:
        raise UsageError(
            "the block table of a graph is unbiased and has standard errors: leave out --unbiased, --level"
        )
    if len(asking.names) != 1 or asking.names[0] not in known:
        raise UsageError(f"a released graph has the tables {', '.join(known)}, not {', '.join(asking.names)!r}")
    frame = known[asking.names[0]]()
    plain = frame.astype(object)
    unknown = frame.isna()
    return ShownTable(asking.names, plain.mask(unknown, None), asking.names[0], plain.mask(unknown, ""))


WAY = BundleWay(
    outcome=GraphRelease.of,
    pack=GraphPack(),
    read=GraphRelease.read,
    report=lambda files: framed_report(FRAMING, files),
    verify=verify,
    contents=contents,
    tables=tables_of,
    table=table,
)
