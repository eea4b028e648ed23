"""Junction trees: the order in which the margins of a decomposable set join on to one another, and bounds from it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

A = TypeVar("A", bound=Hashable)
"""What stands for an attribute."""


def perfect_sequence(margins: Sequence[tuple[A, ...]]) -> tuple[tuple[tuple[A, ...], tuple[A, ...]], ...] | None:
    """The margins with their separators, grown as a spanning tree of largest intersections; None if impossible.

    The separator of a margin is what it shares with all those before it, and lies within one of them; the first one's
    is ``()`` and stands for nothing. A set of margins is decomposable exactly when such a tree is a junction tree,
    whichever margin comes first.
    """
    waiting = list(margins[1:])
    placed: list[tuple[tuple[A, ...], tuple[A, ...]]] = [(margin, ()) for margin in margins[:1]]
    while waiting:
        separator, best = max(
            ((_shared(margin, other), margin) for margin in waiting for other, _ in placed),
            key=lambda pair: len(pair[0]),
        )
        before = {one for margin, _ in placed for one in margin}
        if set(separator) != before.intersection(best):
            return None
        placed.append((best, separator))
        waiting.remove(best)
    return tuple(placed)


def is_decomposable(margins: Sequence[tuple[A, ...]]) -> bool:
    """Whether the margins are the cliques of a chordal graph in which every clique is one of them."""
    return perfect_sequence(margins) is not None


def _shared(margin: tuple[A, ...], other: tuple[A, ...]) -> tuple[A, ...]:
    return tuple(one for one in margin if one in other)


def frechet_least(joined: Iterable[tuple[NDArray[Any], NDArray[Any] | None]]) -> NDArray[Any]:
    """The least count of each cell under decomposable margins: their sum less that of the separators, not below 0.

    Each margin comes with its separator, None for the first; both as tables of all axes, of length 1 where summed.
    """
    low: NDArray[Any] | None = None
    for table, separator in joined:
        low = table if low is None else low + table
        if separator is not None:
            low = low - separator
    assert low is not None, "there is a margin"
    return np.asarray(np.maximum(low, 0))


def frechet_most(tables: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """The largest count of each cell under margins: that of the least margin that it is counted in."""
    high: NDArray[Any] | None = None
    for table in tables:
        high = table if high is None else np.minimum(high, table)
    assert high is not None, "there is a margin"
    return high
