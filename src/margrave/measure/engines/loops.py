"""The counting of a block into a table as machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from margrave.algebra.arrays import Integers
from margrave.algebra.compiled import compiled


@compiled
def count_into(counts: Integers, cells: npt.NDArray[Any]) -> None:
    """Adds one to the cell of each record.

    First to small numbers, which stay in the cache, and in two lanes in turn, so that a record need not wait for the
    one before if it has the same cell.
    """
    lanes = np.zeros((2, len(counts)), np.uint32)
    for record in range(0, len(cells) - 1, 2):
        lanes[0, cells[record]] += np.uint32(1)
        lanes[1, cells[record + 1]] += np.uint32(1)
    if len(cells) % 2:
        lanes[0, cells[-1]] += np.uint32(1)
    for cell in range(len(counts)):
        counts[cell] += lanes[0, cell] + lanes[1, cell]
