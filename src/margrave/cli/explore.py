"""The command that shows released tables in a browser."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.terminal import notice, progress, say

if TYPE_CHECKING:
    from margrave.publish.explorer.library import Library


def explore(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A release, or a folder of releases.", show_default=False)],
    port: Annotated[int, typer.Option(help="The port on this computer; 0 is any that is free.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    site: Annotated[
        Path | None,
        typer.Option(help="Write the pages to this new folder instead, for any web host or none.", show_default=False),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(help="With --site: only the table of these attributes; may be repeated.", show_default=False),
    ] = None,
    language: Annotated[
        str,
        typer.Option(help="With --site: of the pages, en or de. A browser asks for its own.", metavar="CODE"),
    ] = "en",
    large: Annotated[bool, typer.Option("--large", help="With --site: write even more than 2 GiB.")] = False,
) -> None:
    """Explore released tables in a browser.

    Only this computer can see the pages, until Ctrl-C. With --site they are written as files instead.
    """
    from margrave.errors import UsageError
    from margrave.messages.catalogue import messages_of
    from margrave.publish.explorer.library import library_of
    from margrave.publish.explorer.site.writing import write_site

    if site is None and (table or large or language != "en"):
        raise UsageError("--table, --language and --large are of sites: name a folder with --site")
    messages = messages_of(language)
    library = library_of(out)
    for text in library.skipped:
        notice(f"Could not be read: {text}")
    if site is None:
        _serve(library, port, browser)
        return
    large = large or _agreed(library, table or ())
    with progress("Writing the site") as update:
        write_site(library, site, large=large, tables=table or (), messages=messages, progress=update)
    say(f"Written: open {site / 'index.html'}")


def _agreed(library: Library, tables: Sequence[str]) -> bool:
    """Ask whether a very large site should be written, where there is somebody to ask."""
    from margrave.publish.explorer.site.writing import ASKED_BYTES, site_bytes

    if not sys.stdin.isatty() or (expected := site_bytes(library, tables)) <= ASKED_BYTES:
        return False
    return typer.confirm(f"The site may take {expected / 2**30:.1f} GiB. Write it all?", err=True)


def _serve(library: Library, port: int, browser: bool) -> None:
    from margrave.errors import UsageError
    from margrave.publish.explorer.server import ExplorerServer

    try:
        server = ExplorerServer(library, port)
    except OSError:
        raise UsageError(f"--port ({port}) is taken or not allowed: leave it out to have any that is free") from None
    with server:
        say(server.address)
        notice("Only this computer can see it. Stop with Ctrl-C.")
        if browser:
            webbrowser.open_new_tab(server.address)
        server.serve_forever()
