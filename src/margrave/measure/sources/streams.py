"""What is in memory, or the result of a query, read through the Arrow stream protocol; and Arrow datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset

from margrave.errors import UsageError
from margrave.measure.failures import guarded
from margrave.measure.sources.batches import ROWS, batch_rows
from margrave.measure.sources.registry import Source, SourceKind, register

ARROW = (pa.Table, pa.RecordBatch, pa.RecordBatchReader)


@dataclass(frozen=True)
class Stream:
    """A table in memory or a query result, read through the Arrow stream protocol."""

    columns: tuple[str, ...]
    total: int | None = field(repr=False)
    open: Callable[[Sequence[str]], Iterator[pa.RecordBatch]] = field(repr=False)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        trouble = "the data cannot be read as Arrow: every column needs one type, and a query must not fail"
        batches = guarded(lambda: self.open(columns), trouble)
        while (batch := guarded(lambda: next(batches, None), trouble)) is not None:
            wanted = list(columns) or batch.schema.names[:1]
            step = guarded(lambda batch=batch, wanted=wanted: batch.select(wanted), trouble)  # type: ignore[misc]
            yield from (step.slice(start, ROWS) for start in range(0, step.num_rows, ROWS))


@dataclass(frozen=True)
class Dataset:
    """An Arrow dataset that the caller has built; how far it reads ahead is its own affair."""

    columns: tuple[str, ...]
    dataset: Any = field(repr=False)
    trouble: str = field(repr=False)
    total: int | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = list(columns) or list(self.columns[:1])
        # Little is read ahead, so that memory does not follow the size of the file.
        batches = guarded(
            lambda: iter(
                self.dataset.scanner(
                    columns=wanted, batch_size=batch_rows(len(wanted)), batch_readahead=4, fragment_readahead=1
                ).to_batches()
            ),
            self.trouble,
        )
        while (batch := guarded(lambda: next(batches, None), self.trouble)) is not None:
            yield batch


def stream(data: Any) -> Iterator[pa.RecordBatch]:
    """The batches of whatever speaks the protocol."""
    return iter(pa.RecordBatchReader.from_stream(data))


def speaks_arrow(data: Any) -> bool:
    """Whether an object gives its records as an Arrow stream."""
    return hasattr(data, "__arrow_c_stream__")


def unreadable(data: Any) -> str:
    """What is said of an object that cannot be opened."""
    return f"a {type(data).__name__} cannot be read as Arrow: every column needs a name and one type"


def _open_arrow(data: Any, base: Path) -> Source:
    if isinstance(data, pa.RecordBatchReader):
        return _once(data)
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    return Stream(tuple(table.schema.names), table.num_rows, lambda columns: stream(table))


def _open_dataset(data: Any, base: Path) -> Source:
    return Dataset(tuple(data.schema.names), data, "the Arrow dataset cannot be read: a file may be damaged")


def _open_stream(data: Any, base: Path) -> Source:
    # Reading the schema of an unknown stream may consume it, so the one reader is kept.
    return _once(guarded(lambda: pa.RecordBatchReader.from_stream(data), unreadable(data)))


def _once(reader: pa.RecordBatchReader) -> Source:
    """A reader gives its batches to the first who asks; the second would silently count nothing."""
    used: list[None] = []

    def opened(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if used:
            raise UsageError("a stream can be read only once: make a new one, or pass a table")
        used.append(None)
        return iter(reader)

    return Stream(tuple(reader.schema.names), None, opened)


register(SourceKind("Arrow tables and readers", lambda data: isinstance(data, ARROW), _open_arrow))
register(
    SourceKind("Arrow datasets", lambda data: isinstance(data, pyarrow.dataset.Dataset), _open_dataset),
)
register(SourceKind("Arrow streams", speaks_arrow, _open_stream, general=True))
