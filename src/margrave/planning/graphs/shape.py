"""The pairs of nodes between which there can be an edge, and the blocks of pairs that two groups make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from margrave.planning.graphs.spec import GraphSpec

Positions = NDArray[np.int64]
Block = tuple[int, int]
"""Two groups, by position: ordered in a directed graph, otherwise the smaller one first."""


def pair_count(spec: GraphSpec) -> int:
    """The number of pairs."""
    count = len(spec.nodes)
    return count * (count - 1) // (1 if spec.directed else 2)


def pairs_of(spec: GraphSpec) -> tuple[Positions, Positions]:
    """The two ends of each pair: all ordered pairs if the graph is directed, otherwise the smaller one first."""
    count = len(spec.nodes)
    found = np.nonzero(~np.eye(count, dtype=np.bool_)) if spec.directed else np.triu_indices(count, 1)
    return found[0].astype(np.int64), found[1].astype(np.int64)


def blocks_of(spec: GraphSpec) -> tuple[tuple[Block, ...], Positions]:
    """The blocks that have a pair at all, and for each pair the position of its block."""
    group = np.array(spec.nodes.group_of, dtype=np.int64)
    one, other = (group[ends] for ends in pairs_of(spec))
    if not spec.directed:
        one, other = np.minimum(one, other), np.maximum(one, other)
    width = len(spec.nodes.groups)
    codes, positions = np.unique(one * width + other, return_inverse=True)
    return tuple(divmod(code, width) for code in codes.tolist()), positions.astype(np.int64)
