"""``margrave reproduce``: published studies run again, and one that was left empty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import AsJson
from margrave.cli.terminal import notice, print_json, print_table, progress, say

if TYPE_CHECKING:
    from margrave.study.yang2012.summary import Summary


def reproduce(
    study: Annotated[str, typer.Argument(help="yang2012, cuboids, generalisation or warner.", show_default=False)],
    quick: Annotated[bool, typer.Option("--quick", help="Few values of ε and few runs: a minute.")] = False,
    fine: Annotated[bool, typer.Option("--fine", help="All 201 values of ε of the paper: hours.")] = False,
    to: Annotated[
        Path | None, typer.Option("--out", help="The folder of the results; by default the study's name.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Repetitions; of yang2012 50 by default.", show_default=False)
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one a core.", show_default=False)] = None,
    again: Annotated[
        str | None, typer.Option(help="Of yang2012: run one algorithm anew, such as adaptive.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a published study again on its own public tables. Writes figures and a page; a stopped run goes on."""
    from margrave import __version__
    from margrave.errors import UsageError, suggest
    from margrave.study.yang2012.journal import FEW, FINE, GRID, Settings
    from margrave.study.yang2012.reproduce import reproduce as run

    if study in _SHORT:
        if quick or fine or jobs is not None or again is not None:
            raise UsageError(f"{study} takes --runs, and is done in a minute: leave the other options out")
        _SHORT[study](to or Path(study), runs, as_json)
        return
    if study != "yang2012":
        known = ("yang2012", *_SHORT)
        raise UsageError(f"unknown study {study!r}{suggest(study, known)}; there are {', '.join(known)}")
    if quick and fine:
        raise UsageError("give --quick or --fine, not both")
    settings = Settings(FEW if quick else FINE if fine else GRID, (3 if quick else 50) if runs is None else runs)
    folder = to or Path(study)
    with progress("Running") as update:
        summary = run(folder, settings, __version__, jobs=jobs, again=again, progress=update)
    notice("NOT PRIVATE: the noise comes from seeds. The data is public.")
    if as_json:
        print_json(summary.as_dict())
        return
    _show(summary)
    notice(f"The page with all figures: {folder / 'index.html'}")


def _cuboids(folder: Path, runs: int | None, as_json: bool) -> None:
    """Price and variance of exact cuboids, with the figure in a new folder."""
    from dataclasses import asdict

    from margrave.planning.describe import number
    from margrave.study.cuboids import RUNS, reading, reproduce

    with progress("Running"):
        rows = reproduce(folder, runs=RUNS if runs is None else runs)
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        for table in dict.fromkeys(row.table for row in rows):
            print_table(
                ("exact cuboids", "overlap", "S", "before", "after", "measured", "of no facts", "planned RMSE"),
                [
                    (
                        *(row.name, str(row.overlap), str(row.price)),
                        *(number(one) for one in (row.before, row.after, row.measured, row.worth)),
                        "refused" if row.planned is None else number(row.planned),
                    )
                    for row in rows
                    if row.table == table
                ],
                f"{table}: variance of a cell of the base table at ε = 1",
            )
        say(reading(rows))
    notice(f"The figure and the numbers: {folder}")


def _generalisation(folder: Path, runs: int | None, as_json: bool) -> None:
    """Overfitting of a model that is chosen on exact and on private tables. Writes nothing."""
    from dataclasses import asdict

    from margrave.study.generalisation import reading, study

    with progress("Running"):
        rows = study(10 if runs is None else runs, "generalisation")
    if as_json:
        plain = [asdict(row) | {"epsilon": row.epsilon and float(row.epsilon), "gap": row.gap} for row in rows]
        print_json(plain)
        return
    print_table(
        ("tables", "own records", "fresh records", "gap", "gap at most", "true ones chosen"),
        [
            (
                "exact" if row.epsilon is None else f"ε = {float(row.epsilon):g}",
                *(f"{100 * one:.1f} %" for one in (row.own, row.fresh, row.gap, row.most)),
                f"{row.true:.1f}",
            )
            for row in rows
        ],
        "How often the vote is right, about the records it was chosen on and about fresh ones",
    )
    say(reading(rows))


def _warner(folder: Path, runs: int | None, as_json: bool) -> None:
    """Two coins, how many must answer, and the same tables with a curator and without one, in a new folder."""
    from margrave.files.writing import check_target
    from margrave.study.warner.page import BOTH_HEADERS, COIN_HEADERS, NEEDED_HEADERS, both_rows, coin_rows, needed_rows
    from margrave.study.warner.page import reproduce as run

    check_target(folder)
    with progress("Running") as update:
        summary = run(folder, 50 if runs is None else runs, update)
    notice("NOT PRIVATE: the noise comes from seeds. The data is public.")
    if as_json:
        print_json(summary.as_dict())
        return
    print_table(COIN_HEADERS, coin_rows(summary), "Two coins for each of 1000 people")
    print_table(NEEDED_HEADERS, needed_rows(summary), "Respondents for a standard error of 1 %, half saying yes")
    print_table(BOTH_HEADERS, both_rows(summary), "Error of a share, with a curator and without one")
    notice(f"The page with the plot: {folder / 'index.html'}")


_SHORT = {"cuboids": _cuboids, "generalisation": _generalisation, "warner": _warner}


def _show(summary: Summary) -> None:
    from margrave.study.yang2012.page import ratio_rows, usable_rows

    at = f"{float(summary.reference):g}"
    print_table(
        *ratio_rows(summary), f"Margrave's mean maximal L1 error over the others': at ε = {at}, and the largest"
    )
    print_table(*usable_rows(summary), "The least ε from which on a table is usable (the page has the criteria)")
