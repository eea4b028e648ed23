"""Graphs with public degrees: how many edges differ between induced neighbours (docs/public-facts.md).

A graph is simple: an edge is there or not. Each edge counts once.
"""

from __future__ import annotations

from margrave.errors import UsageError


def undirected_sensitivity(nodes: int, known: int) -> int:
    """The largest number of edges that differ, when the degrees of ``known`` of the nodes are public. No loops."""
    _check(nodes, known)
    if known == 0:
        return 1 if nodes > 1 else 0
    if known == nodes:
        return 2 * (3 * (nodes - 1) // 4) if nodes >= 4 else 0
    if known == nodes - 1:
        return 3 * known // 2 if known >= 2 else 0
    if known == 1:
        return 2
    return 3 * known // 2 + (1 if known % 4 == 3 else 0)


def directed_sensitivity(nodes: int, known_in: int, known_out: int) -> int:
    """The same for directed graphs with loops allowed, and that many public in- and out-degrees.

    Without loops there are fewer graphs, and this is an upper bound.
    """
    _check(nodes, known_in)
    _check(nodes, known_out)
    if nodes == 1:
        return 0 if known_in or known_out else 1
    return min(2 * known_in + 2, 2 * known_out + 2, known_in + known_out + 1, 2 * nodes)


def _check(nodes: int, known: int) -> None:
    if nodes < 1 or not 0 <= known <= nodes:
        raise UsageError(f"the degrees of {known} of {nodes} nodes cannot be public")
