"""Moves that have no smaller part among others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Integers


def is_primitive(move: Integers, others: Integers) -> bool:
    """Whether no other of the moves (nor its negative) is a part of the move."""
    parts = _is_part(others, move) | _is_part(-others, move)
    distance = np.minimum(np.abs(others - move).sum(axis=1), np.abs(others + move).sum(axis=1))
    return not bool((parts & (distance > 0) & (np.abs(others).sum(axis=1) > 0)).any())


def _is_part(parts: Integers, move: Integers) -> NDArray[np.bool_]:
    inside = (parts * move >= 0) & (np.abs(parts) <= np.abs(move))
    return np.asarray(inside.all(axis=1), dtype=np.bool_)
