"""``margrave init``: a first spec, for a person to edit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.terminal import notice, print_table, progress

if TYPE_CHECKING:
    from margrave.publish.drafts.draft import Draft


def init(
    data: Annotated[
        str | None, typer.Argument(help="The data: a file, or a table in a database.", show_default=False)
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--out", help="Write the draft to this new file.", show_default=False)
    ] = None,
    codebook: Annotated[
        Path | None,
        typer.Option(help="Read this codebook (CSV, CSVW, Frictionless), and no data.", show_default=False),
    ] = None,
    decimal: Annotated[str | None, typer.Option(help="The sign before fractions: . or ,", show_default=False)] = None,
    delimiter: Annotated[str | None, typer.Option(help="What separates the fields.", show_default=False)] = None,
    encoding: Annotated[str | None, typer.Option(help="Such as windows-1252.", show_default=False)] = None,
) -> None:
    """Draft a spec for a person to edit. Reads the data, if no codebook is given: what it prints is not private."""
    from margrave import pipeline
    from margrave.errors import UsageError
    from margrave.files.writing import check_target, write_file

    if data is None and codebook is None:
        raise UsageError("name the data to draft a spec for, or a codebook with --codebook")
    if to is not None:
        check_target(to, "a spec")
    name = _from(to, _without_password(data or "data.csv"))
    given = {"decimal": decimal, "delimiter": delimiter, "encoding": encoding}
    written = {key: value for key, value in given.items() if value is not None}
    if codebook is not None:
        draft = pipeline.drafted_from_codebook(codebook, name=name, written=written)
    else:
        with progress("Reading") as update:
            draft = pipeline.drafted(data, name=name, written=written, progress=update)
        notice("margrave init READS THE DATA: the values in the draft come from it and are not protected.")
        notice("Check each line against what is public, then remove 'draft = true'.")
    if to is None:
        typer.echo(draft.text, nl=False)
    else:
        write_file(to, draft.text.encode())
        notice(f"Written to {to}. What it would cost and be worth: 'margrave plan {to}'.")
    _show_forecast(draft)


def _without_password(source: str) -> str:
    """A source as it may be written down: a password in a URL is left out."""
    return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", source)


def _from(to: Path | None, source: str) -> str:
    """A source relative to the file that names it."""
    if to is None or "://" in source or Path(source).is_absolute():
        return source
    return os.path.relpath(source, to.parent)


def _show_forecast(draft: Draft, most: int = 12) -> None:
    """What the tables of the draft would be worth. For the curator alone, since it tells how many records there are."""
    from margrave import pipeline
    from margrave.algebra.words import number
    from margrave.errors import MargraveError
    from margrave.spec.spec import Spec

    try:
        with progress("Forecasting"):
            spec = Spec.parse(draft.text)
            found = pipeline.plan(spec)
    except MargraveError as error:
        notice(f"The draft cannot be planned yet: {error}")
        return
    rows = []
    for row in found.forecast[:most]:
        cells = spec.domain.cells(row.margin)
        mean = "" if draft.records is None else number(draft.records / cells)
        rows.append((", ".join(row.margin) or "total", f"{cells:,}", mean, f"±{number(row.half_width)}"))
    heads = ("table", "cells", "records a cell", "95 % within")
    print_table(heads, rows, "What to expect of the draft", to_stderr=True)
    if len(found.forecast) > most:
        notice(f"and {len(found.forecast) - most} more tables: see 'margrave plan'.")
