"""A sheet of a workbook (Excel, OpenDocument), as ``survey.xlsx`` or ``survey.xlsx?sheet=People``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from margrave.errors import DataError, UsageError, suggest
from margrave.files.extensions import SPREADSHEETS
from margrave.measure.failures import guarded
from margrave.measure.sources.batches import ROWS
from margrave.measure.sources.databases.common import missing
from margrave.measure.sources.paths import check_readable
from margrave.measure.sources.registry import SourceKind, names_part, register


@dataclass(frozen=True)
class Worksheet:
    """One sheet, whose first row that is not blank has the names of the columns. A workbook is held in memory."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]] = field(repr=False)

    @property
    def total(self) -> int | None:
        return len(self.rows)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of the columns, each of one type throughout the sheet."""
        wanted = list(columns) or list(self.columns[:1])
        table = pa.table({name: _column(self.rows, self.columns.index(name)) for name in wanted})
        yield from table.to_batches(max_chunksize=ROWS)


def is_spreadsheet(data: Any) -> bool:
    """Whether data names a workbook, with or without its sheet."""
    return names_part(data, SPREADSHEETS)


def open_spreadsheet(data: str | Path, base: Path) -> Worksheet:
    """The sheet that is named, or the only one that holds anything."""
    name, _, query = str(data).partition("?")
    path = base / name
    check_readable(path)
    try:
        import python_calamine
    except ImportError:
        raise missing("a workbook", "files") from None
    trouble = f"{path} cannot be read as a workbook: it may be damaged, incomplete or locked by a password"
    book = guarded(lambda: python_calamine.CalamineWorkbook.from_path(str(path)), trouble)
    sheets = {one: guarded(lambda one=one: _rows(book, one), trouble) for one in _wanted(book.sheet_names, query, path)}  # type: ignore[misc]
    held = {one: rows for one, rows in sheets.items() if rows}
    if not held:
        raise DataError(f"{path} is empty: a sheet needs a first row with the names of the columns")
    if len(held) > 1:
        names = ", ".join(held)
        raise UsageError(f"{path} has several sheets ({names}): name one, as in {path.name}?sheet={next(iter(held))}")
    ((header, *rows),) = held.values()
    width = max((place for place, cell in enumerate(header, 1) if cell not in ("", None)), default=0)
    return Worksheet(tuple(str(cell).strip() for cell in header[:width]), rows)


def _wanted(names: Sequence[str], query: str, path: Path) -> list[str]:
    if not query:
        return list(names)
    if not query.startswith("sheet=") or "&" in query:
        raise UsageError(f"a workbook takes ?sheet= and nothing else, as in {path.name}?sheet={names[0]}")
    name = unquote(query.removeprefix("sheet="))
    if name not in names:
        raise UsageError(f"{path} has no sheet {name!r}{suggest(name, names) or '; it has ' + ', '.join(names)}")
    return [name]


def _rows(book: Any, name: str) -> list[list[Any]]:
    """The rows that are not blank."""
    rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    return [row for row in rows if any(cell not in ("", None) for cell in row)]


def _column(rows: Sequence[Sequence[Any]], place: int) -> pa.Array:
    """One column. Numbers, dates and booleans stay what they are where all cells are; otherwise all become text."""
    cells = [None if row[place] == "" else row[place] for row in rows]
    kinds = {_kind(cell) for cell in cells if cell is not None}
    if kinds == {float}:
        whole = all(cell is None or float(cell).is_integer() for cell in cells)
        return pa.array([None if cell is None else int(cell) if whole else float(cell) for cell in cells])
    if kinds in ({bool}, {str}):
        return pa.array(cells)
    if kinds == {date}:
        return pa.array([None if cell is None else date(cell.year, cell.month, cell.day) for cell in cells])
    return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


def _kind(cell: Any) -> type:
    """What a cell holds: text, a number, a boolean, a day, or something else."""
    if isinstance(cell, bool):
        return bool
    if isinstance(cell, int | float):
        return float
    return date if isinstance(cell, date) else type(cell)


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell if isinstance(cell, str) else str(cell).lower() if isinstance(cell, bool) else str(cell)


register(SourceKind("workbooks", is_spreadsheet, open_spreadsheet, SPREADSHEETS))
