"""Units that own several records: at most ``max_records`` of each are kept."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from margrave.errors import DataError
from margrave.measure.failures import Failures, guarded
from margrave.measure.records import Coded

_ROWS = 1 << 16


def bound_units(
    batches: Iterable[Coded], max_records: int, failures: Failures, key: bytes | None = None
) -> Iterator[Coded]:
    """The records with at most ``max_records`` of each unit.

    Which ones are kept is decided by a keyed hash of the unit, the record's codes and its number among the unit's
    equal records: uniform, the same for every order of the file, and a function of that unit's own records alone,
    so that no unit can displace another's. The key is fresh for every call. Holds all records in memory.
    """
    key = os.urandom(32) if key is None else key
    held: list[Coded] = []
    for batch in batches:
        if failures:
            held.clear()
        else:
            held.append(batch)
    if failures or not held:
        return
    names = list(held[0].codes)
    codes = {name: np.concatenate([batch.codes[name] for batch in held]) for name in names}
    units, ids = _identify([batch.units for batch in held])
    trouble = "the unit column cannot be read: convert it to text or whole numbers"
    kept = guarded(lambda: _keep(units, ids, [codes[name] for name in names], max_records, key), trouble)
    for start in range(0, len(kept), _ROWS):
        part = kept[start : start + _ROWS]
        yield Coded(len(part), {name: codes[name][part] for name in names})


def _identify(columns: list[pa.Array | None]) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """For each record the position of its unit among the distinct ids, and those ids."""
    types = {str(column.type) for column in columns if column is not None}
    if len(types) > 1:
        raise DataError("the unit column has different types in different files: convert it to one type")
    chunks = pa.chunked_array([column for column in columns if column is not None])
    encoded = guarded(
        lambda: chunks.dictionary_encode().combine_chunks(), "the unit column cannot be read: its type is not supported"
    )
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    return np.asarray(encoded.indices).astype(np.int64), encoded.dictionary


def _keep(
    units: npt.NDArray[np.int64], ids: pa.Array, codes: list[npt.NDArray[Any]], max_records: int, key: bytes
) -> npt.NDArray[np.intp]:
    """Positions of the records that stay: all of the small units, the lowest ranks of the others."""
    crowded = np.bincount(units, minlength=len(ids)) > max_records
    many = np.flatnonzero(crowded[units])
    if many.size == 0:
        return np.arange(len(units))
    order = many[np.lexsort([*(code[many] for code in reversed(codes)), units[many]])]
    content = np.column_stack([code[order].astype(np.int64) for code in codes or [units * 0]])
    ranks = _ranks(units[order], ids, content, key)
    by_rank = order[np.lexsort([ranks[:, 1], ranks[:, 0], units[order]])]
    owner = units[by_rank]
    place = _number_within(np.append(True, owner[1:] != owner[:-1]))
    few = np.flatnonzero(~crowded[units])
    return np.sort(np.concatenate([few, by_rank[place < max_records]]))


def _ranks(
    units: npt.NDArray[np.int64], ids: pa.Array, codes: npt.NDArray[np.int64], key: bytes
) -> npt.NDArray[np.uint64]:
    """128-bit keyed hashes of (unit, codes, number among equals) for records sorted by unit and codes."""
    fresh = np.append(True, (units[1:] != units[:-1]) | (codes[1:] != codes[:-1]).any(axis=1))
    number = _number_within(fresh)
    starts = np.flatnonzero(np.append(True, units[1:] != units[:-1]))
    stops = np.append(starts[1:], len(units))
    digests = bytearray()
    for start, stop in zip(starts, stops, strict=True):
        owner = blake2b(_name(ids[int(units[start])].as_py()), key=key, digest_size=32).digest()
        for row in range(start, stop):
            content = codes[row].tobytes() + int(number[row]).to_bytes(8, "big")
            digests += blake2b(content, key=owner, digest_size=16).digest()
    return np.frombuffer(bytes(digests), dtype=np.uint64).reshape(-1, 2)


def _name(unit: Any) -> bytes:
    return unit if isinstance(unit, bytes) else str(unit).encode()


def _number_within(fresh: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """0, 1, 2, ... counted anew from every True."""
    rows = np.arange(len(fresh))
    return rows - np.maximum.accumulate(np.where(fresh, rows, 0))
