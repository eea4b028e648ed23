"""The explorer as a site of files, which needs no server: on any web host, or from a folder, offline."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files as resources
from pathlib import Path

from margrave.errors import RefusedError, UsageError
from margrave.files.untrusted import MOST_REPORT
from margrave.files.writing import File, check_target, write_files
from margrave.messages.catalogue import ENGLISH, Messages, say, speaking
from margrave.publish.bundle.untrusted.reading import manifest_content, opened
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.explorer import pages
from margrave.publish.explorer.addresses import Written
from margrave.publish.explorer.figures import figures
from margrave.publish.explorer.library import Entry, Library
from margrave.publish.explorer.routes import catalogue_json, lengths
from margrave.publish.explorer.site.shipped import kinds, shipped, why_not
from margrave.publish.explorer.twins import view_csv, view_json
from margrave.publish.explorer.view import View
from margrave.publish.released import Released

ASKED_BYTES = 2 << 30
"""A site that may become larger than this is written only when that is asked for."""
_PAGE_BYTES, _CELL_BYTES = 40_000, 450
"""About what the page of a table takes with its twins: for itself, and for each cell."""
SCRIPTS = ("numbers.js", "drawing.js", "builder.js", "compare.js", "shelf.js")


def write_site(
    library: Library, place: Path, *, large: bool = False, tables: Sequence[str] = (), messages: Messages = ENGLISH
) -> int:
    """Write a site to a new folder; how many bytes it may take. ``tables``: only those of these attributes."""
    check_target(place)
    expected = sum(_expected(library, entry, tables) for entry in library.entries.values())
    if expected > ASKED_BYTES and not large:
        raise RefusedError(
            f"the site may take {expected / 2**30:.1f} GiB: name the tables that it should have with --table, or say "
            "--large to have all"
        )
    with speaking(messages):
        write_files(place, site_files(library, tables))
    return expected


def _expected(library: Library, entry: Entry, tables: Sequence[str]) -> int:
    if not entry.explorable:
        return 0
    release = library.release(entry.key)
    cells = [release.domain.cells(margin) for _, margin in _wanted(release, tables)]
    return sum(lengths(entry).values()) + len(cells) * _PAGE_BYTES + sum(cells) * _CELL_BYTES


def _wanted(release: Released, tables: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
    """The tables that are written, by their numbers from 1."""
    every = list(enumerate(release.plan.spec.margins, 1))
    if not tables:
        return every
    named = {frozenset(table.split(",")) for table in tables}
    return [(number, margin) for number, margin in every if frozenset(margin) in named]


def site_files(library: Library, tables: Sequence[str] = ()) -> Iterator[File]:
    """Every file of a site, one after the other."""
    front = Written(scripts=("shelf.js",))
    yield "index.html", pages.catalogue_page(library, "", front).encode()
    yield "catalogue.json", catalogue_json(library.search("")).encode()
    for name in SCRIPTS:
        yield name, resources("margrave.publish.explorer.site").joinpath(name).read_bytes()
    if len(library.comparable) > 1:
        to = Written(scripts=("numbers.js", "drawing.js", "compare.js"))
        yield "compare.html", pages.compare_page(library, ("", ""), View(), "", to).encode()
    for entry in library.comparable:
        for name, content in _release_files(library.release(entry.key), entry, tables):
            yield f"r/{entry.key}/{name}", content


def _release_files(release: Released, entry: Entry, tables: Sequence[str]) -> Iterator[File]:
    to = Written("../../")
    listed = lengths(entry)
    yield "index.html", pages.release_page(release, entry, listed, to).encode()
    yield "about.html", pages.about_page(release, to).encode()
    for number, margin in _wanted(release, tables):
        yield from _table_files(release, entry, number, margin)
    yield from _builder_files(release, entry)
    with opened(entry.path) as files:
        for name in sorted(listed):
            yield f"files/{name}", manifest_content(files) if name == MANIFEST else files.read(name, MOST_REPORT)


def _table_files(release: Released, entry: Entry, number: int, margin: tuple[str, ...]) -> Iterator[File]:
    """An asked table as a page, and for machines; of one that is too large for a page, why there is none."""
    view, here = pages.first_view(release, margin), Written("../../", number=number)
    try:
        found = figures(release, view)
    except UsageError as error:
        yield f"table-{number}.html", pages.table_page(release, entry, view, str(error), here).encode()
        return
    yield f"table-{number}.html", pages.table_page(release, entry, view, found, here).encode()
    yield f"table-{number}.csv", view_csv(release, found).encode()
    yield f"table-{number}.json", view_json(release, found).encode()


def _builder_files(release: Released, entry: Entry) -> Iterator[File]:
    """The page that builds tables, and what it computes them from; or why it cannot."""
    if reason := why_not(release):
        said = say(
            "This site cannot compute other tables of this release: %(reason)s. Use “margrave explore”.", reason=reason
        )
        yield "table.html", pages.table_page(release, entry, View(), said, Written("../../")).encode()
        return
    scripts = ("../../numbers.js", "../../drawing.js", "data.js", "../../builder.js")
    to = Written("../../", scripts, computes=kinds(release))
    yield "table.html", pages.table_page(release, entry, View(), "", to).encode()
    text = json.dumps(shipped(release), ensure_ascii=True, separators=(",", ":"))
    yield "data.js", f"margrave.release = {text};\n".encode()
