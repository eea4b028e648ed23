"""Arrow IPC files, cut into batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from margrave.files.extensions import ARROW
from margrave.measure.failures import guarded
from margrave.measure.sources.batches import ROWS
from margrave.measure.sources.registry import FileKind, register


@dataclass(frozen=True)
class ArrowFile:
    """One Arrow IPC (Feather version 2) file."""

    path: Path
    columns: tuple[str, ...]
    trouble: str = field(repr=False)
    total: int | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of the columns, cut to a bounded size."""
        with guarded(lambda: pa.memory_map(str(self.path)), self.trouble) as stream:
            wanted = list(columns) or list(self.columns[:1])
            reader = guarded(lambda: _reader(stream, wanted), self.trouble)
            for position in range(reader.num_record_batches):
                batch = guarded(lambda at=position: reader.get_batch(at).select(wanted), self.trouble)  # type: ignore[misc]
                yield from (batch.slice(start, ROWS) for start in range(0, batch.num_rows, ROWS))


def open_arrow(path: Path) -> ArrowFile:
    """Reads the schema alone."""
    trouble = f"{path} cannot be read as an Arrow IPC (Feather) file: it may be damaged or incomplete"

    def opened() -> ArrowFile:
        with pa.memory_map(str(path)) as stream:
            return ArrowFile(path, tuple(pa.ipc.open_file(stream).schema.names), trouble)

    return guarded(opened, trouble)


def _reader(stream: Any, wanted: list[str]) -> Any:
    names = pa.ipc.open_file(stream).schema.names
    options = pa.ipc.IpcReadOptions(included_fields=sorted(names.index(name) for name in wanted))
    return pa.ipc.open_file(stream, options=options)


register(FileKind("Arrow", ARROW, open_arrow))
