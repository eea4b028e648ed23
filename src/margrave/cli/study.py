"""``margrave reproduce``: a published study run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import AsJson
from margrave.cli.terminal import notice, print_json, print_table, progress

if TYPE_CHECKING:
    from margrave.study.yang2012.summary import Summary


def reproduce(
    study: Annotated[str, typer.Argument(help="The study: yang2012.", show_default=False)],
    quick: Annotated[bool, typer.Option("--quick", help="Few values of ε and few runs: a minute.")] = False,
    fine: Annotated[bool, typer.Option("--fine", help="All 201 values of ε of the paper: hours.")] = False,
    to: Annotated[
        Path | None, typer.Option("--out", help="The folder of the results; by default the study's name.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Repetitions at each ε: by default 50, with --quick 3.", show_default=False)
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one a core.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Run a published study again on its own public tables. Writes figures and a page; a stopped run goes on."""
    from margrave import __version__
    from margrave.errors import UsageError, suggest
    from margrave.study.yang2012.journal import FEW, FINE, GRID, Settings
    from margrave.study.yang2012.reproduce import reproduce as run

    if study != "yang2012":
        raise UsageError(f"unknown study {study!r}{suggest(study, ('yang2012',))}; there is yang2012")
    if quick and fine:
        raise UsageError("give --quick or --fine, not both")
    settings = Settings(FEW if quick else FINE if fine else GRID, (3 if quick else 50) if runs is None else runs)
    folder = to or Path(study)
    with progress("Running") as update:
        summary = run(folder, settings, __version__, jobs=jobs, progress=update)
    notice("NOT PRIVATE: the noise comes from seeds. The data is public.")
    if as_json:
        print_json(summary.as_dict())
        return
    _show(summary)
    notice(f"The page with all figures: {folder / 'index.html'}")


def _show(summary: Summary) -> None:
    from margrave.study.yang2012.page import ratio_rows, usable_rows

    at = f"{float(summary.reference):g}"
    print_table(
        *ratio_rows(summary), f"Margrave's mean maximal L1 error over the others': at ε = {at}, and the largest"
    )
    print_table(*usable_rows(summary), "The least ε from which on a table is usable (the page has the criteria)")
