"""Opening data of any kind as a stream of Arrow record batches. Imported here, each kind is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from margrave.errors import UsageError
from margrave.measure.sources import frames as frames
from margrave.measure.sources import paths as paths
from margrave.measure.sources import streams as streams
from margrave.measure.sources.databases import duckdb_files as duckdb_files
from margrave.measure.sources.databases import postgresql as postgresql
from margrave.measure.sources.files import arrow_files as arrow_files
from margrave.measure.sources.files import delimited as delimited
from margrave.measure.sources.files import parquet as parquet
from margrave.measure.sources.files import spreadsheets as spreadsheets
from margrave.measure.sources.files import survey_files as survey_files
from margrave.measure.sources.registry import Source as Source
from margrave.measure.sources.registry import check_columns as check_columns
from margrave.measure.sources.registry import no_dialect, source_kinds
from margrave.measure.spark import sources as sources
from margrave.spec.dialect import USUAL, Dialect


def open_source(data: Any, base: Path | None = None, dialect: Dialect = USUAL) -> Source:
    """The source behind a path, a glob, a database or a table in memory.

    ``data`` is a path (relative to ``base``) of delimited text, Parquet or Arrow files; a table in a database, as
    ``survey.duckdb?table=people`` or ``postgresql://user@host/db?table=people``; data on a cluster, as a frame of
    Spark, ``spark:catalog.db.table`` or ``spark:parquet:path``; or any object that speaks the Arrow stream protocol: a
    pandas or Polars frame, an Arrow table, reader or dataset, a DuckDB relation. ``dialect``: how delimited text is
    written.
    """
    for kind in source_kinds():
        if kind.accepts(data):
            if not dialect.of_text:
                return kind.open(data, base or Path())
            if kind.open_as is None:
                raise no_dialect(kind.name)
            return kind.open_as(data, base or Path(), dialect)
    raise UsageError(
        f"data cannot be a {type(data).__name__}: give a path, a pandas or Polars frame, an Arrow table or reader, "
        "a DuckDB relation, or a frame of Spark"
    )
