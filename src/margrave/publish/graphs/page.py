"""The report of a graph: one page for people, which needs no network, no script and no other file."""

from __future__ import annotations

from html import escape
from math import cos, pi, sin
from typing import TYPE_CHECKING

import numpy as np

from margrave.messages.catalogue import later, say, spoken
from margrave.planning.describe import number
from margrave.planning.graphs.shape import blocks_of, pairs_of
from margrave.planning.promise.guarantee import approximate
from margrave.publish.bundle.words import composition
from margrave.publish.report.cross import Cross, cross_table
from margrave.publish.report.frame import FirstScreen, framed
from margrave.publish.report.html import details, paragraph, section, table
from margrave.publish.report.risk import risk_section
from margrave.publish.report.svg import picture, shortened
from margrave.publish.report.values import Intervals, Titled, written

if TYPE_CHECKING:
    from margrave.publish.graphs.answers import GraphAnswers

MOST_DRAWN, MOST_NAMED = 120, 40
"""Nodes up to which the graph is drawn, and up to which their names stand beside them."""
MOST_GROUPS = 24
"""Groups up to which the block table is drawn."""
_MOST_ROWS = 300
_HEADERS = {
    "blocks": later("blocks"),
    "pairs": later("pairs"),
    "from_group": later("from group"),
    "to_group": later("to group"),
    "one_group": later("one group"),
    "other_group": later("other group"),
    "count": later("count"),
    "std_error": later("std. error"),
    "edges": later("edges"),
}
"""What is measured, and the columns of the block table."""
_UPRIGHT = 0.3
"""The sine of the angle up to which a name stands above or below its node, and not beside it."""


def graph_page(graph: GraphAnswers, created: str | None, made_by: str) -> str:
    """The page. It follows from the release, the time, and the software that the bundle says it was ``made_by``."""
    parts = [_meaning(graph), risk_section(graph.plan.exposure), _blocks(graph), _drawing(graph), _measured(graph)]
    return framed(_head(graph, created), parts, made_by)


def _head(graph: GraphAnswers, created: str | None) -> FirstScreen:
    spec, plan = graph.plan.spec, graph.plan
    error = number(plan.block_noise.variance**0.5)
    figures = [
        (say("privacy loss, at most"), approximate(plan.cost)),
        (say("nodes (groups)"), f"{written(len(spec.nodes))} ({written(len(spec.nodes.groups))})"),
        (say("edges between two groups, standard error"), error),
    ]
    if plan.right_pairs is not None:
        right = spoken().localised(f"{plan.right_pairs:.3f}")
        figures.append((say("edge or no edge, right with probability"), right))
    typical = number(float(graph.blocks()["count"].abs().median()))
    lead = say(
        "A typical number of edges between two groups is %(typical)s, with a standard error of %(error)s as measured. "
        "Every number but the public degrees was changed on purpose, at random, to limit what anybody can find out "
        "from it about any one edge.",
        typical=typical,
        error=error,
    )
    title = plan.title or say("A graph of %(count)s nodes", count=written(len(spec.nodes)))
    return FirstScreen(say("A graph under differential privacy"), title, created, lead, graph.private, figures)


def _meaning(graph: GraphAnswers) -> str:
    exact = say(
        "This page is an experiment with repeatable noise. The words below say what the same release would guarantee "
        "with noise that nobody can repeat; as it stands, it guarantees nothing."
    )
    words = graph.plan.words()
    return section(
        "meaning",
        say("What this means for an edge in the data"),
        "" if graph.private else paragraph(exact, "note"),
        *map(paragraph, words[1:]),
        details(say("The guarantee in full"), "".join(map(paragraph, (*words, composition(graph.ledger))))),
    )


def _blocks(graph: GraphAnswers) -> str:
    frame = graph.blocks()
    names = [name for name in frame.columns if name not in ("pairs", "noisy")]
    rows = [
        tuple(value if isinstance(value, str) else number(float(value)) for value in row)
        for row in frame[names].head(_MOST_ROWS).itertuples(index=False, name=None)
    ]
    headers = [say(_HEADERS[name]) for name in names]
    return section(
        "blocks",
        say("Edges by the groups of their ends"),
        _block_picture(graph),
        paragraph(
            say(
                "The count is unbiased and agrees with the public degrees; it may be negative. Edges are those of the "
                "simple graph, where there is one."
            )
        ),
        details(say("All numbers"), table(headers, rows, texts=2, caption=say("Edges by the groups of their ends"))),
    )


def _block_picture(graph: GraphAnswers) -> str:
    """A cross table of all groups; of an undirected graph both halves show the same."""
    spec = graph.plan.spec
    groups, frame = spec.nodes.groups, graph.blocks()
    if len(groups) > MOST_GROUPS:
        return ""
    value, width = np.zeros((2, len(groups), len(groups)))
    numbers = zip(blocks_of(spec)[0], frame["count"].tolist(), frame["std_error"].tolist(), strict=True)
    for (one, other), count, error in numbers:
        for row, column in {(one, other)} if spec.directed else {(one, other), (other, one)}:
            value[row, column], width[row, column] = count, 2 * error
    ends = (say("From"), say("To")) if spec.directed else (say("One end"), say("Other end"))
    cross = Cross(Titled(ends[0], groups), Titled(ends[1], groups), Intervals(value, value - width, value + width))
    return cross_table(
        cross, say("Edges by the groups of their ends; below each count, two standard errors to either side.")
    )


def _drawing(graph: GraphAnswers) -> str:
    if graph.nearest is None:
        return ""
    count = written(int(graph.nearest.edges.sum()))
    if graph.nearest.proven:
        nearest = say("It is the one nearest to the noisy answers.")
    else:
        nearest = say("It was not proven in time to be the one nearest to the noisy answers.")
    said = (
        say("A simple graph of %(count)s edges with the public degrees.", count=count),
        nearest,
        say("Single edges of it may well be wrong: see above how often."),
    )
    return section("graph", say("A simple graph"), _circle(graph), paragraph(" ".join(said)))


def _circle(graph: GraphAnswers) -> str:
    """The nodes on a circle, groups together, and a line for each edge; nothing where there are too many."""
    spec, nearest = graph.plan.spec, graph.nearest
    if len(spec.nodes) > MOST_DRAWN or nearest is None:
        return ""
    order = sorted(range(len(spec.nodes)), key=lambda node: (spec.nodes.group_of[node], node))
    turn = {node: 2 * pi * place / len(order) for place, node in enumerate(order)}

    def at(node: int, radius: float) -> tuple[str, str]:
        across, down = 200 + radius * sin(turn[node]), 200 - radius * cos(turn[node])
        return f"{round(across, 6):.1f}", f"{round(down, 6):.1f}"

    body = []
    for one, other in zip(*(ends[nearest.edges].tolist() for ends in pairs_of(spec)), strict=True):
        (x1, y1), (x2, y2) = at(one, 150), at(other, 150)
        body.append(f'<line class="axis" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')
    for node in order:
        x, y = at(node, 150)
        named = f"{spec.nodes.names[node]}, {spec.nodes.groups[spec.nodes.group_of[node]]}"
        body.append(f'<circle class="point" cx="{x}" cy="{y}" r="4"><title>{escape(named)}</title></circle>')
        if len(order) <= MOST_NAMED:
            (x, y), side = at(node, 164), sin(turn[node])
            kind = "middle" if abs(side) < _UPRIGHT else "start" if side > 0 else "end"
            body.append(f'<text class="{kind}" x="{x}" y="{y}">{escape(shortened(spec.nodes.names[node], 8))}</text>')
    inner = f'<svg viewBox="0 0 400 400" width="100%" height="400">{"".join(body)}</svg>'
    words = say(
        "%(nodes)s nodes on a circle, groups together, and %(lines)s lines between them.",
        nodes=len(order),
        lines=int(nearest.edges.sum()),
    )
    return picture("drawing", say("The simple graph"), words, 400, inner)


def _measured(graph: GraphAnswers) -> str:
    plan = graph.plan
    rows = [(say(_HEADERS[one.measured]), written(one.answers), number(one.std_error)) for one in plan.forecast]
    files = [
        ("blocks.csv", say("the block table: as measured, unbiased, and of the simple graph")),
        ("nodes.csv", say("the nodes and their groups, which are public")),
        *((f"exact/{one.side.replace('_', '-')}.csv", say("public degrees, exact")) for one in plan.spec.known),
    ]
    if plan.pair_noise is not None:
        files += [
            ("pairs.csv", say("the noisy answer about each pair of nodes")),
            ("edges.csv", say("the simple graph")),
        ]
    headers = (say("measured"), say("numbers"), say("std. error"))
    return section(
        "measured",
        say("What was measured, and what is in the bundle"),
        table(headers, rows, caption=say("What was measured")),
        table((say("file"), say("what it holds")), files, texts=2, caption=say("The files, as CSV and as Parquet")),
    )
