"""Data on a cluster: a frame of Spark, a table of its catalogue, or Parquet files that its workers read themselves.

They are named ``spark:catalog.db.table`` and ``spark:parquet:path``. Where the cluster is, is said as always with
Spark: by the session that is there, or by its configuration and environment (``SPARK_REMOTE``, ``spark-submit``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from margrave.errors import UsageError
from margrave.measure.failures import guarded
from margrave.measure.sources.batches import ROWS
from margrave.measure.sources.databases.common import missing
from margrave.measure.sources.registry import SourceKind, register
from margrave.measure.spark.pieces import ParquetFiles, Pieces, listed
from margrave.spec.document import SPARK, SPARK_PARQUET

_TROUBLE = "the frame of Spark cannot be read: a query of its own fails, or the cluster cannot be reached"


@dataclass(frozen=True)
class SparkFrame:
    """A frame of Spark. ``batches`` brings its records here, partition by partition; to count them, none need come."""

    columns: tuple[str, ...]
    frame: Any = field(repr=False)
    total: int | None = None

    @property
    def session(self) -> Any:
        return self.frame.sparkSession

    def chosen(self, columns: Sequence[str]) -> Any:
        """The frame of these columns, or of any one, by their places: names may hold dots, or differ by case alone."""
        places = [self.columns.index(name) for name in columns] or [0]
        renamed = self.frame.toDF(*(f"c{place}" for place in range(len(self.columns))))
        return renamed.select(*(f"c{place}" for place in places))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        names = list(columns) or list(self.columns[:1])
        reader = guarded(lambda: pa.RecordBatchReader.from_stream(self.chosen(columns)), _TROUBLE)
        while (batch := guarded(lambda: next(reader, None), _TROUBLE)) is not None:
            whole = pa.RecordBatch.from_arrays(batch.columns, names=names)
            yield from (whole.slice(start, ROWS) for start in range(0, whole.num_rows, ROWS))


@dataclass(frozen=True)
class SparkFiles:
    """Parquet files that the workers read. ``columns``: those of the first file."""

    columns: tuple[str, ...]
    files: ParquetFiles = field(repr=False)
    total: int | None = None

    @property
    def session(self) -> Any:
        return session()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return Pieces(self.columns, self.files, self.files.files).batches(columns)


def is_spark_frame(data: Any) -> bool:
    """Whether data is a frame of Spark, classic or connected; pyspark is not imported to find out."""
    return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "mapInArrow")


def is_spark(data: Any) -> bool:
    """Whether data is a frame of Spark, or text that names data there."""
    return is_spark_frame(data) or (isinstance(data, str) and data.startswith(SPARK))


def open_spark(data: Any, base: Path) -> SparkFrame | SparkFiles:
    """The frame, table or files; asks for columns alone."""
    if not isinstance(data, str):
        return SparkFrame(guarded(lambda: tuple(data.columns), _TROUBLE), data)
    if data.startswith(SPARK_PARQUET):
        place = data.removeprefix(SPARK_PARQUET)
        files = listed(place if "://" in place else str(base / place))
        return SparkFiles(files.opened(files.files[0]).columns, files)
    name = data.removeprefix(SPARK)
    if not name.strip() or name.startswith("/"):
        raise UsageError("a table of Spark is written spark:people, spark:db.people or spark:catalog.db.people")
    opened = session()
    trouble = "Spark has no such table, or it may not be read: check the name after 'spark:' and the catalogue"
    frame = guarded(lambda: opened.table(name), trouble)
    return SparkFrame(guarded(lambda: tuple(frame.columns), trouble), frame)


def session() -> Any:
    """The session that is there, or one as the usual configuration of Spark says."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing("data of Spark", "spark") from None
    trouble = (
        "Spark cannot be started or reached: it needs Java 17 or newer here, or the address of a server in SPARK_REMOTE"
    )
    return guarded(lambda: SparkSession.getActiveSession() or SparkSession.builder.getOrCreate(), trouble)


register(SourceKind("Spark", is_spark, open_spark))
