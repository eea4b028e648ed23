"""How each way of asking publishes what was measured: the value, its bundle, and how a ledger keeps it.

They are registered by `margrave.publish.ways`. A bundle says in its `release.json` which way it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from margrave.errors import BundleError, UsageError
from margrave.files.untrusted import MOST_REPORT
from margrave.files.writing import write_file
from margrave.planning.asked import Sheet
from margrave.planning.defaults import LEVEL
from margrave.progress import Progress
from margrave.publish.bundle.account import Checksum, parsed, read_checksum, unsealed
from margrave.publish.bundle.untrusted.reading import Files, manifest_content, opened
from margrave.publish.bundle.words import MANIFEST, REPORT

if TYPE_CHECKING:
    import pandas as pd

    from margrave.publish.charging import Pack
    from margrave.publish.verification.found import Verified

TABLES = "release"
"""The way of bundles that name none: those of tables."""


class Teller(Protocol):
    """Whoever tells people how far long work is: the terminal, or nobody."""

    def counting(self, what: str) -> AbstractContextManager[Progress | None]: ...

    def watching(self, what: str) -> AbstractContextManager[Progress | None]: ...

    def notice(self, text: str) -> None: ...


@dataclass(frozen=True)
class Contents:
    """What a bundle holds, for people and for scripts; ``example`` is a table to show, by its name."""

    title: str
    sheets: Sequence[Sheet]
    words: Sequence[str]
    json: Mapping[str, Any]
    example: str


@dataclass(frozen=True, eq=False)
class ShownTable:
    """A table of a bundle: as it is, and in words for people under a title."""

    names: tuple[str, ...]
    frame: pd.DataFrame
    title: str
    labelled: pd.DataFrame


@dataclass(frozen=True)
class Asking:
    """Which table of a bundle is meant: its names, and how it is wanted."""

    names: tuple[str, ...] = ()
    level: float = LEVEL
    unbiased: bool = False


def nothing_left(outcome: Any, teller: Teller) -> None:
    """Where everything is made already."""


@dataclass(frozen=True)
class BundleWay:
    """A way of asking whose answers are published.

    ``outcome`` makes, of a plan and what was measured, the value that is published,
    such as a `Release`; ``finish`` does then what takes a while. ``pack`` writes it for a ledger to keep. ``read``
    makes the value again of the files of a bundle, ``report`` its page, and ``verify`` checks the whole of it.
    ``contents`` says what a value holds, ``tables`` goes through its tables, and ``table`` shows one of them.
    """

    outcome: Callable[[Any, Any], Any]
    pack: Pack[Any, Any, Any]
    read: Callable[[Files], Any]
    report: Callable[[Files], bytes]
    verify: Callable[[Files, Progress | None, bool], Verified]
    contents: Callable[[Any], Contents]
    tables: Callable[[Any], Iterator[tuple[tuple[str, ...], Any]]]
    table: Callable[[Any, Asking], ShownTable]
    finish: Callable[[Any, Teller], None] = field(default=nothing_left)


_WAYS: dict[str, Callable[[], BundleWay]] = {}


def register(name: str, way: Callable[[], BundleWay]) -> None:
    """Have bundles of a way recognised by its name, that of `Asked.way`; ``way`` imports it."""
    _WAYS[name] = way


def bundle_way(name: str) -> BundleWay:
    """The way of asking of that name."""
    if name not in _WAYS:
        raise UsageError(f"answers to {name!r} are not published: those to {', '.join(sorted(_WAYS))} are")
    return _WAYS[name]()


def way_in(files: Files) -> BundleWay:
    """The way of asking that a bundle says it is of."""
    check_there(files)
    name = parsed(manifest_content(files)).get("way", TABLES)
    if not isinstance(name, str) or name not in _WAYS:
        raise BundleError(f"{MANIFEST} names a way of asking that this Margrave does not know: use a newer Margrave")
    return _WAYS[name]()


def check_there(files: Files) -> None:
    """Refuse what is no bundle, and say what to do with the folder of a graph as version 0.1 wrote it."""
    if MANIFEST in files.names:
        return
    if {"manifest.json", "blocks.csv", "nodes.csv"} <= files.names:
        raise BundleError(
            f"there is no {MANIFEST}: this is the folder of a graph in the format margrave-graph 1, and no bundle. Its "
            "CSV files can be read by themselves, and manifest.json says what they guarantee; to have a bundle, "
            "release the graph again, which spends again"
        )
    raise BundleError(f"there is no {MANIFEST}: this is not a release")


def load(path: str | Path) -> Any:
    """What is published in a bundle, whichever way of asking it is of."""
    with opened(Path(path)) as files:
        return way_in(files).read(files)


def report_of(path: str | Path, out: Path | None = None) -> Path:
    """Where the report of a bundle is: inside its folder or, made anew from the numbers, in a new file ``out``."""
    place = Path(path)
    with opened(place) as files:
        way = way_in(files)
        report = way.report(files)
        if out is None and place.is_dir():
            _check_report(files)
            return place / REPORT
    if out is None:
        raise UsageError(f"{place} is one file, with the report inside: name a new file with --out to have it apart")
    write_file(out, report)
    return out


def _check_report(files: Files) -> None:
    """The report of a bundle is the one that it was written with."""
    stated = read_checksum(unsealed(manifest_content(files))["files"][REPORT])
    if Checksum(*files.digest(REPORT, MOST_REPORT)) != stated:
        raise BundleError(f"{REPORT} was changed after the release was written: its checksum does not fit")
