"""What a task does, in a process of a worker: the same reading, recoding and counting as on one machine."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from margrave.errors import MargraveError, UsageError
from margrave.measure.engines.here import tallied
from margrave.measure.engines.registry import Counting
from margrave.measure.engines.spill import remove_orphans
from margrave.measure.failures import Failures
from margrave.measure.recode import code_type
from margrave.measure.records import Coded, read
from margrave.measure.sources.files.commas import Commas
from margrave.measure.sources.registry import Source
from margrave.measure.spark.notes import Notes
from margrave.measure.spark.pieces import ParquetFiles, Piece, Pieces
from margrave.measure.spark.rows import NOTES, RECORDS, Row, Sums, batches, rows_of, written
from margrave.measure.units import HASHED, bound_units, fill, hashed

_RECORDS = 1 << 11
"""Records that travel together at most."""
_READ_ROWS = 1 << 16
_HASHES = HASHED.byte_width
_MIX = np.uint64(0x9E3779B97F4A7C15)
_FAILED = "a task of the cluster failed while it counted; nothing more is said, since that could hold a value"


@dataclass(frozen=True)
class TaskWork:
    """All that tasks need to know.

    ``columns``: those of the data that are read, in their order. ``numbers``: those written with a decimal comma.
    ``files``: what each task reads itself; None where records are handed to it. ``key``: of the choice of records where
    units are bounded, in ``parts``. ``lot``: a key that tasks are drawn by. ``only``: the tasks that count once more.
    """

    wanted: Counting
    columns: tuple[str, ...]
    numbers: frozenset[str] = frozenset()
    files: tuple[ParquetFiles, tuple[tuple[Piece, ...], ...]] | None = field(default=None, repr=False)
    key: bytes = field(default=b"", repr=False)
    parts: int = 1
    lot: bytes = field(default=b"", repr=False)
    only: frozenset[int] | None = None


def perform(step: str, given: bytes, handed: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a step. Whatever goes wrong becomes a note that holds no value."""
    error = None
    try:
        yield from batches(STEPS[step](pickle.loads(given), handed))
    except MargraveError as caught:
        error = ("usage" if isinstance(caught, UsageError) else "data", str(caught))
    except Exception:
        error = ("data", _FAILED)
    if error is not None:
        yield from batches([(NOTES, 0, Notes(errors=[error]).written())])


def first(work: TaskWork, handed: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Reads and recodes; then counts, or sends each record where all of its unit go."""
    number = _number()
    if work.only is not None and number not in work.only:
        return
    failures, notes = Failures(), Notes(tasks=1)
    digest = _Digest(_width(work.wanted))
    source = _source(work, handed)
    units = work.wanted.units
    coded = read(
        source,
        work.wanted.codebook,
        work.wanted.names,
        failures,
        count_column=units.count_column,
        unit_column=units.unit_column,
    )
    found = _counted(work, coded, failures, notes) if units.unit_column is None else _sent(work, coded, failures, notes)
    for row in found:
        digest.add(row)
        if work.only is None:
            yield row
    notes.failures = failures
    if work.files is None:
        lot = blake2b(number.to_bytes(8, "big"), key=work.lot, digest_size=8).hexdigest()
        notes.lots = [(lot, number, digest.text(notes))]
    yield NOTES, 0, notes.written()


def second(work: TaskWork, handed: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Counts records whose units are here with all of theirs; passes notes on."""
    remove_orphans()
    passed: list[Row] = []
    failures, notes = Failures(), Notes()
    units = work.wanted.units
    assert units.max_records is not None
    kept = bound_units(_received(work, handed, passed), units.max_records, failures, work.key)
    yield from _counted(work, kept, failures, notes)
    yield from passed
    yield NOTES, 0, notes.written()


def summed(work: int, handed: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Adds up the rows of each chunk; ``work``: how many tables have all their cells counted."""
    sums = Sums(work)
    for batch in handed:
        for row in rows_of(batch):
            sums.add(row)
    yield from sums.rows()


def looked(work: Any, handed: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Only says that it is there."""
    for _ in handed:
        pass
    yield NOTES, 0, Notes(tasks=1).written()


STEPS: dict[str, Callable[[Any, Iterable[pa.RecordBatch]], Iterator[Row]]] = {
    "look": looked,
    "first": first,
    "second": second,
    "sum": summed,
}


def _number() -> int:
    """The number of the partition that this task has, whichever try it is."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


@dataclass(frozen=True)
class Handed:
    """The records that Spark hands to a task, in its small batches, as a source of larger ones."""

    columns: tuple[str, ...]
    handed: Iterable[pa.RecordBatch] = field(repr=False)
    total: int | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in self.handed:
            held.append(batch)
            size += batch.num_rows
            if size >= _READ_ROWS:
                yield self._joined(held)
                held, size = [], 0
        if held:
            yield self._joined(held)

    def _joined(self, held: list[pa.RecordBatch]) -> pa.RecordBatch:
        arrays = [pa.concat_arrays([batch.column(place) for batch in held]) for place in range(held[0].num_columns)]
        return pa.RecordBatch.from_arrays(arrays, names=list(self.columns))


def _source(work: TaskWork, handed: Iterable[pa.RecordBatch]) -> Source:
    source: Source
    if work.files is None:
        source = Handed(work.columns, handed)
    else:
        files, shares = work.files
        numbers = [number for batch in handed for number in batch.column(0).to_pylist()]
        source = Pieces(work.columns, files, [piece for number in numbers for piece in shares[number]])
    return Commas(source, work.numbers) if work.numbers else source


def _counted(work: TaskWork, coded: Iterable[Coded], failures: Failures, notes: Notes) -> Iterator[Row]:
    counted, notes.total = tallied(coded, work.wanted, failures, threads=1)
    notes.matches = work.wanted.patterns.matches
    if not failures:
        yield from written(counted, work.wanted)


def _sent(work: TaskWork, coded: Iterable[Coded], failures: Failures, notes: Notes) -> Iterator[Row]:
    """Records in parts by their unit, of which only the two hashes are sent."""
    types: set[str] = set()
    for batch in coded:
        assert batch.units is not None
        types.add(str(batch.units.type))
        if failures or not batch.rows:
            continue
        words = hashed(batch.units, work.key)
        packed = np.empty((batch.rows, _width(work.wanted)), dtype=np.uint8)
        packed[:, :_HASHES] = words.view(np.uint8).reshape(batch.rows, _HASHES)
        fill(packed[:, _HASHES:], batch.codes.values())
        part = words[:, 1] % np.uint64(work.parts)
        order = np.argsort(part, kind="stable")
        packed, part = packed[order], part[order]
        ends = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), batch.rows]
        for start, stop in pairwise(ends):
            for place in range(start, stop, _RECORDS):
                yield RECORDS, int(part[start]), packed[place : min(stop, place + _RECORDS)].tobytes()
    notes.types = sorted(types)[:2]


def _width(wanted: Counting) -> int:
    """Bytes of a record on its way: the hashes of its unit, and its codes."""
    sizes = (wanted.codebook.domain[name].size for name in wanted.names)
    return int(_HASHES + sum(code_type(size).itemsize for size in sizes))


def _received(work: TaskWork, handed: Iterable[pa.RecordBatch], passed: list[Row]) -> Iterator[Coded]:
    """The records as codes again; rows that are none are put aside."""
    domain, names = work.wanted.codebook.domain, work.wanted.names
    types = {name: code_type(domain[name].size) for name in names}
    width = _width(work.wanted)
    for batch in handed:
        rows = list(rows_of(batch))
        passed += [row for row in rows if row[0] != RECORDS]
        content = b"".join(row[2] for row in rows if row[0] == RECORDS)
        packed = np.frombuffer(content, dtype=np.uint8).reshape(-1, width)
        codes: dict[str, npt.NDArray[Any]] = {}
        start = _HASHES
        for name, kind in types.items():
            codes[name] = np.ascontiguousarray(packed[:, start : start + kind.itemsize]).view(kind).reshape(-1)
            start += kind.itemsize
        ids = pa.FixedSizeBinaryArray.from_buffers(
            HASHED, len(packed), [None, pa.py_buffer(packed[:, :_HASHES].tobytes())]
        )
        if len(packed):
            yield Coded(len(packed), codes, units=ids)


class _Digest:
    """What a task has found, whatever the order of its records: of counts their bytes, of records a sum of hashes."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._counts = blake2b(digest_size=8)
        self._records = 0

    def __repr__(self) -> str:
        return "<_Digest>"

    def add(self, row: Row) -> None:
        table, chunk, content = row
        if table != RECORDS:
            self._counts.update(b"%d %d %d" % (table, chunk, len(content)))
            self._counts.update(content)
            return
        packed = np.frombuffer(content, dtype=np.uint8).reshape(-1, self._width)
        words = np.zeros((len(packed), -(-self._width // 8)), dtype=np.uint64)
        words.view(np.uint8)[:, : self._width] = packed
        mixed = np.zeros(len(packed), dtype=np.uint64)
        for column in words.T:
            mixed = (mixed ^ column) * _MIX
            mixed ^= mixed >> np.uint64(29)
        self._records = (self._records + int(mixed.sum())) % (1 << 64)

    def text(self, notes: Notes) -> str:
        self._counts.update(f"{self._records} {notes.total}".encode())
        return self._counts.hexdigest()
