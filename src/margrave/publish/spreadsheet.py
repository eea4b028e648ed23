"""A release as one Excel file: a sheet about the guarantee, and a sheet for each table with labels and intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from margrave.errors import UsageError
from margrave.files.writing import write_file
from margrave.planning.promise.guarantee import approximate
from margrave.publish.bundle.parts.description import title_of
from margrave.publish.bundle.words import NOT_PRIVATE, composition
from margrave.publish.report.quality import Quality
from margrave.publish.report.tables import Shown

if TYPE_CHECKING:
    from margrave.publish.released import Released

MOST_SHEETS, MOST_ROWS = 250, 1 << 20
"""What a workbook holds that people can still find their way in, and what a sheet of Excel holds at all."""
_NUMBERS = ("count", "low", "high", "std_error", "unbiased", "variance")
_HEADERS = ("published count", "from", "to", "standard error", "unbiased", "its variance")
_FORBIDDEN = re.compile(r"[\[\]:*?/\\']")


def to_excel(release: Released, path: str | Path) -> Path:
    """Write the file, as a whole or not at all."""
    margins = release.plan.spec.margins
    if len(margins) > MOST_SHEETS or max(map(release.domain.cells, margins)) >= MOST_ROWS:
        raise UsageError(
            f"a workbook holds up to {MOST_SHEETS} tables of fewer than {MOST_ROWS:,} cells: use the other files"
        )
    target = Path(path)
    if target.suffix != ".xlsx":
        raise UsageError(f"{target.name!r} must end in .xlsx")
    write_file(target, workbook(release))
    return target


def workbook(release: Released) -> bytes:
    """The content of the file."""
    try:
        from openpyxl import Workbook
    except ImportError:
        raise UsageError("Excel files need openpyxl: pip install 'margrave[excel]'") from None

    tables = [Shown(release, margin) for margin in release.plan.spec.margins]
    book = Workbook()
    _about(book.active, release, tables)
    for index, shown in enumerate(tables, 1):
        _sheet(book.create_sheet(_name(index, shown.title)), shown)
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def _name(index: int, title: str) -> str:
    """A name that Excel takes: short, and without some letters."""
    return f"{index} {_FORBIDDEN.sub(' ', title)}"[:31].rstrip()


def _write(sheet: Any, row: int, values: Sequence[Any], *, strong: bool = False) -> None:
    """A row of texts and numbers. A text that begins like a formula stays a text."""
    from openpyxl.styles import Alignment, Font

    for column, value in enumerate(values, 1):
        cell = sheet.cell(row, column)
        cell.value = value
        if isinstance(value, str):
            cell.data_type = "s"
            cell.alignment = Alignment(wrap_text=True, vertical="top")
        if strong:
            cell.font = Font(bold=True)


def _about(sheet: Any, release: Released, tables: Sequence[Shown]) -> None:
    """What the tables are, how good they are, and what is guaranteed."""
    sheet.title = "About"
    quality = Quality.of((one.numbers, one.columns["std_error"]) for one in tables)
    private = [] if release.private else [NOT_PRIVATE]
    rows = [
        title_of(release),
        *private,
        quality.sentence(release.level),
        *quality.remarks(),
        f"Privacy loss, at most: {approximate(release.plan.guarantee)}.",
        *release.plan.promise.words(),
        composition(release.ledger),
        f"“from” and “to” hold the true count with {100 * release.level:g} % probability. “unbiased” is right on "
        "average: use it, with its variance, for models and for sums over many cells.",
        *([f"Licence: {release.plan.spec.licence}"] if release.plan.spec.licence else []),
        "Tables:",
        *(f"{index}  {one.title}" for index, one in enumerate(tables, 1)),
    ]
    sheet.column_dimensions["A"].width = 110
    for row, text in enumerate(rows, 1):
        _write(sheet, row, [text], strong=row == 1)


def _sheet(sheet: Any, shown: Shown) -> None:
    """A table, one row a cell, in the declared order."""
    names = [axis.name for axis in shown.axes]
    _write(sheet, 1, [*names, *_HEADERS], strong=True)
    columns = [shown.columns[name].tolist() for name in _NUMBERS]
    for index in range(len(columns[0])):
        _write(sheet, index + 2, [*shown.values(index), *(column[index] for column in columns)])
    for column in range(1, len(names) + len(_HEADERS) + 1):
        widest = max((len(label) for label in shown.axes[column - 1].labels), default=0) if column <= len(names) else 0
        sheet.column_dimensions[sheet.cell(1, column).column_letter].width = min(max(14, widest + 2), 50)
    sheet.freeze_panes = sheet.cell(2, len(names) + 1)
    sheet.auto_filter.ref = sheet.dimensions
