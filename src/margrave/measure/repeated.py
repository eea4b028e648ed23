"""How often ids occur, for a curator who decides who is protected. Not private."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa

from margrave.crossing import Repeats
from margrave.errors import UsageError
from margrave.measure.sources.columns import plain
from margrave.measure.sources.registry import Source

MOST_ROWS = 1 << 24
"""Of more records than this nothing is said: ids of all of them would have to be held."""
_NEARLY_ALL = 0.95
_MOST_RECORDS = 50
"""More records of one unit are never proposed: the noise grows with their number."""


def _again(source: Source, name: str) -> Iterator[pa.RecordBatch]:
    """The batches of one column, after all were read; none of a stream that can be read only once."""
    with suppress(UsageError):
        yield from source.batches([name])


def count_repeats(source: Source, name: str) -> Repeats | None:
    """The most records of one id, and how many of each keep nearly all records; None for too many, or for none."""
    held: list[pa.Array] = []
    rows = 0
    for batch in _again(source, name):
        column = plain(batch.column(0), name)
        held.append(column.dictionary.take(column.indices) if pa.types.is_dictionary(column.type) else column)
        rows += batch.num_rows
        if rows > MOST_ROWS:
            return None
    if not rows or len({column.type for column in held}) > 1:
        return None
    if pa.types.is_nested(held[0].type):
        return None
    counts = np.asarray(pa.chunked_array(held).drop_null().value_counts().field("counts"))
    if not len(counts):
        return None
    most = int(counts.max())
    enough = (m for m in range(1, _MOST_RECORDS) if np.minimum(counts, m).sum() >= _NEARLY_ALL * counts.sum())
    return Repeats(most, next(enough, _MOST_RECORDS))
