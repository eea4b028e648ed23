"""Numbers as they are published: whole ones as they are, others in a few decimals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DECIMALS = 6
"""Derived numbers are rounded to so many decimals; the measurements, from which they follow, are whole."""


def rounded(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as they are; others to a few decimals, and never minus zero."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    return np.asarray(np.round(values.astype(np.float64), DECIMALS) + 0.0, dtype=np.float64)


def numbers_in(column: Any) -> NDArray[Any]:
    """The numbers of an Arrow column without missing ones. Arrow's own way to them would load all of pandas."""
    parts = [np.from_dlpack(part) for part in getattr(column, "chunks", [column])]
    return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0)])
