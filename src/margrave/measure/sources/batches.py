"""How many rows a batch has, whatever the source: memory follows neither the records nor the columns."""

from __future__ import annotations

ROWS = 1 << 16
"""At most this many: half a megabyte for a column of 64 bits."""
_FEWEST = 1 << 10
"""At least this many, so that the work on each batch is still worth its beginning."""
_VALUES = 1 << 21
"""About this many values in all."""


def batch_rows(columns: int) -> int:
    """Rows of a batch: fewer where there are many columns, so that memory does not follow their number either."""
    return min(ROWS, max(_FEWEST, _VALUES // max(1, columns)))
