"""From an address to an answer: every page of the explorer, and its twins for machines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from margrave.errors import MargraveError, UsageError
from margrave.files.untrusted import MOST_REPORT
from margrave.messages.catalogue import ENGLISH, Messages, say, speaking, spoken
from margrave.progress import Progress
from margrave.publish.bundle.untrusted.reading import manifest_content, opened
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.compare import TwoReleases, compared
from margrave.publish.explorer.figures import Figures, figures, simulates
from margrave.publish.explorer.library import KEY, Library, Shelved
from margrave.publish.explorer.pages.compare import compare_page
from margrave.publish.explorer.pages.frame import problem_page, unreadable_page, waiting_page
from margrave.publish.explorer.pages.release import about_page, checked_page, other_page, release_page, usual
from margrave.publish.explorer.pages.shelf import catalogue_page
from margrave.publish.explorer.pages.style import report_policy
from margrave.publish.explorer.pages.table import table_page
from margrave.publish.explorer.twins import (
    catalogue_csv,
    catalogue_json,
    compared_csv,
    compared_json,
    view_csv,
    view_json,
)
from margrave.publish.explorer.view import TableView, read
from margrave.publish.released import Released
from margrave.publish.report.values import written
from margrave.publish.verification.found import Verified
from margrave.publish.ways.registry import way_in

_RELEASE = re.compile(rf"/r/([0-9a-f]{{{KEY}}})/(.*)")
HTML, JSON, CSV, BYTES = "text/html", "application/json", "text/csv", "application/octet-stream"


@dataclass(frozen=True)
class PageReply:
    """What is sent back; ``name`` is that of a file to keep, ``policy`` that of a page unlike others."""

    status: int
    kind: str
    body: bytes
    name: str = ""
    policy: str = ""

    @classmethod
    def text(cls, kind: str, text: str, status: int = 200, name: str = "") -> PageReply:
        return cls(status, f"{kind}; charset=utf-8", text.encode(), name)


def answer(library: Library, path: str, query: str, messages: Messages = ENGLISH) -> PageReply:
    """The answer to an address; what goes wrong is said on a page."""
    to = Served("../" * (path.count("/") - 1) or "./")
    with speaking(messages):
        try:
            return _found(library, path, query, to)
        except UsageError as error:
            return PageReply.text(HTML, problem_page(str(error), to), 400)
        except MargraveError as error:
            return PageReply.text(HTML, unreadable_page(str(error), to), 500)


def _found(library: Library, path: str, query: str, to: Served) -> PageReply:
    if path == "/":
        return PageReply.text(HTML, catalogue_page(library, _words(query).get("q", ""), to))
    if path == "/catalogue.json":
        return PageReply.text(JSON, catalogue_json(library.search(_words(query).get("q", ""))))
    if path == "/catalogue.csv":
        found = catalogue_csv(library.search(_words(query).get("q", "")))
        return PageReply.text(CSV, found, name="catalogue.csv")
    if path in ("/compare", "/compare.csv", "/compare.json"):
        return _compared(library, path, query, to)
    match = _RELEASE.fullmatch(path)
    if match is None or match[1] not in library.entries:
        return _nowhere(to)
    return _of_release(library, library.entries[match[1]], match[2], query, to)


def _nowhere(to: Served) -> PageReply:
    return PageReply.text(HTML, problem_page(say("There is no page of this address."), to), 404)


def _words(query: str) -> dict[str, str]:
    """The words of a query that is not the address of a view."""
    try:
        return dict(parse_qsl(query, max_num_fields=100))
    except ValueError:
        raise UsageError(say("the address has too many parts")) from None


def _compared(library: Library, path: str, query: str, to: Served) -> PageReply:
    """Two releases, by the words ``one`` and ``other``; the rest of the address is the view."""
    pairs = _pairs(query)
    said = dict(pairs)
    keys = (said.get("one", ""), said.get("other", ""))
    rest = urlencode([pair for pair in pairs if pair[0] not in ("one", "other")])
    if not any(keys):
        return PageReply.text(HTML, compare_page(library, keys, read(rest), "", to))
    entries = [library.entry(key) for key in keys]
    for entry in entries:
        if (waiting := _opening(library, entry, to)) is not None:
            return waiting
    one, other = (library.release(entry.key) for entry in entries)
    view = read(rest, "published" if "unbiased" not in (usual(one), usual(other)) else "unbiased")
    try:
        for entry, release in zip(entries, (one, other), strict=True):
            if path == "/compare" and (waiting := _simulating(library, entry, release, view, to)) is not None:
                return waiting
        found = compared(one, other, view)
    except UsageError as error:
        return PageReply.text(HTML, compare_page(library, keys, view, str(error), to), 400)
    return _compared_as(path, library, keys, view, found, to)


def _compared_as(
    path: str, library: Library, keys: tuple[str, str], view: TableView, found: TwoReleases, to: Served
) -> PageReply:
    if path == "/compare.csv":
        return PageReply.text(CSV, compared_csv(found), name="compare.csv")
    if path == "/compare.json":
        return PageReply.text(JSON, compared_json(found, keys))
    return PageReply.text(HTML, compare_page(library, keys, view, found, to))


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, max_num_fields=1000)
    except ValueError:
        raise UsageError(say("the address has too many parts")) from None


def _of_release(library: Library, entry: Shelved, rest: str, query: str, to: Served) -> PageReply:
    if rest.startswith("files/"):
        return _file(entry, rest.removeprefix("files/"), to)
    if rest == "checked":
        return _checked(library, entry, to)
    if rest == "report":
        return _report(library, entry, to)
    if rest == "" and not entry.explorable:
        return PageReply.text(HTML, other_page(entry, to))
    page = _PAGES.get(rest)
    if page is None:
        return _nowhere(to)
    if rest in ("", "about", "table") and (waiting := _opening(library, entry, to)) is not None:
        return waiting
    return page(library, entry, query, to)


def _opening(library: Library, entry: Shelved, to: Served) -> PageReply | None:
    """The page of somebody who waits for a large release to be read; None where there is no need to."""
    if not entry.takes_long or not entry.explorable or library.is_open(entry.key):
        return None
    making = library.waiting.unfinished(f"open {entry.key}", lambda told: library.release(entry.key))
    if making is None:
        return None
    why = say("The release is being read, which takes a moment once. The page shows it as soon as it is there.")
    return PageReply.text(HTML, waiting_page(entry.title, why, making, to), 202)


def _simulating(library: Library, entry: Shelved, release: Released, view: TableView, to: Served) -> PageReply | None:
    """The page of somebody who waits for simulations; None where a view needs none, or they are there."""
    if not simulates(release, view):
        return None
    making = library.waiting.unfinished(f"simulate {entry.key}", release.simulate)
    if making is None:
        return None
    why = say(
        "The errors of these numbers are simulated, once for this release. The page shows them as soon as they are "
        "there."
    )
    return PageReply.text(HTML, waiting_page(entry.title, why, making, to), 202)


def _release(library: Library, entry: Shelved, query: str, to: Served) -> PageReply:
    release, said = library.release(entry.key), _words(query)
    first = said.get("from", "0")
    return PageReply.text(
        HTML,
        release_page(
            release,
            entry,
            enumerate(release.plan.spec.margins, 1),
            to,
            wanted=said.get("q", ""),
            first=int(first) if first.isdecimal() and len(first) < 10 else 0,
        ),
    )


def _about(library: Library, entry: Shelved, query: str, to: Served) -> PageReply:
    return PageReply.text(HTML, about_page(library.release(entry.key), to))


def _table(library: Library, entry: Shelved, query: str, to: Served) -> PageReply:
    release = library.release(entry.key)
    view = read(query, usual(release))
    try:
        if (waiting := _simulating(library, entry, release, view, to)) is not None:
            return waiting
        found = figures(release, view)
    except UsageError as error:
        return PageReply.text(HTML, table_page(release, entry, view, str(error), to), 400)
    return PageReply.text(HTML, table_page(release, entry, view, found, to))


def _seen(library: Library, entry: Shelved, query: str) -> tuple[Released, Figures]:
    release = library.release(entry.key)
    return release, figures(release, read(query, usual(release)))


def _table_csv(library: Library, entry: Shelved, query: str, to: Served) -> PageReply:
    return PageReply.text(CSV, view_csv(*_seen(library, entry, query)), name="table.csv")


def _table_json(library: Library, entry: Shelved, query: str, to: Served) -> PageReply:
    return PageReply.text(JSON, view_json(*_seen(library, entry, query)))


_PAGES: dict[str, Callable[[Library, Shelved, str, Served], PageReply]] = {
    "": _release,
    "about": _about,
    "table": _table,
    "table.csv": _table_csv,
    "table.json": _table_json,
}


def _report(library: Library, entry: Shelved, to: Served) -> PageReply:
    """The report in the language that is spoken, made once; that of a large release takes a while."""
    messages = spoken()
    name = f"report {messages.language} {entry.key}"

    def make(told: Progress) -> None:
        with speaking(messages):  # also in a thread of its own
            library.keep_report(name, report_of(entry))

    found = library.reports.get(name)
    if found is None and entry.takes_long:
        making = library.waiting.unfinished(name, make)
        if making is not None:
            why = say("The report is being made. The page shows it as soon as it is there.")
            return PageReply.text(HTML, waiting_page(entry.title, why, making, to), 202)
        library.waiting.forget(name)
        found = library.reports.get(name)
    if found is None:
        found = report_of(entry)
        library.keep_report(name, found)
    return PageReply(200, f"{HTML}; charset=utf-8", found, policy=report_policy())


def report_of(entry: Shelved) -> bytes:
    """The report of a bundle, made anew in the language that is spoken."""
    with opened(entry.path) as files:
        return way_in(files).report(files)


def _checked(library: Library, entry: Shelved, to: Served) -> PageReply:
    """The page of what is found when the files of a release are checked; that of a large one takes a while."""
    found = library.checks.known(entry.path)
    if found is None and entry.takes_long:
        name = f"check {entry.key}"
        making = library.waiting.unfinished(name, lambda told: library.checks.check(entry.path, told))
        if making is not None:
            why = say("Everything is computed again from the measurements. The page shows what was found in the end.")
            return PageReply.text(HTML, waiting_page(entry.title, why, making, to), 202)
        library.waiting.forget(name)
    return PageReply.text(HTML, _verdict_page(entry, found or library.checks.check(entry.path), to))


def _verdict_page(entry: Shelved, found: Verified | str, to: Served) -> str:
    if isinstance(found, str):
        return checked_page(entry.title, found, (), to)
    said = [
        say("%(count)s files are as they were written.", count=written(found.files)),
        say("%(count)s tables follow from the measurements.", count=written(found.tables)),
    ]
    if found.signer is not None:
        said.append(say("Signed by the key %(key)s.", key=found.signer.fingerprint))
    return checked_page(entry.title, "", said, to)


def _file(entry: Shelved, name: str, to: Served) -> PageReply:
    """A file of the bundle, as it is."""
    with opened(entry.path) as files:
        if name not in files.names:
            return PageReply.text(HTML, problem_page(say("The bundle has no file of this name."), to), 404)
        content = manifest_content(files) if name == MANIFEST else files.read(name, MOST_REPORT)
    return PageReply(200, BYTES, content, name.rpartition("/")[2])
