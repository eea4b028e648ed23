"""What people see in the terminal: tables, notices and progress. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import typer

from margrave.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

PATIENCE = 2.0
"""Seconds after which a step that shows no progress bar is named."""


_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that show nothing and do something: commands to the terminal, line ends, changes of direction."""


def clean(text: str, *, lines: bool = False) -> str:
    """A text as it may go to a terminal: what would command it is spelt out, as ``\\x1b`` is. ``lines`` stay apart."""
    return _HIDDEN.sub(lambda found: "\n" if lines and found.group() == "\n" else _spelt(found.group()), text)


def _spelt(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def say(text: str) -> None:
    """A line of the result."""
    typer.echo(clean(text))


def notice(text: str) -> None:
    """A remark beside the result."""
    typer.echo(clean(text), err=True)


def complain(text: str) -> None:
    """What went wrong, in one line or in several."""
    typer.echo(clean(text, lines=True), err=True)


def heading(text: str) -> None:
    typer.echo(f"\n{typer.style(clean(text), bold=True)}")


def print_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None, *, to_stderr: bool = False
) -> None:
    """A table: the first column to the left, numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # As text, not as a str, which could hold rich's markup.
    named = None if title is None else Text(clean(title), style="bold")
    table = Table(box=box.SIMPLE_HEAD, title=named, title_justify="left", pad_edge=False)
    for index, header in enumerate(headers):
        table.add_column(Text(clean(header)), justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    wide = (sys.stderr if to_stderr else sys.stdout).isatty()
    console = Console(soft_wrap=False, stderr=to_stderr) if wide else Console(width=160, stderr=to_stderr)
    console.print(table)


def print_frame(frame: pd.DataFrame, title: str | None = None) -> None:
    """A data frame as a table: attributes as they are, counts and errors in few digits."""
    from margrave.algebra.words import number

    def text(value: Any) -> str:
        return number(value) if isinstance(value, float) else str(value)

    print_table(list(frame.columns), [[text(value) for value in row] for row in frame.itertuples(index=False)], title)


def print_json(value: Any) -> None:
    typer.echo(json_text(value))


def json_text(value: Any) -> str:
    """A value as JSON. What JSON leaves as it is and a terminal would act on is escaped, which changes no value."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _HIDDEN.sub(lambda found: "\n" if found.group() == "\n" else json.dumps(found.group())[1:-1], text)


def print_csv(frame: pd.DataFrame) -> None:
    """A data frame as CSV (RFC 4180, line feeds): as it is for a program, harmless in a terminal."""
    from margrave.publish.csv_text import csv_text

    text = csv_text(frame)
    # Not by typer, which takes what looks like a colour out of what it writes to a pipe.
    sys.stdout.write(clean(text, lines=True) if sys.stdout.isatty() else text)


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

        def update(done: int, total: int | None, misfit: float | None = None) -> None:
            bar.update(task, completed=done, total=total)

        yield update


@contextmanager
def watching(what: str) -> Iterator[Progress | None]:
    """A moving bar on stderr, in a terminal, with time and the number last told; in a pipe a line, after a while."""
    if not sys.stderr.isatty():
        with _patience(what):
            yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def update(done: int, total: int | None, misfit: float | None = None) -> None:
            bar.update(task, description=what if misfit is None else f"{what}: misfit {misfit:.3g}")

        yield update


@contextmanager
def warnings_of_data() -> Iterator[None]:
    """Shows what the curator alone is to know of the data, as soon as it is known."""
    from margrave.errors import DataWarning

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        notice(f"WARNING: {message}.")

    with catch_warnings():
        simplefilter("always", DataWarning)
        warnings.showwarning = show
        yield


def warn_of_formulas(texts: Sequence[str]) -> None:
    """A remark on names and values that a spreadsheet would compute."""
    if texts:
        others = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
        notice(
            f"Warning: {texts[0][:40]!r}{others} begins like a formula. CSV files hold names and values as they are: "
            "import such columns as text, or a spreadsheet will compute them."
        )


class Terminal:
    """Tells people at a terminal how far long work is."""

    def counting(self, what: str) -> AbstractContextManager[Progress | None]:
        return progress(what)

    def watching(self, what: str) -> AbstractContextManager[Progress | None]:
        return watching(what)

    def notice(self, text: str) -> None:
        notice(text)
