"""A graph with public degrees: the section [graph]."""

from __future__ import annotations

from margrave.planning.graphs.plan import GraphPlan, make_graph_plan
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.graphs.written import graph_notion
from margrave.planning.ways.registry import SpecWay
from margrave.spec.texts import formula_texts


def formulas(plan: GraphPlan) -> tuple[str, ...]:
    """The names of nodes and groups that a spreadsheet would take for formulas."""
    return formula_texts((*plan.spec.nodes.names, *plan.spec.nodes.groups))


WAY = SpecWay(
    spec=GraphSpec,
    load=GraphSpec.load,
    plan=make_graph_plan,
    notion=graph_notion,
    exposure=lambda plan: plan.exposure,
    formulas=formulas,
)
