"""Frames in memory: pandas, Polars (eager and lazy), and DuckDB relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from margrave.measure.failures import guarded
from margrave.measure.sources.batches import ROWS
from margrave.measure.sources.registry import Source, SourceKind, register
from margrave.measure.sources.streams import ARROW, Stream, speaks_arrow, stream, unreadable


def is_frame(data: Any) -> bool:
    """Named columns that can be selected before they are converted."""
    # A lazy frame would resolve its columns to say that it has them.
    if is_lazy(data) or isinstance(data, ARROW) or hasattr(data, "mapInArrow"):
        return False
    return speaks_arrow(data) and hasattr(data, "columns") and hasattr(data, "__getitem__")


def is_lazy(data: Any) -> bool:
    """A query that is run when its records are asked for."""
    return hasattr(data, "collect_schema") and hasattr(data, "collect")


def open_frame(data: Any, base: Path) -> Source:
    """A pandas or Polars frame, or a DuckDB relation."""
    names = {str(name): name for name in data.columns}

    def opened(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = [names[name] for name in columns] or list(names.values())[:1]
        part = data.select(*wanted) if hasattr(data, "fetchall") else data[wanted]
        # An index would be converted too, and could fail, though nobody asked for it.
        return stream(part.reset_index(drop=True) if hasattr(part, "reset_index") else part)

    total = None if hasattr(data, "fetchall") else guarded(lambda: len(data), "the frame cannot be read")
    return Stream(tuple(str(name) for name in data.columns), total, opened)


def open_lazy(data: Any, base: Path) -> Source:
    """A Polars lazy frame, of which only the names of its columns are asked for."""
    names = guarded(lambda: tuple(data.collect_schema().names()), unreadable(data))
    return Stream(names, None, lambda columns: _lazy_batches(data, columns))


def _lazy_batches(data: Any, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """In batches where its version can, and collected where it cannot."""
    part = data.select(list(columns)) if columns else data
    if hasattr(part, "collect_batches"):
        return chain.from_iterable(stream(batch) for batch in part.collect_batches(chunk_size=ROWS))
    return stream(part.collect())


register(SourceKind("frames", is_frame, open_frame))
register(SourceKind("lazy frames", is_lazy, open_lazy))
