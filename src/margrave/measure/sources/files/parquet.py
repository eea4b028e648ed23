"""Parquet files, read in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet

from margrave.files.extensions import PARQUET
from margrave.measure.failures import guarded
from margrave.measure.sources.batches import batch_rows
from margrave.measure.sources.registry import FileKind, register


@dataclass(frozen=True)
class Parquet:
    """One Parquet file, or only some of its row groups. ``path``: whatever Arrow opens.

    ``constants`` are the columns that its path adds: ``region=N/part.parquet``.
    """

    path: Any = field(repr=False)
    columns: tuple[str, ...]
    total: int | None = field(repr=False)
    texts: frozenset[str] = field(repr=False)
    constants: dict[str, str | None] = field(repr=False)
    trouble: str = field(repr=False)
    groups: tuple[int, ...] | None = field(repr=False, default=None)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of the columns; text as dictionaries, as Parquet holds it."""
        wanted = list(columns) or list(self.columns[:1])
        stored = [name for name in wanted if name not in self.constants]

        def opened() -> Any:
            texts = [name for name in stored if name in self.texts]
            # Buffering ahead would keep all that was read, so that memory would follow the size of the file.
            return pa.parquet.ParquetFile(self.path, read_dictionary=texts, pre_buffer=False)

        with guarded(opened, self.trouble) as file:
            rows = batch_rows(len(stored))
            batches = guarded(lambda: file.iter_batches(rows, row_groups=self.groups, columns=stored), self.trouble)
            while (batch := guarded(lambda: next(batches, None), self.trouble)) is not None:
                yield guarded(lambda batch=batch: self._complete(batch, wanted), self.trouble)  # type: ignore[misc]

    def _complete(self, batch: pa.RecordBatch, wanted: list[str]) -> pa.RecordBatch:
        for name in wanted:
            if name in self.constants:
                batch = batch.append_column(name, pa.array([self.constants[name]] * batch.num_rows, pa.string()))
        return batch.select(wanted)


def open_file(path: Path, folder: Path | None = None) -> Parquet:
    """Reads the footer alone. In a folder, errors name the folder, since the path below it may hold values."""
    where = f"a file in {folder}" if folder else str(path)
    trouble = f"{where} cannot be read as Parquet: it may be damaged or incomplete"
    return open_parquet(path, constants_of(path.relative_to(folder)) if folder else {}, trouble)


def open_parquet(path: Any, found: Mapping[str, str | None], trouble: str) -> Parquet:
    """What Arrow opens, with the columns that were ``found`` in its path; ``trouble`` is said where that fails."""

    def opened() -> Parquet:
        with pa.parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
        texts = frozenset(one.name for one in schema if pa.types.is_string(one.type) or pa.types.is_binary(one.type))
        constants = {name: value for name, value in found.items() if name not in schema.names}
        return Parquet(path, (*schema.names, *constants), rows, texts, constants, trouble)

    return guarded(opened, trouble)


def constants_of(path: PurePath) -> dict[str, str | None]:
    """The columns that a path below a folder adds."""
    pairs = [part.split("=", 1) for part in path.parts[:-1] if "=" in part]
    return {name: None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value) for name, value in pairs}


register(FileKind("Parquet", PARQUET, open_file, in_folder=open_file))
