"""Opening data of any kind as a stream of Arrow record batches. Imported here, each kind is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from margrave.errors import UsageError
from margrave.measure.sources import arrow_files as arrow_files
from margrave.measure.sources import delimited as delimited
from margrave.measure.sources import duckdb_files as duckdb_files
from margrave.measure.sources import frames as frames
from margrave.measure.sources import parquet as parquet
from margrave.measure.sources import paths as paths
from margrave.measure.sources import postgresql as postgresql
from margrave.measure.sources import streams as streams
from margrave.measure.sources.registry import Source as Source
from margrave.measure.sources.registry import check_columns as check_columns
from margrave.measure.sources.registry import source_kinds


def open_source(data: Any, base: Path | None = None) -> Source:
    """The source behind a path, a glob, a database or a table in memory.

    ``data`` is a path (relative to ``base``) of delimited text, Parquet or Arrow files; a table in a database, as
    ``survey.duckdb?table=people`` or ``postgresql://user@host/db?table=people``; or any object that speaks the Arrow
    stream protocol: a pandas or Polars frame, an Arrow table, reader or dataset, a DuckDB relation.
    """
    for kind in source_kinds():
        if kind.accepts(data):
            return kind.open(data, base or Path())
    raise UsageError(
        f"data cannot be a {type(data).__name__}: give a path, a pandas or Polars frame, an Arrow table or reader, "
        "or a DuckDB relation"
    )
