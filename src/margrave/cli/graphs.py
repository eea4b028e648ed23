"""``margrave graph``: the edges of a graph, with public degrees."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from margrave.cli.arguments import AsJson, Seed
from margrave.cli.plans import show_plan
from margrave.cli.terminal import notice, print_frame, print_json, progress

app = typer.Typer(
    name="graph",
    help="Release a graph. Edges by the groups of their ends, and a simple graph, given public degrees.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SpecPath = Annotated[Path, typer.Argument(help="The public spec of the graph, a TOML file.", show_default=False)]


@app.command()
def plan(spec: SpecPath, as_json: AsJson = False) -> None:
    """Show cost, noise and expected error of a graph release. Opens no data."""
    from margrave import pipeline

    found = pipeline.plan_graph(spec)
    if as_json:
        print_json(found.to_json())
    else:
        show_plan(found)


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
    """Spend the budget once and publish a graph. The block table, and a simple graph with the public degrees."""
    from margrave import pipeline
    from margrave.files.writing import check_target

    if to is not None:
        check_target(to)
    with progress("Measuring") as update:
        out = pipeline.release_graph(spec, data, seed=seed, progress=update)
    if not out.private:
        notice("NOT PRIVATE: the noise comes from a seed and can be taken away by anybody who knows it.")
    if to is not None:
        out.save(to)
        notice(f"Written to {to}.")
    elif as_json:
        edges = None if out.nearest is None else out.edges().to_dict(orient="records")
        print_json(out.manifest() | {"blocks": out.blocks().to_dict(orient="records"), "edges": edges})
    else:
        print_frame(out.blocks(), "edges by the groups of their ends")
        if out.nearest is not None:
            notice(f"A simple graph of {int(out.nearest.edges.sum())} edges goes with it: write it with --out.")
