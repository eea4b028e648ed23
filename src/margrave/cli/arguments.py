"""What several commands take: their common arguments, and lists written with commas."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

SpecPath = Annotated[Path, typer.Argument(help="The public spec, a TOML file.", show_default=False)]
DataPath = Annotated[
    str | None, typer.Option("--data", help="The data, if not the one named in the spec.", show_default=False)
]
BundlePath = Annotated[
    Path, typer.Argument(metavar="OUT", help="A release: the folder or .zip file written by --out.", show_default=False)
]
Seed = Annotated[
    str | None, typer.Option(help="For experiments only: repeatable noise, NOT PRIVATE.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
ClockIsRight = Annotated[
    bool, typer.Option("--clock-is-right", help="The clock is right, though unusually far ahead of the ledger.")
]
RequestId = Annotated[
    str | None, typer.Option(help="An id of your own: a retry with it is never charged twice.", show_default=False)
]
SigningKeyPath = Annotated[
    Path | None, typer.Option(help="Sign the bundle with this key (see 'margrave key').", show_default=False)
]


def parts(text: str) -> tuple[str, ...]:
    """The parts of a list written with commas, such as ``smoke,age``."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def amounts(text: str, option: str) -> tuple[Fraction, ...]:
    """Budgets written with commas, such as ``0.1,1,10``, as exact numbers; ``option`` names their place in errors."""
    from margrave.budget.numbers import exact_number
    from margrave.errors import UsageError

    try:
        found = tuple(exact_number(part) for part in parts(text))
    except UsageError as error:
        raise UsageError(f"{option} takes numbers such as 0.1,1,10: {error}") from None
    if not found or min(found) <= 0:
        raise UsageError(f"{option} takes numbers such as 0.1,1,10, each greater than 0")
    return found
