"""What tasks hand on: rows of a table, a chunk of it, and bytes. Rows of one chunk are added up, in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from margrave.algebra.arrays import Integers
from margrave.measure.engines.registry import Counted, Counting
from margrave.measure.spark.notes import Notes

CHUNK = 1 << 16
"""Cells of a chunk at most."""
NOTES, RECORDS = -1, -2
"""Instead of the number of a table: notes of a task, and records on their way to the others of their unit."""

SCHEMA = pa.schema([("table", pa.int32()), ("chunk", pa.int32()), ("content", pa.binary())])
FORM = "`table` int, chunk int, content binary"
"""The same in Spark's words."""

_BUCKETS = 64
_TOGETHER = 1 << 22
"""Bytes of rows that go together, about."""
_WIDTHS = tuple(map(np.dtype, ("uint8", "uint16", "uint32", "int64")))

Row = tuple[int, int, bytes]


def batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """The rows as Arrow has them."""
    held: list[Row] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row[2])
        if size >= _TOGETHER:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(held: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(list(column), kind) for column, kind in zip(zip(*held, strict=True), SCHEMA.types, strict=True)],
        schema=SCHEMA,
    )


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """The rows of a batch."""
    tables, chunks, contents = batch.columns
    for table, chunk, content in zip(tables.to_pylist(), chunks.to_pylist(), contents, strict=True):
        yield table, chunk, content.as_py()


def pack(counts: Integers) -> bytes:
    """Counts in the smallest type that holds them: most tasks see few records of a cell."""
    most = int(counts.max(initial=0))
    width = next(number for number, kind in enumerate(_WIDTHS) if most < 1 << (8 * kind.itemsize))
    return bytes([width]) + counts.astype(_WIDTHS[width]).tobytes()


def unpack(content: bytes) -> Integers:
    """The counts again."""
    return np.frombuffer(content, dtype=_WIDTHS[content[0]], offset=1).astype(np.int64)


def written(counted: Counted, wanted: Counting) -> Iterator[Row]:
    """The tables of a task in chunks; those without a record are left out."""
    for number, margin in enumerate(wanted.tables):
        cells = counted.tables[margin].reshape(-1)
        for chunk in range(-(-cells.size // CHUNK)):
            part = cells[chunk * CHUNK : (chunk + 1) * CHUNK]
            if part.any():
                yield number, chunk, pack(part)
    for number, margin in enumerate(wanted.sparse, start=len(wanted.tables)):
        table = counted.sparse[margin]
        buckets = table.cells % _BUCKETS
        for bucket in range(_BUCKETS):
            chosen = buckets == bucket
            for start in range(0, int(chosen.sum()), CHUNK):
                both = [column[chosen][start : start + CHUNK] for column in (table.cells, table.counts)]
                yield number, bucket, b"".join(column.tobytes() for column in both)


class Sums:
    """Rows that are added up as they come. ``dense``: how many tables have all their cells counted."""

    def __init__(self, dense: int) -> None:
        self._dense = dense
        self._counts: dict[tuple[int, int], Integers] = {}
        self._cells: dict[tuple[int, int], list[tuple[Integers, Integers]]] = {}
        self.notes = Notes()

    def __repr__(self) -> str:
        return "<Sums>"

    def add(self, row: Row) -> None:
        table, chunk, content = row
        if table == NOTES:
            self.notes.add(Notes.read(content))
        elif table < self._dense:
            counts = unpack(content)
            held = self._counts.setdefault((table, chunk), np.zeros(len(counts), dtype=np.int64))
            held += counts
        else:
            runs = self._cells.setdefault((table, chunk), [])
            cells, counts = np.frombuffer(content, dtype=np.int64).reshape(2, -1)
            runs.append((cells, counts))
            if sum(len(one) for one, _ in runs[1:]) > max(CHUNK, len(runs[0][0])):
                runs[:] = [_merged(runs)]

    def rows(self) -> Iterator[Row]:
        """One row for each chunk, of very many occupied cells several, and one for all notes if there are any."""
        for (table, chunk), counts in self._counts.items():
            yield table, chunk, pack(counts)
        for (table, chunk), runs in self._cells.items():
            both = _merged(runs)
            for start in range(0, len(both[0]), CHUNK):
                yield table, chunk, b"".join(column[start : start + CHUNK].tobytes() for column in both)
        if self.notes:
            yield NOTES, 0, self.notes.written()

    def dense(self, table: int, cells: int) -> Integers:
        """All cells of a table."""
        counts = np.zeros(cells, dtype=np.int64)
        for (number, chunk), part in self._counts.items():
            if number == table:
                counts[chunk * CHUNK : chunk * CHUNK + len(part)] = part
        return counts

    def occupied(self, table: int) -> tuple[Integers, Integers]:
        """The occupied cells of a table in increasing order, and their counts."""
        runs = [run for (number, _), some in self._cells.items() if number == table for run in some]
        return _merged(runs)


def _merged(runs: list[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    none = np.zeros(0, dtype=np.int64)
    cells, places = np.unique(np.concatenate([none, *(cells for cells, _ in runs)]), return_inverse=True)
    counts = np.zeros(len(cells), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([none, *(counts for _, counts in runs)]))
    return cells, counts
