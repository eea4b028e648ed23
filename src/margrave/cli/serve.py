"""``margrave serve``: the server."""

from __future__ import annotations

import signal
from pathlib import Path
from tempfile import gettempdir
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.ledger import DEFAULT, Url
from margrave.cli.terminal import say
from margrave.errors import UsageError

if TYPE_CHECKING:
    from margrave.serve.supervisor import ServerSettings

_NEEDS = "the server needs more packages: pip install 'margrave[serve]'"


def serve(
    ledger: Url = DEFAULT,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes one that is free.")] = 8642,
    workers: Annotated[int, typer.Option(help="How many processes take requests.")] = 2,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate, as PEM.", show_default=False)] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, as PEM.", show_default=False)] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy that has TLS stands before it, and says who calls.")
    ] = False,
    sources: Annotated[
        Path | None,
        typer.Option(help="The folder with the files that curators may have opened; else none.", show_default=False),
    ] = None,
    rate: Annotated[int, typer.Option(help="Requests a second that an account may send to each process.")] = 100,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve bundled data, with everything set up, until it is stopped.")
    ] = False,
    untimed: Annotated[
        bool, typer.Option("--untimed", help="Answer as soon as can be: times then tell about the data.")
    ] = False,
) -> None:
    """Serve open data sets to analysts, curators and the public."""
    _check_installed()
    from margrave.serve.supervisor import ServerSettings

    def settings_of(place: str, files: Path | None) -> ServerSettings:
        return ServerSettings(place, host, port, workers, tls_cert, tls_key, behind_proxy, not untimed, rate, files)

    if not demo:
        _run(settings_of(ledger, sources))
        return
    from margrave.files.temporary import temporary_folder
    from margrave.serve.demo import set_up

    settings_of(ledger, sources)
    with temporary_folder(Path(gettempdir()), "margrave-serve-demo-") as folder:
        say("Setting up a data set that is public, two analysts and three releases: some seconds.")
        made = set_up(folder)
        for name, password in made.passwords.items():
            token = f", token {made.tokens[name]}" if name in made.tokens else ""
            say(f"{name}: password {password}{token}")
        _run(settings_of(made.ledger, sources or made.sources))


def _check_installed() -> None:
    try:
        import argon2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise UsageError(_NEEDS) from None


def _run(settings: ServerSettings) -> None:
    """Serve until somebody says stop."""
    from margrave.ledger.ledger import opened
    from margrave.serve.kept.people import PeopleTable
    from margrave.serve.kept.tables import ServerTables
    from margrave.serve.supervisor import address_of, bound, supervise

    with bound(settings) as held:
        with opened(settings.ledger) as found:
            tables = ServerTables(found)
            tables.make()
            people = PeopleTable(tables)
            first = None if any(one.role == "curator" for one in people.every()) else people.invite("curator")
        address = address_of(settings, held)
        say(f"Margrave serves at {address} (what can be asked of it: {address}/v1/about)")
        if first is not None:
            say(f"The first curator comes in here, once: {address}/invitation?code={first}")
        if not settings.timed:
            say("Answers come as soon as can be. Their times tell about the data: only for analysts who may see it.")
        stopped = Event()
        for kind in (signal.SIGTERM, signal.SIGINT):
            signal.signal(kind, lambda number, frame: stopped.set())
        supervise(settings, held, stopped)
    say("Stopped. What waits is answered when the server runs again.")
