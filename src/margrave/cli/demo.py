"""``margrave demo``: the whole way on bundled data, from the forecast to a report to look at."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from margrave.cli.plans import show_plan
from margrave.cli.terminal import heading, print_frame, progress


def demo(
    name: Annotated[str, typer.Argument(help="A bundled data set: fungus, czech, rochdale or journey.")] = "czech",
    to: Annotated[
        Path | None,
        typer.Option("--out", help="A new folder for the release; by default demo-release.", show_default=False),
    ] = None,
) -> None:
    """Release tables of a bundled data set, from forecast to error bars, and leave a report to look at."""
    from margrave import examples as bundled
    from margrave import pipeline
    from margrave.publish.writing import check_target

    spec, folder = bundled.path(name), to or _free(Path("demo-release"))
    check_target(folder)
    heading(f"{name}: {bundled.describe(name)}")
    typer.echo(f"The spec is {spec}")
    planned = pipeline.plan(spec)
    show_plan(planned)
    with progress("Counting") as update:
        exact = pipeline.count(planned.spec, progress=update)
    margin = planned.spec.margins[0]
    heading("EXACT: the true table. This data set is public; exact counts of confidential data are never published.")
    print_frame(exact.table(margin).to_pandas())
    with progress("Releasing") as update:
        out = pipeline.release(planned, progress=update)
    with progress("Simulating error bars") as update:
        out.prepare(update)
    heading("PRIVATE: the same table as `margrave release` publishes it, with standard errors and 95 % intervals")
    print_frame(out.table(*margin))
    with progress("Writing") as update:
        out.save(folder, progress=update)
    typer.echo(f"The release is in {folder}; check it with: margrave verify {folder}")
    typer.echo(f"A report to look at in a browser: {folder / 'report.html'}")


def _free(wanted: Path) -> Path:
    """The name wanted, or with a number behind it if that is taken."""
    names = (wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}") for number in count(1))
    return next(name for name in names if not name.exists())
