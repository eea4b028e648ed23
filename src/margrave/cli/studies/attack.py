"""``margrave attack``: see it break, then see it hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import AsJson, DataPath, parts
from margrave.cli.terminal import heading, notice, print_json, print_table, progress, say

if TYPE_CHECKING:
    from margrave.study.attacks.averaging import Contender
    from margrave.study.attacks.result import Attack
    from margrave.study.attacks.subjects import Subject

app = typer.Typer(
    name="attack",
    help="See attacks succeed on exact or wrongly accounted numbers. And see them fail on a release.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_HEADERS = ("k", "real ε", "adversary's RMSE", "theory", "count found")
_OWN = "NOT FOR PUBLICATION: this was computed from confidential data. Nothing was written."

Epsilon = Annotated[str, typer.Option(help="The ε of the release that is attacked.")]
Runs = Annotated[int, typer.Option(min=0, help="How often it is repeated; 0: as often as it takes.")]
Seed = Annotated[str, typer.Option(help="The same seed, the same numbers.")]
Picture = Annotated[Path | None, typer.Option("--out", help="Write a picture: a new PNG file.", show_default=False)]
SpecOption = Annotated[
    Path | None, typer.Option("--spec", help="Attack the records of this spec instead.", show_default=False)
]
Curator = Annotated[
    bool, typer.Option("--i-am-the-curator", help="Attack confidential data, for your own eyes: nothing is written.")
]


@app.callback()
def attacks() -> None:
    """See attacks succeed on exact or wrongly accounted numbers. And see them fail on a release."""


def _run(
    name: str, epsilon: str, runs: int, seed: str, to: Path | None, as_json: bool, subject: Subject | None
) -> None:
    from margrave.budget.numbers import exact_number
    from margrave.errors import RefusedError
    from margrave.files.writing import check_target
    from margrave.study.attacks.figures import plot
    from margrave.study.attacks.registry import attack
    from margrave.study.attacks.terms import Terms

    if to is not None:
        check_target(to)
        if subject is not None and subject.confidential:
            raise RefusedError("nothing that comes of confidential data is written: leave --out away")
    with progress("Attacking"):
        found = attack(name, Terms(exact_number(epsilon), runs, seed, subject))
    print_json(found.as_json()) if as_json else _show(found)
    if found.confidential:
        notice(_OWN)
    if to is None:
        return
    try:
        plot(found, to)
    except RefusedError as error:
        notice(str(error))
    else:
        notice(f"Written to {to}.")


def _show(found: Attack) -> None:
    heading(f"{found.title}, ε = {float(found.epsilon):g}")
    print_table(found.headers, found.cells(), found.measure)
    for sheet in found.more:
        print_table(sheet.headers, sheet.rows, sheet.title)
    say(found.paragraph)


def _subject(spec: Path | None, data: str | None, curator: bool) -> Subject | None:
    """The user's records, if a spec is named."""
    from margrave.errors import UsageError
    from margrave.study.attacks.subjects import load

    if spec is None:
        if data is not None or curator:
            raise UsageError("--data and --i-am-the-curator are about the records of a spec: name it with --spec")
        return None
    return load(spec, data, curator=curator)


@app.command()
def linkage(
    epsilon: Epsilon = "1",
    runs: Runs = 0,
    seed: Seed = "attack",
    spec: SpecOption = None,
    data: DataPath = None,
    curator: Curator = False,
    to: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Link records to a register with names. Also k-anonymous ones."""
    _run("linkage", epsilon, runs, seed, to, as_json, _subject(spec, data, curator))


@app.command()
def differencing(
    epsilon: Epsilon = "1", runs: Runs = 0, seed: Seed = "attack", to: Picture = None, as_json: AsJson = False
) -> None:
    """Subtract two counts. Ask again, and together with others."""
    _run("differencing", epsilon, runs, seed, to, as_json, None)


@app.command()
def reconstruction(
    epsilon: Epsilon = "1", runs: Runs = 0, seed: Seed = "attack", to: Picture = None, as_json: AsJson = False
) -> None:
    """Reconstruct a secret from random counts."""
    _run("reconstruction", epsilon, runs, seed, to, as_json, None)


@app.command("reconstruction-margins")
def reconstruction_margins(
    epsilon: Epsilon = "1", runs: Runs = 0, seed: Seed = "attack", to: Picture = None, as_json: AsJson = False
) -> None:
    """Reconstruct a secret from two-way tables."""
    _run("reconstruction-margins", epsilon, runs, seed, to, as_json, None)


@app.command("reconstruction-tables")
def reconstruction_tables(
    epsilon: Epsilon = "1",
    runs: Runs = 0,
    seed: Seed = "attack",
    spec: SpecOption = None,
    data: DataPath = None,
    curator: Curator = False,
    to: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Reconstruct records from published tables."""
    _run("reconstruction-tables", epsilon, runs, seed, to, as_json, _subject(spec, data, curator))


@app.command()
def membership(
    epsilon: Epsilon = "1", runs: Runs = 0, seed: Seed = "attack", to: Picture = None, as_json: AsJson = False
) -> None:
    """Find who is in a case group. From published frequencies."""
    _run("membership", epsilon, runs, seed, to, as_json, None)


@app.command()
def composition(
    epsilon: Epsilon = "1", runs: Runs = 0, seed: Seed = "attack", to: Picture = None, as_json: AsJson = False
) -> None:
    """Ask much, and cleverly, of three accountants."""
    _run("composition", epsilon, runs, seed, to, as_json, None)


@app.command()
def classical(
    epsilon: Epsilon = "1", runs: Runs = 0, seed: Seed = "attack", to: Picture = None, as_json: AsJson = False
) -> None:
    """Get past eight classical protections."""
    _run("classical", epsilon, runs, seed, to, as_json, None)


@app.command("k-anonymity")
def k_anonymity(
    epsilon: Epsilon = "1",
    runs: Runs = 0,
    seed: Seed = "attack",
    spec: SpecOption = None,
    data: DataPath = None,
    curator: Curator = False,
    to: Picture = None,
    as_json: AsJson = False,
) -> None:
    """See what k-anonymity leaves. As attributes grow."""
    _run("k-anonymity", epsilon, runs, seed, to, as_json, _subject(spec, data, curator))


@app.command("all")
def everything(
    to: Annotated[Path, typer.Option("--out", help="A new folder, or an empty one, for the pictures.")],
    epsilon: Epsilon = "1",
    seed: Seed = "attack",
) -> None:
    """Carry out every attack. Writes a picture of each."""
    from margrave.errors import UsageError
    from margrave.study.attacks.registry import ATTACKS

    if to.exists() and any(to.iterdir()):
        raise UsageError(f"{to} is not empty: name a new folder")
    to.mkdir(parents=True, exist_ok=True)
    for name in ATTACKS:
        _run(name, epsilon, 0, seed, to / f"{name}.png", False, None)


@app.command()
def averaging(
    epsilon: Annotated[str, typer.Option(help="The ε that each release claims.")] = "1",
    counts: Annotated[str, typer.Option(help="The numbers of counts to try.")] = "2,4,8,16,32,64,128,256,512,1024",
    runs: Annotated[int, typer.Option(min=1, help="How often each release is made and attacked.")] = 1000,
    seed: Annotated[str, typer.Option(help="The noise can be repeated: the data is invented.")] = "averaging",
    to: Annotated[Path | None, typer.Option("--out", help="Write a plot: a new PNG file.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Average counts whose sums are public. Opens no data: the counts are invented."""
    from margrave.algebra.words import number
    from margrave.budget.numbers import exact_number
    from margrave.errors import RefusedError, UsageError
    from margrave.files.writing import check_target
    from margrave.study.attacks.averaging import averaging, least_error, most_found, plot

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
        least, most = least_error(float(claimed)), most_found(float(claimed))
        notice(
            f"At ε = {epsilon}, who has no idea of a count beforehand errs by {number(least)} at least, and finds it "
            f"in {100 * most:.0f} % of cases at most."
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
