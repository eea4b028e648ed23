"""The program: its commands, and what happens when one of them fails."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from margrave import __version__
from margrave.cli import bundles, commands, demo, explore, inference, init, keys, ledger, plans, serve
from margrave.cli.studies import attack, audit, evaluate, risk, study
from margrave.cli.terminal import complain
from margrave.cli.ways import graphs, join, local, questions
from margrave.errors import MargraveError

GARBAGE = (200_000, 20, 20)
"""After so many new objects garbage is looked for, among old ones after so many times that."""
_INTERRUPTED = 130
_STOPPED = "margrave: interrupted; nothing half-written is left behind."
_CHARGED = " What was charged to a ledger stays charged: the same command goes on without a second charge."

app = typer.Typer(
    name="margrave",
    help="Publish tables about people without exposing any of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"margrave {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Publish tables about people without exposing any of them."""


app.command()(demo.demo)
app.command()(init.init)
app.command()(plans.plan)
app.command()(commands.release)
app.command()(bundles.show)
app.command()(bundles.verify)
app.command()(bundles.report)
app.command()(explore.explore)
app.command()(risk.risk)
app.command()(inference.infer)
app.command()(evaluate.evaluate)
app.command()(audit.audit)
app.command()(commands.count)
app.command()(keys.key)
app.command()(commands.examples)
app.command()(study.reproduce)
app.add_typer(graphs.app)
app.add_typer(join.app)
app.add_typer(attack.app)
app.add_typer(ledger.app)
app.add_typer(questions.data)
app.command()(questions.ask)
app.command()(serve.serve)
app.add_typer(local.app)


def chosen(arguments: Sequence[str]) -> typer.Typer:
    """The program with no other command than the one that is named first; with all of them where none is.

    Typer describes every command to itself before it runs one, which takes longer than to load most of what that needs.
    """
    named = [
        found
        for found in app.registered_commands
        if found.callback is not None and (found.name or found.callback.__name__) in arguments[:1]
    ]
    if not named:
        return app
    one = copy(app)
    one.registered_commands, one.registered_groups = named, []
    return one


def program() -> NoReturn:
    """Run the program, and end the process there and then.

    Arrow reads ahead in threads of its own. One still at work when Python takes itself apart aborts the process,
    which would hide the exit code. Matrices here are small: threads would spend longer waiting for one another, on a
    busy machine a hundred times as long. A number of threads that is set already stays. Most of what a command makes
    lives long: looking for garbage among it less often saves a tenth of the time, and pauses.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    gc.set_threshold(*GARBAGE)
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Run the program. Exit codes: 0 ok, 1 bad input, 2 usage, 3 refused, 4 verification failed, 130 interrupted."""
    try:
        chosen(sys.argv[1:])()
    except MargraveError as error:
        complain(f"margrave: {error}")
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, SystemExit) as stop:
        # Typer turns an interruption of a command into an exit without a word.
        if isinstance(stop, SystemExit) and stop.code != _INTERRUPTED:
            raise
        typer.echo(_STOPPED + _CHARGED * (sys.argv[1:2] in (["release"], ["join"])), err=True)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        # The text of an unforeseen error may carry a confidential value, so only its kind and place are shown.
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}, line {where.lineno}"
        typer.echo(f"margrave: an unforeseen {type(error).__name__} ({place}): this is a fault in Margrave", err=True)
        sys.exit(1)
