"""``margrave attack``: what happens when public facts are forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.terminal import notice, print_json, print_table

if TYPE_CHECKING:
    from margrave.study.attack import Averaged

app = typer.Typer(
    name="attack",
    help="See attacks that succeed when public facts are forgotten, and fail when they are accounted for.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_ONE = ("adversary's RMSE", "theory", "count found")
_HEADERS = ("k", "facts forgotten: real ε", *_ONE, "accounted for: real ε", *_ONE)


@app.callback()
def attacks() -> None:
    """See attacks that succeed when public facts are forgotten, and fail when they are accounted for."""


@app.command()
def averaging(
    epsilon: Annotated[str, typer.Option(help="The ε that each release claims.")] = "1",
    counts: Annotated[str, typer.Option(help="The numbers of counts to try.")] = "2,4,8,16,32,64,128,256,512,1024",
    runs: Annotated[int, typer.Option(min=1, help="How often each release is made and attacked.")] = 1000,
    seed: Annotated[str, typer.Option(help="The noise can be repeated: the data is invented.")] = "averaging",
    to: Annotated[Path | None, typer.Option("--out", help="Write a plot: a new PNG file.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Average k noisy counts whose consecutive sums are public. Opens no data: the counts are invented."""
    from margrave.budget.units import exact_number
    from margrave.errors import RefusedError, UsageError
    from margrave.publish.writing import check_target
    from margrave.study.attack import averaging, plot

    if to is not None:
        check_target(to)
    numbers = [text.strip() for text in counts.split(",")]
    if not all(text.isascii() and text.isdigit() and len(text) <= 6 for text in numbers):
        raise UsageError(f"counts ({counts}) must be whole numbers, such as 2,16,128")
    claimed = exact_number(epsilon)
    rows = averaging(claimed, [int(text) for text in numbers], runs, seed)
    if as_json:
        print_json([row.as_json() for row in rows])
    else:
        print_table(_HEADERS, [_line(row) for row in rows])
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


def _line(row: Averaged) -> list[str]:
    from margrave.design.describe import number

    found = [str(row.counts)]
    for one in (row.forgotten, row.accounted):
        found += [number(float(one.epsilon)), number(one.rmse), number(one.predicted), f"{100 * one.found:.0f} %"]
    return found
