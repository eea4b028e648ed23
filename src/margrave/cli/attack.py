"""``margrave attack``: what happens when public facts are forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import AsJson, parts
from margrave.cli.terminal import notice, print_json, print_table

if TYPE_CHECKING:
    from margrave.study.attack import Contender

app = typer.Typer(
    name="attack",
    help="See what succeeds when public facts are forgotten. It fails when they are accounted for.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_HEADERS = ("k", "real ε", "adversary's RMSE", "theory", "count found")


@app.callback()
def attacks() -> None:
    """See what succeeds when public facts are forgotten. It fails when they are accounted for."""


@app.command()
def averaging(
    epsilon: Annotated[str, typer.Option(help="The ε that each release claims.")] = "1",
    counts: Annotated[str, typer.Option(help="The numbers of counts to try.")] = "2,4,8,16,32,64,128,256,512,1024",
    runs: Annotated[int, typer.Option(min=1, help="How often each release is made and attacked.")] = 1000,
    seed: Annotated[str, typer.Option(help="The noise can be repeated: the data is invented.")] = "averaging",
    to: Annotated[Path | None, typer.Option("--out", help="Write a plot: a new PNG file.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Average k noisy counts whose consecutive sums are public. Opens no data: the counts are invented."""
    from margrave.budget.units import exact_number
    from margrave.errors import RefusedError, UsageError
    from margrave.files.writing import check_target
    from margrave.study.attack import averaging, plot

    if to is not None:
        check_target(to)
    numbers = parts(counts)
    if not numbers or not all(text.isascii() and text.isdigit() and len(text) <= 6 for text in numbers):
        raise UsageError(f"counts ({counts}) must be whole numbers, such as 2,16,128")
    claimed = exact_number(epsilon)
    rows = averaging(claimed, [int(text) for text in numbers], runs, seed)
    if as_json:
        print_json([row.as_json() for row in rows])
    else:
        print_table(_HEADERS, [_line(row.counts, row.forgotten) for row in rows], "Facts forgotten")
        print_table(_HEADERS, [_line(row.counts, row.accounted) for row in rows], "Facts accounted for")
        notice(
            f"The releases that forget the facts claim ε = {epsilon} and are NOT PRIVATE relative to them: what they "
            "really cost is k times as much, and the adversary's variance falls as 2/(kε²)."
        )
    if to is not None:
        try:
            plot(rows, claimed, to)
        except RefusedError as error:
            notice(str(error))
        else:
            notice(f"Written to {to}.")


def _line(counts: int, one: Contender) -> list[str]:
    from margrave.algebra.words import number

    found = (number(float(one.epsilon)), number(one.rmse), number(one.predicted), f"{100 * one.found:.0f} %")
    return [str(counts), *found]
