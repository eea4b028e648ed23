"""What people see in the terminal: tables, notices and progress. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[int, int | None], None]
PATIENCE = 2.0
"""Seconds after which a step that shows no progress bar is named."""


def notice(text: str) -> None:
    """A remark beside the result."""
    typer.echo(text, err=True)


def heading(text: str) -> None:
    typer.echo(f"\n{typer.style(text, bold=True)}")


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """A table: the first column to the left, numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for index, header in enumerate(headers):
        table.add_column(header, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(soft_wrap=False) if sys.stdout.isatty() else Console(width=160)
    console.print(table)


def print_frame(frame: pd.DataFrame, title: str | None = None) -> None:
    """A data frame as a table: attributes as they are, counts and errors in few digits."""
    from margrave.design.describe import number

    def text(value: Any) -> str:
        return number(value) if isinstance(value, float) else str(value)

    print_table(list(frame.columns), [[text(value) for value in row] for row in frame.itertuples(index=False)], title)


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


@contextmanager
def _patience(what: str) -> Iterator[None]:
    """Says what is being done once it has taken so long that somebody may wonder."""
    timer = Timer(PATIENCE, notice, [f"{what} ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def progress(what: str) -> Iterator[Progress | None]:
    """A progress bar on stderr, in a terminal; in a pipe one line, if it takes a while.

    It shows how far, how fast (in percent a second) and how long still, never how many records.
    """
    if not sys.stderr.isatty():
        with _patience(what):
            yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{100 * task.speed / task.total:.2g} %/s" if task.speed and task.total else "")

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), Rate())
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Bar(*columns, *times, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def update(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield update


@contextmanager
def watching(what: str) -> Iterator[Callable[[float], None] | None]:
    """A line on stderr, in a terminal with the number last told; in a pipe only if it takes a while."""
    if not sys.stderr.isatty():
        with _patience(what):
            yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as status:
        yield lambda misfit: status.update(f"{what}: misfit {misfit:.3g}")
