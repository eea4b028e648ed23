"""The spec of a graph release: its public nodes, the public degrees, and the privacy to spend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import UsageError
from margrave.files.untrusted import MOST_TEXT, MOST_WORDS
from margrave.planning.graphs.degrees import DIRECTED, UNDIRECTED, KnownDegrees, Side, contradiction
from margrave.planning.graphs.nodes import Given, Nodes, read_nodes
from margrave.spec.dialect import TEXT_KEYS, USUAL, Dialect, read_dialect
from margrave.spec.document import load_document, located, read_document
from margrave.spec.reader import Node
from margrave.spec.sections import read_budget
from margrave.spec.texts import texts_problem

SECTIONS = ("title", "data", "graph", "release", "privacy")
GRAPH_KEYS = ("directed", "nodes", "degrees", "out_degrees", "in_degrees")
COLUMNS = ("from", "to")
_KEYS: dict[Side, str] = {"degree": "degrees", "out_degree": "out_degrees", "in_degree": "in_degrees"}


@dataclass(frozen=True)
class GraphData:
    """Where the edges are, one record for each, and the two columns that name its ends. Never published.

    ``dialect``: how the file is written.
    """

    source: str | None = field(default=None, repr=False)
    columns: tuple[str, str] = COLUMNS
    dialect: Dialect = USUAL
    base: Path | None = field(default=None, compare=False, repr=False)

    @property
    def location(self) -> str | None:
        """The source with a relative path made relative to ``base``."""
        return located(self.source, self.base)


@dataclass(frozen=True)
class GraphSpec:
    """A checked spec of a graph release.

    ``known``: the public degrees, at most one entry for each side. ``edges``: the share of the budget that goes to the
    single edges, from 0 (only the block table is released) to below 1.
    """

    way: ClassVar[str] = "graph"

    nodes: Nodes
    budget: PureDP | ZCDP
    directed: bool = False
    known: tuple[KnownDegrees, ...] = ()
    edges: Fraction = Fraction(1, 2)
    data: GraphData = GraphData()
    title: str = ""

    def __post_init__(self) -> None:
        sides = [one.side for one in self.known]
        if len(set(sides)) != len(sides) or not set(sides) <= set(self.sides):
            raise UsageError("public degrees of a directed graph are in- and out-degrees, of an undirected one degrees")
        if any(not 0 <= node < len(self.nodes) for one in self.known for node in one.nodes):
            raise UsageError("public degrees are those of nodes of the graph")
        if not 0 <= self.edges < 1:
            raise UsageError("the share of the budget for the edges must be at least 0 and less than 1")
        if found := contradiction(len(self.nodes), self.known):
            raise UsageError(found)
        texts = (self.title, *self.nodes.names, *self.nodes.groups)
        if any(len(text) > MOST_TEXT for text in texts[1:]) or len(self.title) > MOST_WORDS:
            raise UsageError(
                f"a node or a group has more than {MOST_TEXT} characters, or the title more than {MOST_WORDS}"
            )
        if wrong := texts_problem(texts):
            raise UsageError(f"a title, a node or a group {wrong}")

    @property
    def sides(self) -> tuple[Side, ...]:
        """The kinds of degrees that a node has."""
        return DIRECTED if self.directed else UNDIRECTED

    def known_nodes(self, side: Side) -> tuple[int, ...]:
        """The positions of the nodes whose degrees of one side are public."""
        return next((one.nodes for one in self.known if one.side == side), ())

    @classmethod
    def load(cls, source: str | Path | Mapping[str, object]) -> GraphSpec:
        """A spec from a file, from TOML text (text with more than one line), or from a mapping."""
        return load_document(source, _checked)


def _checked(document: Mapping[str, object], base: Path | None, source: str, text: str) -> GraphSpec:
    return read_document(Node(document), lambda root: _read(root, base), source, text)


def _read(root: Node, base: Path | None) -> GraphSpec | None:
    keys = root.table(SECTIONS)
    for section in ("graph", "privacy"):
        if section not in keys:
            root.problem(f"the section [{section}] is missing")
    title = keys["title"].text() if "title" in keys else None
    data = _read_data(keys["data"], base) if "data" in keys else GraphData()
    edges = _read_edges(keys["release"]) if "release" in keys else Fraction(1, 2)
    budget = _read_budget(keys["privacy"]) if "privacy" in keys else None
    graph = _read_graph(keys["graph"], base) if "graph" in keys else None
    if root.problems or graph is None or budget is None:
        return None
    directed, nodes, known = graph
    return GraphSpec(nodes, budget, directed, known, edges, data, title or "")


def _read_data(node: Node, base: Path | None) -> GraphData:
    keys = node.table(("source", "columns", *TEXT_KEYS))
    source = keys["source"].text() if "source" in keys else None
    columns: tuple[str, str] = COLUMNS
    if "columns" in keys:
        names = [item.text() for item in keys["columns"].items() or ()]
        if len(names) == 2 and names[0] != names[1] and names[0] is not None and names[1] is not None:
            columns = (names[0], names[1])
        else:
            keys["columns"].problem("must name two different columns, the two ends of an edge")
    return GraphData(source, columns, read_dialect(keys), base)


def _read_edges(node: Node) -> Fraction:
    keys = node.table(("edges",))
    share = keys["edges"].number() if "edges" in keys else Fraction(1, 2)
    if share is not None and not 0 <= share < 1:
        keys["edges"].problem("is a share of the budget: at least 0 (no edges, only the block table) and less than 1")
        return Fraction(0)
    return share or Fraction(0)


def _read_budget(node: Node) -> PureDP | ZCDP | None:
    budget = read_budget(node, node.table(("epsilon", "delta", "rho")))
    if budget is None:
        return None
    if budget.delta:
        node.problem("a graph release needs epsilon alone, or rho")
    return budget.without_delta()


def _read_graph(node: Node, base: Path | None) -> tuple[bool, Nodes, tuple[KnownDegrees, ...]] | None:
    keys = node.table(GRAPH_KEYS)
    if "nodes" not in keys:
        node.needs(keys, 'nodes, such as { north = ["ann", "bob"], south = ["cid"] }')
        return None
    directed = (keys["directed"].flag() or False) if "directed" in keys else False
    nodes, given = read_nodes(keys["nodes"], base)
    if nodes is None:
        return None
    known = _read_known(keys, nodes, given, directed)
    if known is not None and (found := contradiction(len(nodes), known)):
        node.problem(found)
    return None if known is None else (directed, nodes, known)


def _read_known(
    keys: Mapping[str, Node], nodes: Nodes, given: Given, directed: bool
) -> tuple[KnownDegrees, ...] | None:
    sides = DIRECTED if directed else UNDIRECTED
    kind = "a directed" if directed else "an undirected"
    for side, key in _KEYS.items():
        if side not in sides and (key in keys or given.get(side)):
            keys.get(key, keys["nodes"]).problem(
                f"{kind} graph has no {key}: it has {' and '.join(_KEYS[one] for one in sides)}"
            )
        elif key in keys and given.get(side):
            keys[key].problem("contradicts the file of nodes, which gives them too: leave one of them out")
    found = []
    for side in sides:
        values = given.get(side) or (_read_side(keys[_KEYS[side]], nodes) if _KEYS[side] in keys else {})
        if values:
            positions = sorted(nodes.names.index(name) for name in values)
            numbers = [values[nodes.names[at]] for at in positions]
            whole = tuple(number for number in numbers if number is not None)
            found.append(KnownDegrees(side, tuple(positions), whole if len(whole) == len(numbers) else None))
    return tuple(found)


def _read_side(node: Node, nodes: Nodes) -> dict[str, int] | dict[str, int | None]:
    """``"all"``, a list of nodes, or the degrees themselves: ``{ ann = 3, bob = 2 }``."""
    if node.value == "all":
        return dict.fromkeys(nodes.names)
    if isinstance(node.value, Mapping):
        pairs = {name: item.whole() for name, item in node.pairs().items()}
        _check_names(node, list(pairs), nodes)
        return {name: value for name, value in pairs.items() if value is not None and name in nodes.names}
    listed = node.items('"all", a list of nodes, or the degrees as { ann = 3, bob = 2 }') or ()
    names = [name for item in listed if (name := item.value_text()) is not None]
    _check_names(node, names, nodes)
    return dict.fromkeys(name for name in names if name in nodes.names)


def _check_names(node: Node, names: list[str], nodes: Nodes) -> None:
    known = set(nodes.names)
    for name in names:
        if name not in known:
            node.problem(f"{name!r} is not a node{node.hint(name, nodes.names)}")
