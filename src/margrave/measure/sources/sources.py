"""Sources: every kind of data as a stream of Arrow record batches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.dataset

from margrave.errors import DataError, UsageError, suggest
from margrave.measure.failures import guarded
from margrave.measure.sources.databases import DUCKDB, SCHEMES, is_duckdb, open_duckdb, open_postgres
from margrave.measure.sources.delimited import COMPRESSIONS, SUFFIXES, open_delimited
from margrave.measure.sources.files import ROWS, batch_rows, open_arrow, open_parquet

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")

_TOTAL_FILES = 64
_URL = re.compile(r"[A-Za-z][\w+.-]+:/")


class Source(Protocol):
    """Records that can be streamed. ``total`` is their number where that is cheap to know, for progress only."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def total(self) -> int | None: ...

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of just these columns, in this order; with no columns, batches of any one, for counting records."""


def open_source(data: Any, base: Path | None = None) -> Source:
    """The source behind a path, a glob, a database or a table in memory.

    ``data`` is a path (relative to ``base``) of delimited text, Parquet or Arrow files; a table in a database, as
    ``survey.duckdb?table=people`` or ``postgresql://user@host/db?table=people``; or any object that speaks the Arrow
    stream protocol: a pandas or Polars frame, an Arrow table, reader or dataset, a DuckDB relation.
    """
    if isinstance(data, str | Path):
        return _open_path(data, base or Path())
    return _open_object(data)


def check_columns(source: Source, wanted: Sequence[str]) -> None:
    """Every wanted column must be there exactly once; column names are public."""
    times = Counter(source.columns)
    for name in wanted:
        if not times[name]:
            raise DataError(f"the data has no column {name!r}{suggest(name, times)}")
        if times[name] > 1:
            raise DataError(f"the data has {times[name]} columns called {name!r}: rename all but one")


def _open_path(data: str | Path, base: Path) -> Source:
    text = str(data)
    if text.startswith(SCHEMES):
        return open_postgres(text)
    if _URL.match(text):
        # Not repeated: it may hold a password.
        raise UsageError(
            "data cannot be a URL of this kind: only postgresql://user@host/db?table=people is known, as text (a Path "
            "does not keep it whole)"
        )
    if is_duckdb(text):
        return open_duckdb(text, base)
    path = base / data
    if path.is_dir():
        inside = (file for file in path.rglob("*") if file.suffix.lower() in PARQUET and file.is_file())
        files = sorted(file for file in inside if not _hidden(file.relative_to(path)))
        if not files:
            raise DataError(f"{path} is a folder without Parquet files ({', '.join(PARQUET)})")
        return _chain([open_parquet(file, path) for file in files])
    if path.exists():
        return _open_file(path)
    if any(letter in str(data) for letter in "*?["):
        pattern = path.absolute()
        files = sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
        if not files:
            raise DataError(f"no file matches {path}")
        return _chain([_open_file(file) for file in files if file.is_file()])
    raise DataError(f"{path} does not exist")


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _open_file(path: Path) -> Source:
    if not path.is_file():
        raise DataError(f"{path} is no ordinary file: a pipe or a device cannot be read twice, and might never end")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-1] if suffixes else ""
    if last in PARQUET:
        return open_parquet(path)
    if last in ARROW:
        return open_arrow(path)
    inner = suffixes[-2] if last in COMPRESSIONS and len(suffixes) > 1 else last
    if inner in SUFFIXES:
        return open_delimited(path)
    known = ", ".join([*SUFFIXES, *PARQUET, *ARROW, *DUCKDB])
    packed = ", ".join(COMPRESSIONS)
    raise UsageError(f"{path} has an unknown extension: known are {known}; text may be compressed too ({packed})")


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


@dataclass(frozen=True)
class Chain:
    """Several files read one after the other, each by its own types. All must have the wanted columns."""

    parts: tuple[Source, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.parts[0].columns

    @property
    def total(self) -> int | None:
        if len(self.parts) > _TOTAL_FILES:
            return None
        totals = [part.total for part in self.parts]
        return None if None in totals else sum(total for total in totals if total is not None)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for position, part in enumerate(self.parts, start=1):
            try:
                check_columns(part, columns)
            except DataError as error:
                # The path of a part can hold a value (a partition's), so it is named by its position.
                raise DataError(f"file {position} of {len(self.parts)}: {error}") from None
        return chain.from_iterable(part.batches(columns) for part in self.parts)


def _chain(parts: Sequence[Source]) -> Source:
    return parts[0] if len(parts) == 1 else Chain(tuple(parts))


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


def _open_object(data: Any) -> Source:
    if isinstance(data, pyarrow.dataset.Dataset):
        return Dataset(tuple(data.schema.names), data, "the Arrow dataset cannot be read: a file may be damaged")
    kind = type(data).__name__
    trouble = f"a {kind} cannot be read as Arrow: every column needs a name and one type"
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        names = guarded(lambda: tuple(data.collect_schema().names()), trouble)
        return Stream(names, None, lambda columns: _lazy_batches(data, columns))
    if not hasattr(data, "__arrow_c_stream__"):
        raise UsageError(
            f"data cannot be a {kind}: give a path, a pandas or Polars frame, an Arrow table or reader, "
            "or a DuckDB relation"
        )
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return _once(data)
    if isinstance(data, pa.Table):
        return Stream(tuple(data.schema.names), data.num_rows, lambda columns: _batches(data))
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        return _open_frame(data)
    # Reading the schema of an unknown stream may consume it, so the one reader is kept.
    reader = guarded(lambda: pa.RecordBatchReader.from_stream(data), trouble)
    return _once(reader)


def _once(reader: pa.RecordBatchReader) -> Source:
    """A reader gives its batches to the first who asks; the second would silently count nothing."""
    used: list[None] = []

    def opened(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if used:
            raise UsageError("a stream can be read only once: make a new one, or pass a table")
        used.append(None)
        return iter(reader)

    return Stream(tuple(reader.schema.names), None, opened)


def _open_frame(data: Any) -> Source:
    """A pandas or Polars frame, or a DuckDB relation: named columns that can be selected before they are converted."""
    names = {str(name): name for name in data.columns}

    def opened(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = [names[name] for name in columns] or list(names.values())[:1]
        part = data.select(*wanted) if hasattr(data, "fetchall") else data[wanted]
        # An index would be converted too, and could fail, though nobody asked for it.
        return _batches(part.reset_index(drop=True) if hasattr(part, "reset_index") else part)

    total = None if hasattr(data, "fetchall") else guarded(lambda: len(data), "the frame cannot be read")
    return Stream(tuple(str(name) for name in data.columns), total, opened)


def _batches(data: Any) -> Iterator[pa.RecordBatch]:
    return iter(pa.RecordBatchReader.from_stream(data))


def _lazy_batches(data: Any, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """A Polars lazy frame, in batches where its version can and collected where it cannot."""
    part = data.select(list(columns)) if columns else data
    if hasattr(part, "collect_batches"):
        return chain.from_iterable(_batches(batch) for batch in part.collect_batches(chunk_size=ROWS))
    return _batches(part.collect())
