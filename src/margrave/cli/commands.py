"""The commands that open data, and those that show it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from margrave.cli.plans import SpecPath, show_plan
from margrave.cli.terminal import heading, notice, print_frame, print_json, progress

DataPath = Annotated[
    str | None, typer.Option("--data", help="The data, if not the one named in the spec.", show_default=False)
]


def demo(
    name: Annotated[str, typer.Argument(help="A bundled data set: fungus, czech, rochdale or journey.")] = "czech",
) -> None:
    """Release tables of a bundled data set, from forecast to error bars."""
    from margrave import examples as bundled
    from margrave import pipeline

    spec = bundled.path(name)
    heading(f"{name}: {bundled.describe(name)}")
    typer.echo(f"The spec is {spec}")
    planned = pipeline.plan(spec)
    show_plan(planned)
    with progress("Counting") as update:
        exact = pipeline.count(planned.spec, progress=update)
        out = pipeline.release(planned, progress=update)
    margin = planned.spec.margins[0]
    heading("EXACT: the true table. This data set is public; exact counts of confidential data are never published.")
    print_frame(exact.table(margin).to_pandas())
    heading("PRIVATE: the same table as `margrave release` publishes it, with standard errors and 95 % intervals")
    print_frame(out.noisy(*margin))


def init(
    data: Annotated[str, typer.Argument(help="A CSV, Parquet or Arrow file.", show_default=False)],
) -> None:
    """Draft a spec for a person to edit. Reads the data: what it prints is not private."""
    from margrave import pipeline

    notice("margrave init READS THE DATA: the values in the draft come from it and are not protected.")
    notice("Check each line against what is public, then remove 'draft = true'.")
    with progress("Reading") as update:
        typer.echo(pipeline.draft(data, name=data, progress=update), nl=False)


def release(
    spec: SpecPath,
    data: DataPath = None,
    seed: Annotated[
        str | None, typer.Option(help="For experiments only: repeatable noise, NOT PRIVATE.", show_default=False)
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--out", help="Write a bundle: a new folder, or a new .zip file.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Spend the budget once and publish the wanted tables."""
    from margrave import pipeline
    from margrave.publish.writing import check_target

    if to is not None:
        check_target(to)
    with progress("Measuring") as update:
        out = pipeline.release(spec, data, seed=seed, progress=update)
    if not out.private:
        notice("NOT PRIVATE: the noise comes from a seed and can be taken away by anybody who knows it.")
    if to is not None:
        with progress("Writing") as update:
            out.save(to, progress=update)
        notice(f"Written to {to}. Look at it with 'margrave show {to}', check it with 'margrave verify {to}'.")
        return
    if as_json:
        print_json(
            {
                "private": out.private,
                "tables": [_frame_json(out.noisy(*margin), margin) for margin in out.plan.spec.margins],
            }
        )
        return
    for margin in out.plan.spec.margins:
        print_frame(out.noisy(*margin), ", ".join(margin) or "total")


def count(
    spec: SpecPath,
    data: DataPath = None,
    not_private: Annotated[
        bool, typer.Option("--not-private", help="Say that you know: exact tables are not private.")
    ] = False,
    table: Annotated[
        list[str] | None, typer.Option(help="A table such as smoke,age; by default all wanted.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Count exact tables, for the curator's eyes only."""
    from margrave import pipeline
    from margrave.errors import RefusedError

    if not not_private:
        raise RefusedError(
            "exact tables protect nobody: to see them all the same, say --not-private; to publish, use 'release'"
        )
    tables = [tuple(part.strip() for part in text.split(",") if part.strip()) for text in table or ()]
    with progress("Counting") as update:
        exact = pipeline.count(spec, data, tables=tables, progress=update)
    notice("NOT PRIVATE: these counts are exact. Publish with 'margrave release'.")
    if as_json:
        print_json([_frame_json(exact.table(margin).to_pandas(), margin) for margin in exact.counts])
        return
    for margin in exact.counts:
        print_frame(exact.table(margin).to_pandas(), ", ".join(margin) or "total")


def examples(
    name: Annotated[str | None, typer.Argument(help="Copy this one.", show_default=False)] = None,
    to: Annotated[Path, typer.Option(help="The folder to copy its spec and data into.")] = Path(),
) -> None:
    """List the bundled data sets, or copy one to play with."""
    from margrave import examples as bundled

    if name is None:
        for known in bundled.names():
            typer.echo(f"{known:10} {bundled.describe(known)}")
        return
    for path in bundled.copy(name, to):
        typer.echo(path)


def _frame_json(frame: Any, margin: tuple[str, ...]) -> dict[str, Any]:
    return {"table": list(margin), "rows": frame.to_dict(orient="records")}
