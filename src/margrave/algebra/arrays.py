"""The kinds of arrays that everything is computed with, each named once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Whole or real numbers."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Octets = NDArray[np.uint8]
Words = NDArray[np.uint64]
Counts = Integers | Floats
"""Counts of records, whole once they are rounded."""
Codes = NDArray[Any]
"""Positions of values, in whole numbers as narrow as they can be."""
