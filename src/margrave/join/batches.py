"""Batches of points, one for each category of a side, sorted, so that the place of a point says nothing.

Whatever comes from the other side is refused unless every batch is strictly ascending and no point stands in two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from margrave.errors import RefusedError
from margrave.join.curve import Points

TAG = 20
"""Bytes of a product that are sent back, only to be compared: two of a million agree by chance once in 2^120."""

Batches = tuple[Points, ...]


def row_keys(points: Points) -> NDArray[np.bytes_]:
    """The rows as texts of fixed length, which compare byte by byte."""
    return np.ascontiguousarray(points).view(f"S{points.shape[1]}").reshape(-1)


def in_order(points: Points) -> Points:
    """The rows of a batch, sorted."""
    return points[np.argsort(row_keys(points), kind="stable")]


def tags(points: Points) -> Points:
    """What is compared of each product."""
    return points[:, :TAG]


def check_order(batches: Sequence[Points], what: str) -> None:
    """Refuse a batch that is not strictly ascending."""
    for batch in batches:
        keys = row_keys(batch)
        if not (keys[:-1] < keys[1:]).all():
            raise RefusedError(f"{what} is not sorted, or holds a point twice: it was not made by Margrave")


def check_distinct(batches: Sequence[Points], what: str) -> None:
    """Refuse a point that stands in two places, whatever the batches."""
    keys = np.sort(row_keys(np.concatenate(batches)))
    if (keys[:-1] == keys[1:]).any():
        raise RefusedError(f"{what} holds a point twice: who is in two categories could be told apart from others")


def matches(rows: Sequence[Points], columns: Sequence[Points]) -> NDArray[np.int64]:
    """How many points each batch of ``rows`` has in common with each of ``columns``. None stands twice in either."""
    keys = row_keys(np.concatenate(rows))
    order = np.argsort(keys, kind="stable")
    keys, owner = keys[order], np.repeat(np.arange(len(rows)), [len(one) for one in rows])[order]
    found = np.zeros((len(rows), len(columns)), dtype=np.int64)
    for column, batch in enumerate(columns):
        wanted = row_keys(batch)
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        same = keys[place] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
        found[:, column] = np.bincount(owner[place[same]], minlength=len(rows))
    return found
