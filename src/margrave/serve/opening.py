"""Opening data sets for questions, in a process of its own: from one folder, which whoever runs the server has named.

What is asked for comes from curators over HTTP, and names files of that folder alone. Nothing of what they hold goes
back but that it was opened, or why it could not be: a column, a rule and a number of records.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from os import walk
from pathlib import Path
from shutil import rmtree
from threading import Event

from margrave import pipeline
from margrave.errors import MargraveError, RefusedError, UsageError
from margrave.ledger.ledger import Ledger
from margrave.ledger.records import Opened
from margrave.ledger.stores.sqlite import SqliteStore
from margrave.serve.kept.openings import MOST_SOURCES, Opening, Openings, declared, names_source
from margrave.serve.kept.tables import ServerTables
from margrave.serve.operations.problems import note_fault

LOOK = 2.0
"""Seconds between two looks for what is to be opened, and for files."""
_DEPTH = 3
_FAULT = "a fault of the machine, which says nothing about the data: have it opened again"
_NONE = "this server may open no files: it was started without --sources"


def open_asked(url: str, sources: Path | None, stopped: Event, held: Callable[[], bool]) -> None:
    """Have data sets opened, one after the other, until stopped. ``held``: whether this server is the one that does."""
    with Ledger.open(url) as ledger:
        openings = Openings(ServerTables(ledger))
        while not stopped.is_set():
            try:
                if held():
                    openings.list_sources(files_in(sources))
                    _open_next(url, sources, openings, stopped)
            except MargraveError:
                pass  # a store that is away is waited for
            except Exception as error:
                note_fault(error)
            stopped.wait(LOOK)


def files_in(sources: Path | None) -> Iterator[str]:
    """The names of the files of a folder that can be named; nothing hidden, and not without end."""
    if sources is None:
        return
    root, many = sources.resolve(), 0
    for place, folders, names in walk(root):
        here = Path(place).relative_to(root)
        folders[:] = sorted(one for one in folders if not one.startswith(".") and len(here.parts) < _DEPTH - 1)
        for name in sorted(names):
            found = (here / name).as_posix()
            if _is_inside(root, found):
                yield found
                many += 1
                if many == MOST_SOURCES:
                    return


def _open_next(url: str, sources: Path | None, openings: Openings, stopped: Event) -> None:
    one = openings.next()
    if one is None:
        return
    # In a process of its own: what it takes of memory and of the interpreter, no question has to wait for.
    process = get_context("spawn").Process(target=opening_process, args=(url, sources, one.id))
    process.start()
    while process.is_alive() and not stopped.is_set():
        process.join(0.2)
    if process.is_alive():
        process.terminate()
        process.join()
    elif process.exitcode:
        openings.finish(one.id, "failed", _FAULT)


def opening_process(url: str, sources: Path | None, identity: str) -> None:
    """The process that opens one data set. Stopped, it leaves nothing behind but the wish."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    fulfil(url, sources, identity)


def fulfil(url: str, sources: Path | None, identity: str) -> None:
    """Open one data set, and note what became of it."""
    with Ledger.open(url) as ledger:
        openings = Openings(ServerTables(ledger))
        one = openings.found(identity)
        if one is None or one.state != "waiting":
            return
        try:
            open_one(ledger, sources, one)
        except MargraveError as error:
            root = "" if sources is None else f"{sources.resolve()}/"
            told = str(error).replace(root, "") if root else str(error)
            openings.finish(identity, "failed", told)
        else:
            openings.finish(identity, "open")


def open_one(ledger: Ledger, sources: Path | None, one: Opening) -> None:
    """Open a data set as is wished, from files of the folder alone."""
    if sources is None:
        raise RefusedError(_NONE)
    if ledger.record(Opened, one.dataset) is not None:
        return  # by an earlier try, which was stopped before it could say so
    data = declared(one.spec)
    rows = {table.name: str(source_in(sources, table.source or "")) for table in data.tables}
    place = _place(ledger, one)
    for left in (place, *place.parent.glob(f".{place.name}.*.tmp")):
        # Of an earlier try of the same wish, by its id.
        with suppress(FileNotFoundError):
            rmtree(left)
    pipeline.open_data(data, rows, ledger=ledger, dataset=one.dataset, place=place)


def source_in(sources: Path, name: str) -> Path:
    """The file of the folder that has a name. No link leads out of the folder."""
    root = sources.resolve()
    if _is_inside(root, name):
        return (root / name).resolve()
    raise UsageError(f"there is no file {name[:200]!r} among those that this server may open")


def _is_inside(root: Path, name: str) -> bool:
    if not names_source(name):
        return False
    with suppress(OSError):
        found = (root / name).resolve(strict=True)
        return found.is_relative_to(root) and found.is_file()
    return False


def _place(ledger: Ledger, one: Opening) -> Path:
    """A new folder beside the ledger, or where the server runs."""
    store = ledger.store
    folder = store.path.resolve().parent if isinstance(store, SqliteStore) else Path.cwd()
    return folder / f"{one.dataset.replace('@', '-')}-{one.id}.store"
