"""Records on their way through: each batch of a source as codes, with its counts and units where there are any."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from margrave.algebra.domain import Margin
from margrave.errors import DataError
from margrave.measure import parse
from margrave.measure.failures import Failures
from margrave.measure.recode import Recoder
from margrave.measure.sources.columns import encode, kind_of, plain
from margrave.measure.sources.registry import Source, check_columns
from margrave.progress import Progress
from margrave.spec.codebook import Codebook

LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class Coded:
    """A batch of ``rows`` records: the codes of each attribute, how often each record counts, whose it is."""

    rows: int = field(repr=False)
    codes: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    weights: npt.NDArray[np.int64] | None = field(repr=False, default=None)
    units: pa.Array | None = field(repr=False, default=None)


def read(
    source: Source,
    codebook: Codebook,
    margin: Margin,
    failures: Failures,
    *,
    count_column: str | None = None,
    unit_column: str | None = None,
    progress: Progress | None = None,
) -> Generator[Coded]:
    """Every batch of the source, recoded. Records that do not fit are added to ``failures``; the caller checks."""
    extra = [name for name in (count_column, unit_column) if name is not None]
    wanted = list(dict.fromkeys([*margin, *extra]))
    check_columns(source, wanted)
    recoders = [Recoder(codebook[name]) for name in margin]
    total = source.total if progress else None
    done = 0
    for batch in source.batches(wanted):
        failures.saw(batch.num_rows)
        codes = {}
        for recoder in recoders:
            recoded = recoder(batch.column(recoder.entry.name))
            recoder.report(recoded, failures)
            codes[recoder.entry.name] = recoded.codes
        weights = None if count_column is None else _weights(batch.column(count_column), count_column, failures)
        units = None if unit_column is None else unit_ids(batch.column(unit_column), unit_column, failures)
        done += batch.num_rows
        if progress:
            progress(done, total)
        yield Coded(batch.num_rows, codes, weights, units)


def blocks(batches: Iterable[Coded], rows: int) -> Iterator[Coded]:
    """The same records in blocks of at least half of ``rows`` (the last may be smaller): many batches are tiny.

    Units are dropped: who owns a record no longer matters once it is counted.
    """
    held: list[Coded] = []
    size = 0
    for batch in batches:
        if not held and batch.rows >= rows // 2:
            yield batch
            continue
        held.append(batch)
        size += batch.rows
        if size >= rows:
            yield _joined(held)
            held, size = [], 0
    if held:
        yield _joined(held)


def _joined(parts: list[Coded]) -> Coded:
    if len(parts) == 1:
        return parts[0]
    codes = {name: np.concatenate([part.codes[name] for part in parts]) for name in parts[0].codes}
    weights = [part.weights for part in parts if part.weights is not None]
    return Coded(sum(part.rows for part in parts), codes, np.concatenate(weights) if weights else None)


def exact_amount(block: Coded) -> int:
    """How many records a block stands for, without overflow."""
    weights = block.weights
    if weights is None:
        return block.rows
    if weights.size == 0 or int(weights.max()) <= LARGEST // weights.size:
        return int(weights.sum())
    return sum(weights.tolist())


def checked_total(total: int) -> int:
    """The number of all records so far, as long as 64 bits can count them."""
    if total > LARGEST:
        raise DataError(f"the counts add up to more than {LARGEST}: the count column cannot be right")
    return total


def _weights(column: pa.Array, name: str, failures: Failures) -> npt.NDArray[np.int64]:
    """The counts of tabulated data: whole numbers, as integers, integral floats or text; -1 marks what is not one."""
    column = plain(column, name)
    kind = kind_of(column.type, name)
    if kind in ("booleans", "dates"):
        raise DataError(f"column {name!r} holds {kind}, but the count column must hold whole numbers")
    if pa.types.is_signed_integer(column.type):
        weights = np.asarray(column.cast(pa.int64()).fill_null(-1))
    else:
        distinct, indices = encode(column, name)
        weights = np.array([*(_weight(value) for value in distinct), -1], dtype=np.int64)[indices]
    bad = int(np.count_nonzero(weights < 0))
    failures.add(f"column {name!r}", f"must be a whole number from 0 to {LARGEST}", "correct the counts", bad)
    return weights


def _weight(value: Any) -> int:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    number = parse.number(str(value))
    return int(number) if number is not None and 0 <= number <= LARGEST and parse.whole(number) else -1


def unit_ids(column: pa.Array, name: str, failures: Failures) -> pa.Array:
    """The owners of the records, decoded; NULL, NaN and empty text own nothing and fail."""
    if pa.types.is_timestamp(column.type):
        # Two people whose ids differ by less than the resolution kept would be taken for one.
        raise DataError(f"column {name!r} holds times, which cannot tell units apart: name a column of ids")
    column = plain(column, name)
    if kind_of(column.type, name) == "empty":
        column = column.cast(pa.large_binary())
    if pa.types.is_dictionary(column.type):
        column = column.dictionary.take(column.indices)
    if pa.types.is_floating(column.type):
        # Minus zero becomes zero: the two are equal, and would be told apart by their bits.
        column = pc.add(column, pa.scalar(0.0, column.type))
    missing = int(np.count_nonzero(np.asarray(column.is_null(nan_is_null=True))))
    if pa.types.is_large_binary(column.type):
        missing += int(np.count_nonzero(np.asarray(pc.equal(column, pa.scalar(b"", column.type)).fill_null(False))))
    failures.add(f"column {name!r}", "must name the unit of every record", "remove or correct these records", missing)
    return column
