"""``margrave evaluate``: releases compared with the truth, for data that is not confidential."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import AsJson, DataPath, SpecPath, amounts, parts
from margrave.cli.terminal import notice, print_csv, print_json, print_table, progress, say

if TYPE_CHECKING:
    from margrave.study.evaluate import Evaluation


def evaluate(
    spec: SpecPath,
    data: DataPath = None,
    budgets: Annotated[str, typer.Option(help="Budgets to compare: ε, or ρ if the spec has that.")] = "0.1,0.5,1,2",
    strategies: Annotated[str, typer.Option(help="Strategies to compare.")] = "auto",
    methods: Annotated[str, typer.Option(help="Methods of non-negativity; none is unbiased.")] = "auto,none",
    runs: Annotated[int, typer.Option(min=1, help="How many releases of each kind.")] = 10,
    seed: Annotated[str, typer.Option(help="Where the noise comes from: the same seed, the same numbers.")] = "1",
    to: Annotated[
        Path | None, typer.Option("--out", help="Write tables, plots and a page to a new folder.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the errors as CSV.")] = False,
) -> None:
    """Compare releases at several budgets with the truth. Error, forecast and risk; not for confidential data."""
    from margrave.errors import UsageError
    from margrave.files.writing import check_target
    from margrave.spec.spec import Spec
    from margrave.study import evaluate_page as pages
    from margrave.study.evaluate import Comparison
    from margrave.study.evaluate import evaluate as compare

    if as_json and as_csv:
        raise UsageError("give --json or --csv, not both")
    if to is not None:
        check_target(to)
    question = Comparison(
        budgets=amounts(budgets, "--budgets"),
        strategies=parts(strategies),  # type: ignore[arg-type]
        methods=parts(methods),  # type: ignore[arg-type]
        runs=runs,
        seed=seed,
    )
    with progress("Releasing") as update:
        found = compare(Spec.load(spec), question, data, progress=update)
    notice("NOT PRIVATE: exact tables are compared with, and the noise comes from a seed.")
    if as_json:
        print_json(found.as_dict())
    elif as_csv:
        print_csv(found.errors_frame())
    else:
        _print_tables(found, runs)
    if to is not None:
        how = "open" if pages.write(found, to) else "without plots, for want of matplotlib:"
        notice(f"Written to {to}: {how} {to / 'index.html'}")


def _print_tables(found: Evaluation, runs: int) -> None:
    from margrave.study import evaluate_page as pages

    print_table(pages.ERROR_HEADERS, pages.error_rows(found), f"Error of each table, {runs} runs")
    print_table(pages.RISK_HEADERS, pages.risk_rows(found), "Risk and utility: small cells of the full table")
    say(pages.exact_sentence(found))
