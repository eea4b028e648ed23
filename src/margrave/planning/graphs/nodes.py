"""The public nodes of a graph and their groups: in the spec, or in a file beside it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from margrave.errors import SpecError, UsageError
from margrave.planning.graphs.degrees import DIRECTED, UNDIRECTED, Side
from margrave.spec.document import public_text
from margrave.spec.reader import Node, words

MOST_NODES = 4000
"""The exact adjacency is held as a square table while it is counted."""

Given = dict[Side, dict[str, int]]
"""Degrees that a file of nodes gives, by side and node."""


@dataclass(frozen=True)
class Nodes:
    """The names of the nodes; the names of the groups; and for each node the position of its group."""

    names: tuple[str, ...]
    groups: tuple[str, ...]
    group_of: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.names) <= MOST_NODES:
            raise UsageError(f"a graph needs from 2 to {MOST_NODES} nodes, not {len(self.names)}")
        if len(set(self.names)) != len(self.names) or len(set(self.groups)) != len(self.groups):
            raise UsageError("nodes and groups must have different names")
        if sorted(set(self.group_of)) != list(range(len(self.groups))) or len(self.group_of) != len(self.names):
            raise UsageError("every node needs one group, and every group a node")

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> Nodes:
        """From (node, group) pairs; groups in the order in which they appear."""
        groups = tuple(dict.fromkeys(group for _, group in pairs))
        return cls(tuple(name for name, _ in pairs), groups, tuple(groups.index(group) for _, group in pairs))

    def __len__(self) -> int:
        return len(self.names)

    def members(self, group: int) -> tuple[int, ...]:
        """The positions of the nodes of a group."""
        return tuple(node for node, its in enumerate(self.group_of) if its == group)


def read_nodes(node: Node, base: Path | None) -> tuple[Nodes | None, Given]:
    """The nodes of a spec, and the degrees that come with them if they stand in a file."""
    given: Given = {}
    if isinstance(node.value, str):
        pairs, given = _from_file(node, Path(node.value) if base is None else base / node.value)
    else:
        pairs = _from_spec(node)
    twice = [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]
    if twice:
        node.problem(f"each node is listed once; more than once: {words(twice)}")
    elif pairs and not 2 <= len(pairs) <= MOST_NODES:
        node.problem(f"a graph needs from 2 to {MOST_NODES} nodes, not {len(pairs)}")
    elif pairs:
        return Nodes.of(pairs), given
    return None, given


def _from_spec(node: Node) -> list[tuple[str, str]]:
    """``{ north = ["ann", "bob"], south = ["cid"] }``, or a list of nodes that are all in one group."""
    if isinstance(node.value, list | tuple):
        return [(name, "all") for item in node.items() or () if (name := item.value_text()) is not None]
    wanted = "the groups with their nodes, a list of nodes, or the name of a CSV file"
    pairs = []
    for group, members in node.pairs(wanted).items():
        inside = members.items("a list of nodes")
        if inside is not None and not inside:
            members.problem("a group needs at least one node")
        pairs += [(name, group) for item in inside or () if (name := item.value_text()) is not None]
    return pairs


def _from_file(node: Node, path: Path) -> tuple[list[tuple[str, str]], Given]:
    """A CSV file with the columns node and group, and a column of degrees for each side that is public."""
    sides = (*UNDIRECTED, *DIRECTED)
    try:
        rows = list(csv.DictReader(io.StringIO(public_text(path)), restkey="", restval="", strict=True))
    except SpecError as error:
        node.problem(f"{path.name}: {error.problems[0].text}")
        return [], {}
    except csv.Error as error:
        node.problem(f"{path.name} is not a CSV file: {error}")
        return [], {}
    columns = list(rows[0]) if rows else []
    if "node" not in columns or any(name not in ("node", "group", *sides) for name in columns):
        node.problem(f"{path.name} needs the column 'node', and may have {words(('group', *sides))}; it has other ones")
        return [], {}
    given: Given = {side: {} for side in sides if side in columns}
    pairs = []
    for line, row in enumerate(rows, start=2):
        name, group = row["node"].strip(), row.get("group", "all").strip()
        if not name or not group:
            node.problem(f"{path.name}, line {line}: a node needs a name and a group")
            continue
        pairs.append((name, group))
        for side in given:
            text = row[side].strip()
            if text and not (text.isascii() and text.isdigit()):
                node.problem(f"{path.name}, line {line}: {side} must be a whole number, or empty if it is not public")
            elif text:
                given[side][name] = int(text[:20])
    return pairs, given
