"""``margrave graph``: earlier names of ``margrave plan`` and ``margrave release``, for graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from margrave.cli import commands, plans
from margrave.cli.arguments import AsJson, Seed, SpecPath
from margrave.cli.terminal import notice

app = typer.Typer(
    name="graph",
    help="Earlier names of 'plan' and 'release', for graphs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def plan(spec: SpecPath, as_json: AsJson = False) -> None:
    """Show cost, noise and expected error of a graph release. Now 'margrave plan'."""
    notice("'margrave graph plan' is now 'margrave plan', for graphs as for tables.")
    plans.plan(spec, as_json=as_json)


@app.command()
def release(
    spec: SpecPath,
    data: Annotated[
        str | None, typer.Option("--data", help="The edges, if not those named in the spec.", show_default=False)
    ] = None,
    seed: Seed = None,
    to: Annotated[
        Path | None, typer.Option("--out", help="Write a new folder, or a new .zip file.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Spend the budget once and publish a graph. Now 'margrave release'."""
    notice("'margrave graph release' is now 'margrave release', for graphs as for tables.")
    commands.release(spec, data, seed, to=to, as_json=as_json)
