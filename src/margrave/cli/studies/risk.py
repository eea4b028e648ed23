"""``margrave risk``: what a release's guarantee means for attackers, computed from the guarantee alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.arguments import AsJson
from margrave.cli.terminal import heading, print_json, print_table, say

if TYPE_CHECKING:
    from margrave.planning.promise.exposure import Exposure


def risk(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A release (OUT), or a spec.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Say what attackers can reach at most. Membership, reconstruction, linkage; opens no data."""
    from margrave.planning.promise.exposure import rounded_up
    from margrave.planning.promise.guarantee import approximate

    found = _exposed(file)
    if as_json:
        print_json(found.as_json())
        return
    heading(f"What attackers can reach at {approximate(found.cost)}")
    rows = [(limit.attack, rounded_up(limit.before), rounded_up(limit.after)) for limit in found.limits]
    print_table(("attack", "without the release", "with it, at most"), rows)
    for limit in found.limits:
        say(limit.words)
    for sentence in found.words():
        say(sentence)


def _exposed(file: Path) -> Exposure:
    """The limits of a spec's plan, or of a release."""
    from margrave.planning.ways.registry import planned, spec_way
    from margrave.publish.ways.registry import load

    asked = planned(file) if file.suffix == ".toml" else load(file).plan
    return spec_way(asked.way).exposure(asked)
