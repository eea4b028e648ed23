"""Public degrees: of which nodes they are known, and whether any simple graph has them.

A simple graph has no loop and no edge twice. The degree of a node is the number of its edges; in a directed graph it
has an out-degree and an in-degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from margrave.errors import UsageError

Side = Literal["degree", "out_degree", "in_degree"]
UNDIRECTED: tuple[Side, ...] = ("degree",)
DIRECTED: tuple[Side, ...] = ("out_degree", "in_degree")


@dataclass(frozen=True)
class KnownDegrees:
    """The nodes, by position, whose degrees of one side are public.

    ``values``: the degrees, in the order of the nodes, where the spec gives them; None where they are read from the
    data and thereby disclosed.
    """

    side: Side
    nodes: tuple[int, ...]
    values: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.side not in (*UNDIRECTED, *DIRECTED) or len(set(self.nodes)) != len(self.nodes) or not self.nodes:
            raise UsageError("public degrees need a side, and at least one node, each named once")
        if self.values is not None and len(self.values) != len(self.nodes):
            raise UsageError(f"{len(self.nodes)} public degrees need as many values, not {len(self.values)}")


def contradiction(count: int, known: Sequence[KnownDegrees]) -> str | None:
    """Why no simple graph with ``count`` nodes has the degrees that are given; None if one has.

    Degrees that are given and degrees that are read from the data could contradict each other, and whether they do
    would depend on the data: they are never mixed.
    """
    read = [one for one in known if one.values is None]
    if read and len(read) < len(known):
        return f"{_word(read[0].side)}s are read from the data, and the others are given: give both, or none"
    given = {one.side: dict(zip(one.nodes, one.values, strict=True)) for one in known if one.values is not None}
    for side, degrees in given.items():
        if any(not 0 <= degree < count for degree in degrees.values()):
            return f"a {_word(side)} must be a whole number from 0 to {count - 1}: there are {count} nodes"
    if "degree" in given:
        return _undirected(count, list(given["degree"].values()))
    out, into = given.get("out_degree", {}), given.get("in_degree", {})
    return _directed(count, out, into, "out", "in") or _directed(count, into, out, "in", "out")


def _word(side: Side) -> str:
    return side.replace("_", "-")


def _undirected(count: int, degrees: Sequence[int]) -> str | None:
    """The condition of Erdős and Gallai, with nodes of any degree beside those known."""
    free = count - len(degrees)
    if not free and sum(degrees) % 2:
        return f"no simple graph has these degrees: they add up to {sum(degrees)}, which is odd"
    falling = sorted(degrees, reverse=True)
    for k in range(1, len(falling) + 1):
        ends = sum(falling[:k])
        most = k * (k - 1) + k * free + sum(min(degree, k) for degree in falling[k:])
        if ends > most:
            return (
                f"no simple graph has these degrees: the {k} largest add up to {ends}, and given the others at most "
                f"{most} is possible (condition of Erdős and Gallai)"
            )
    return None


def _directed(count: int, sent: dict[int, int], taken: dict[int, int], one: str, other: str) -> str | None:
    """The condition of Gale and Ryser without loops: what any k nodes send, the others can take.

    A node takes at most one edge from each of the k nodes but itself, and at most its known degree; so of all sets of
    k nodes the worst holds the largest values of what a node sends, plus one if it could have taken k itself.
    """
    takes = [taken.get(node, count) for node in range(count)]
    for k in range(1, len(sent) + 1):
        worst = sorted((degree + (takes[node] >= k) for node, degree in sent.items()), reverse=True)[:k]
        most = sum(min(limit, k) for limit in takes)
        if sum(worst) > most:
            return (
                f"no simple directed graph has these degrees: {k} nodes have more {one}-edges together than the "
                f"{other}-degrees allow (condition of Gale and Ryser, without loops)"
            )
    return None
