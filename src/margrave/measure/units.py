"""Units that own several records: at most ``max_records`` of each are kept."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from margrave.errors import DataError
from margrave.measure.engines.spill import Folder, private_folder
from margrave.measure.failures import Failures, guarded
from margrave.measure.records import Coded

SPILL_BYTES = 1 << 26
"""Recoded records and their units take at most about this much memory before they are written to a temporary folder."""

_ROWS = 1 << 16
_PARTS = 64
_TYPES = "the unit column has different types in different files: convert it to one type"
_UNREADABLE = "the unit column cannot be read: convert it to text or whole numbers"
_FULL = "the records of all units do not fit in memory, and the temporary folder cannot hold them: set TMPDIR"


HASHED = pa.binary(16)
"""The type of units of which only the two hashes are left. No column of ids has it: texts of any kind have one type."""


def new_key() -> bytes:
    """A fresh secret key for the choice of records."""
    return os.urandom(32)


def hashed(units: pa.Array, key: bytes) -> npt.NDArray[np.uint64]:
    """The two hashes of each record's unit. They stand for it: that two units share both has a chance of 2**-128."""
    places, ids = _identify(pa.chunked_array([units]))
    return guarded(lambda: np.column_stack(_hashes(key, ids))[places], _UNREADABLE)


def bound_units(
    batches: Iterable[Coded],
    max_records: int,
    failures: Failures,
    key: bytes | None = None,
    memory: int | None = None,
) -> Generator[Coded]:
    """The records with at most ``max_records`` of each unit.

    Which ones are kept is decided by a keyed hash of the unit, the record's codes and its number among the unit's
    equal records: uniform, the same for every order of the file, and a function of that unit's own records alone,
    so that no unit can displace another's. The key is fresh for every call. Records beyond ``memory`` bytes (by
    default SPILL_BYTES) wait in a private temporary folder, parted by another hash of the unit, and come back one
    part at a time.
    """
    key = new_key() if key is None else key
    memory = SPILL_BYTES if memory is None else memory
    held: list[Coded] = []
    size = 0
    with ExitStack() as stack:
        parts: PartedRecords | None = None
        for batch in batches:
            if failures:
                held.clear()
                continue
            held.append(batch)
            size += _bytes(batch)
            if size > memory:
                parts = parts or PartedRecords(stack.enter_context(private_folder()), stack, key)
                parts.write(held)
                size = 0
        if failures or not (held or parts):
            return
        if parts is None:
            yield from _bounded(_joined(held), max_records, key)
            return
        parts.write(held)
        for records in parts.read():
            yield from _bounded(records, max_records, key)


def _bytes(batch: Coded) -> int:
    return sum(codes.nbytes for codes in batch.codes.values()) + (0 if batch.units is None else batch.units.nbytes)


def _joined(held: list[Coded]) -> Coded:
    """All batches as one; their units must have one type."""
    codes = {name: np.concatenate([batch.codes[name] for batch in held]) for name in held[0].codes}
    units = [batch.units for batch in held if batch.units is not None]
    if len({str(column.type) for column in units}) > 1:
        raise DataError(_TYPES)
    return Coded(sum(batch.rows for batch in held), codes, units=pa.chunked_array(units))


def _bounded(records: Coded, max_records: int, key: bytes) -> Iterator[Coded]:
    units, ids = _identify(records.units)
    codes = records.codes
    kept = guarded(lambda: _keep(units, ids, list(codes.values()), max_records, key), _UNREADABLE)
    for start in range(0, len(kept), _ROWS):
        part = kept[start : start + _ROWS]
        yield Coded(len(part), {name: codes[name][part] for name in codes})


class PartedRecords:
    """Records parted by unit in temporary files: each file holds one batch for each part."""

    def __init__(self, folder: Folder, stack: ExitStack, key: bytes) -> None:
        self._folder = folder
        self._stack = stack
        self._key = blake2b(b"parts", key=key, digest_size=32).digest()
        self._files: list[BinaryIO] = []
        self._schema: pa.Schema | None = None

    def __repr__(self) -> str:
        return f"<PartedRecords in {len(self._files)} files>"

    def write(self, held: list[Coded]) -> None:
        """Takes all batches out of the list, and writes their records to one new file, part by part."""
        if not held:
            return
        records = _joined(held)
        held.clear()
        column: Any = records.units
        units, ids = _identify(column)
        part = guarded(lambda: self._part(ids), _UNREADABLE)[units]
        order = np.argsort(part, kind="stable")
        table = pa.table({**_numbered(records), "unit": column.combine_chunks()})
        if self._schema is None:
            self._schema = table.schema
        if table.schema != self._schema:
            raise DataError(_TYPES)
        ends = np.searchsorted(part[order], np.arange(_PARTS + 1))
        file = self._stack.enter_context(self._folder.new_file())
        guarded(lambda: _write(file, table.take(order), ends), _FULL)
        self._files.append(file)

    def read(self) -> Iterator[Coded]:
        """Each part with all its records."""
        readers = [guarded(lambda file=file: pa.ipc.open_file(file), _FULL) for file in self._files]  # type: ignore[misc]
        for part in range(_PARTS):
            batches = guarded(lambda part=part: [reader.get_batch(part) for reader in readers], _FULL)  # type: ignore[misc]
            table = pa.Table.from_batches(batches)
            if table.num_rows:
                names = table.schema.names[:-1]
                codes = {name[1:]: np.asarray(table[name]) for name in names}
                yield Coded(table.num_rows, codes, units=table["unit"])

    def _part(self, ids: pa.Array) -> npt.NDArray[np.uint64]:
        return _hashes(self._key, ids)[0] % np.uint64(_PARTS)


def _numbered(records: Coded) -> dict[str, npt.NDArray[Any]]:
    """The codes under names that cannot be confused with that of the unit."""
    return {f"={name}": codes for name, codes in records.codes.items()}


def _write(file: BinaryIO, table: pa.Table, ends: npt.NDArray[np.intp]) -> None:
    """The rows between each two ends as one batch of an Arrow file."""
    (batch,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    with pa.ipc.new_file(file, table.schema) as writer:
        for start, stop in pairwise(ends.tolist()):
            writer.write_batch(batch.slice(start, stop - start))
    file.flush()


def _identify(column: Any) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """For each record the position of its unit among the distinct ids, and those ids."""
    encoded = guarded(
        lambda: column.dictionary_encode().combine_chunks(), "the unit column cannot be read: its type is not supported"
    )
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    return np.asarray(encoded.indices).astype(np.int64), encoded.dictionary


def _keep(
    units: npt.NDArray[np.int64], ids: pa.Array, codes: list[npt.NDArray[Any]], max_records: int, key: bytes
) -> npt.NDArray[np.intp]:
    """Positions of the records that stay: all of the small units, the lowest ranks of the others."""
    sizes = np.bincount(units, minlength=len(ids))
    if sizes.max(initial=0) <= max_records:
        return np.arange(len(units))
    from margrave.measure.lottery import grouped, lowest

    starts = np.append(0, np.cumsum(sizes))
    keys = np.column_stack(_hashes(key, ids))
    kept = lowest(starts, grouped(units, starts), keys, _content(codes, len(units)), max_records)
    return np.flatnonzero(kept)


def _content(codes: list[npt.NDArray[Any]], rows: int) -> npt.NDArray[np.uint64]:
    """The codes of each record as a row of words. One byte for each small attribute: few words hold them all."""
    content = np.zeros((rows, -(-sum(code.itemsize for code in codes) // 8)), dtype=np.uint64)
    fill(content.view(np.uint8), codes)
    return content


def fill(room: npt.NDArray[np.uint8], codes: Iterable[npt.NDArray[Any]]) -> None:
    """The codes of each record as the first bytes of a row."""
    start = 0
    for code in codes:
        room[:, start : start + code.itemsize] = np.ascontiguousarray(code).reshape(-1, 1).view(np.uint8)
        start += code.itemsize


def _hashes(key: bytes, ids: pa.Array) -> list[npt.NDArray[np.uint64]]:
    """Two hashes of each id, as the words of a key of its own."""
    from margrave.measure.lottery import hashes

    if ids.type == HASHED:
        words = np.frombuffer(ids.buffers()[1], dtype=np.uint64).reshape(-1, 2)[ids.offset : ids.offset + len(ids)]
        return [words[:, 0], words[:, 1]]
    names = _names(ids)
    ends = np.frombuffer(names.buffers()[1], dtype=np.int64)[names.offset : names.offset + len(names) + 1]
    text = np.frombuffer(names.buffers()[2] or b"", dtype=np.uint8)
    return [hashes(half, ends, text) for half in np.frombuffer(key, dtype=np.uint64).reshape(2, 2)]


def _names(ids: pa.Array) -> pa.Array:
    """The ids as texts."""
    if not (pa.types.is_binary(ids.type) or pa.types.is_large_binary(ids.type)):
        ids = ids.cast(pa.large_string())
    return ids.cast(pa.large_binary())
