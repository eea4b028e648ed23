"""A graph with public degrees: the section [graph]."""

from __future__ import annotations

from margrave.planning.graphs.plan import make_graph_plan
from margrave.planning.graphs.spec import GraphSpec
from margrave.planning.graphs.written import graph_notion
from margrave.planning.ways.registry import SpecWay, register

register(SpecWay("graph", "graph", GraphSpec, GraphSpec.load, make_graph_plan, graph_notion))
