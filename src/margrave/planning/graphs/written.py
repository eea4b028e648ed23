"""The plan of a graph as JSON; whom it protects and what it asks, as a ledger is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from margrave.budget.numbers import exact_number, exact_text
from margrave.budget.units import budget_from_dict
from margrave.ledger.journal import canonical
from margrave.ledger.values import Notion
from margrave.planning.graphs.degrees import KnownDegrees
from margrave.planning.graphs.nodes import Nodes
from margrave.planning.graphs.shape import blocks_of
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.written import digest_of, noise_json

if TYPE_CHECKING:
    from margrave.planning.graphs.plan import GraphPlan


def graph_notion(spec: GraphSpec) -> Notion:
    """Whom a release of a graph protects: a record is an edge, and public degrees are facts.

    Without public degrees one edge is protected as one record of a table is: both add up. With them, neighbours are
    simple graphs on these very nodes, so that a fact names the graph beside the nodes whose degrees are public.
    """
    graph = {"directed": spec.directed, "nodes": len(spec.nodes), "sha256": digest_of({"nodes": spec.nodes.names})}
    facts = tuple(canonical({"fact": _fact(spec, one), "graph": graph}) for one in spec.known)
    return Notion(facts=facts, induced="worst-case" if facts else None)


def _fact(spec: GraphSpec, known: KnownDegrees) -> dict[str, Any]:
    names = [spec.nodes.names[node] for node in known.nodes]
    of: Any = "all" if len(names) == len(spec.nodes) else names
    return {known.side: of} if known.values is None else {known.side: dict(zip(names, known.values, strict=True))}


def spec_json(spec: GraphSpec) -> dict[str, Any]:
    """The publishable part of the spec of a graph, with its nodes in their order."""
    nodes = spec.nodes
    known = [
        {"side": one.side, "nodes": list(one.nodes), "values": None if one.values is None else list(one.values)}
        for one in spec.known
    ]
    return {
        "title": spec.title,
        "graph": {
            "directed": spec.directed,
            "nodes": list(nodes.names),
            "groups": list(nodes.groups),
            "group_of": list(nodes.group_of),
            "degrees": known,
        },
        "release": {"edges": exact_text(spec.edges)},
        "privacy": spec.budget.as_dict(),
    }


def question_of(plan: GraphPlan) -> str:
    """The digest of what is asked of a graph."""
    return digest_of({"way": plan.way, "spec": spec_json(plan.spec), "events": plan.events})


def events_json(plan: GraphPlan) -> tuple[Mapping[str, Any], ...]:
    """What is measured, with how much noise, and how far an induced step moves it at most."""
    blocks, pairs = blocks_of(plan.spec)
    found = [{"measured": "blocks", "answers": len(blocks), "noise": noise_json(plan.block_noise)}]
    if plan.pair_noise is not None:
        found.append({"measured": "pairs", "answers": len(pairs), "noise": noise_json(plan.pair_noise)})
    return tuple(one | {"l1_sensitivity": plan.sensitivity} for one in found)


def facts_json(spec: GraphSpec) -> tuple[Mapping[str, Any], ...]:
    """The public degrees: exact disclosures, whether they are read from the data or given."""
    return tuple(
        {
            "fact": f"{one.side.replace('_', '-')} of {len(one.nodes)} nodes",
            "exact": True,
            "protected": False,
            "source": "data" if one.values is None else "spec",
        }
        for one in spec.known
    )


def spec_from_json(value: Mapping[str, Any]) -> GraphSpec:
    """The inverse of `spec_json`; a TypeError or a KeyError where it is none."""
    graph = value["graph"]
    nodes = Nodes(_texts(graph["nodes"]), _texts(graph["groups"]), _wholes(graph["group_of"]))
    known = tuple(
        KnownDegrees(one["side"], _wholes(one["nodes"]), None if one["values"] is None else _wholes(one["values"]))
        for one in graph["degrees"]
    )
    budget = budget_from_dict(value["privacy"]).without_delta()
    if budget is None or type(graph["directed"]) is not bool or type(value["title"]) is not str:
        raise TypeError
    share = exact_number(value["release"]["edges"])
    return GraphSpec(nodes, budget, graph["directed"], known, share, title=value["title"])


def _texts(values: Any) -> tuple[str, ...]:
    if type(values) is not list or any(type(one) is not str for one in values):
        raise TypeError
    return tuple(values)


def _wholes(values: Any) -> tuple[int, ...]:
    if type(values) is not list or any(type(one) is not int for one in values):
        raise TypeError
    return tuple(values)
