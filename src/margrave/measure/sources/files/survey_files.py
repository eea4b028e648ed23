"""Files of SPSS, Stata and SAS. Their headers carry the survey's own codebook: titles of columns, labels of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from margrave.files.extensions import SURVEYS
from margrave.measure.failures import guarded
from margrave.measure.sources.batches import ROWS
from margrave.measure.sources.databases.common import missing
from margrave.measure.sources.registry import ColumnLabels, FileKind, register

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_CHUNK = 1 << 18
"""Rows that are asked for at once: the reader finds its place anew each time."""


@dataclass(frozen=True)
class SurveyFile:
    """One file. ``labels``: what its header says of the columns, which is taken to be public."""

    path: Path
    columns: tuple[str, ...]
    total: int | None = field(repr=False)
    labels: Mapping[str, ColumnLabels] = field(repr=False)
    types: Mapping[str, str] = field(repr=False)
    trouble: str = field(repr=False)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of the columns; values that the file calls missing are missing."""
        wanted = list(columns) or list(self.columns[:1])
        start, read = 0, _CHUNK
        while read == _CHUNK:
            table = guarded(lambda start=start: self._chunk(wanted, start), self.trouble)  # type: ignore[misc]
            yield from table.to_batches(max_chunksize=ROWS)
            read = table.num_rows
            start += read

    def _chunk(self, wanted: list[str], start: int) -> pa.Table:
        options = {"usecols": wanted, "row_offset": start, "row_limit": _CHUNK, "output_format": "dict"}
        found, _ = _reader(self.path)(str(self.path), **options)
        return pa.table({name: _column(found[name], self.types[name]) for name in wanted})


def open_survey(path: Path) -> SurveyFile:
    """Reads the header alone."""
    trouble = f"{path} cannot be read as a file of SPSS, Stata or SAS: it may be damaged, incomplete or locked"
    try:
        read = _reader(path)
    except ImportError:
        raise missing("files of SPSS, Stata and SAS", "files") from None
    options = {"user_missing": True} if "user_missing" in (read.__doc__ or "") else {}
    _, meta = guarded(lambda: read(str(path), metadataonly=True, output_format="dict", **options), trouble)
    rows = meta.number_rows if isinstance(meta.number_rows, int) and meta.number_rows >= 0 else None
    names = tuple(meta.column_names)
    return SurveyFile(path, names, rows, _labels(names, meta), dict(meta.readstat_variable_types), trouble)


def _reader(path: Path) -> Any:
    import pyreadstat

    return getattr(pyreadstat, _READERS[path.suffix.lower()])


def _labels(names: Sequence[str], meta: Any) -> dict[str, ColumnLabels]:
    """Titles and labels by column; labels of values that the file calls missing are left out."""
    found = {}
    for name in names:
        absent = meta.missing_ranges.get(name, ())
        labelled = meta.variable_value_labels.get(name, {})
        values = {_text(value): str(label) for value, label in labelled.items() if not _within(value, absent)}
        found[name] = ColumnLabels(meta.column_names_to_labels.get(name) or "", values)
    return found


def _within(value: Any, ranges: Sequence[Mapping[str, Any]]) -> bool:
    try:
        return any(one["lo"] <= value <= one["hi"] for one in ranges)
    except TypeError:  # a missing value of text beside a label of a number
        return False


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _column(values: Any, stored: str) -> pa.Array:
    """Whole numbers where all are; text as it is."""
    if stored == "string":
        return pa.array(values, pa.string())
    column = pa.array(values)
    if pa.types.is_floating(column.type) and all(value is None or float(value).is_integer() for value in values):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return column


register(FileKind("SPSS, Stata and SAS", SURVEYS, open_survey))
