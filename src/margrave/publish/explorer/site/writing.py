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
from margrave.progress import Progress, counted
from margrave.publish.bundle.parts.layout import is_large
from margrave.publish.bundle.untrusted.reading import manifest_content, opened
from margrave.publish.bundle.words import MANIFEST
from margrave.publish.explorer.addresses import Written
from margrave.publish.explorer.figures import MOST_NUMBERS, figures
from margrave.publish.explorer.library import Library, Shelved
from margrave.publish.explorer.pages.compare import compare_page
from margrave.publish.explorer.pages.release import LISTED, about_page, first_view, other_page, release_page, usual
from margrave.publish.explorer.pages.shelf import catalogue_page
from margrave.publish.explorer.pages.table import table_page
from margrave.publish.explorer.routes import report_of
from margrave.publish.explorer.site.shipped import kinds, shipped, why_not
from margrave.publish.explorer.twins import catalogue_csv, catalogue_json, view_csv, view_json
from margrave.publish.explorer.view import TableView
from margrave.publish.released import Released

ASKED_BYTES = 2 << 30
"""A site that may become larger than this is written only when that is asked for."""
_PAGE_BYTES, _CELL_BYTES = 40_000, 450
"""About what the page of a table takes with its twins: for itself, and for each cell."""
SCRIPTS = ("numbers.js", "drawing.js", "builder.js", "compare.js", "shelf.js")


def write_site(
    library: Library,
    place: Path,
    *,
    large: bool = False,
    tables: Sequence[str] = (),
    messages: Messages = ENGLISH,
    progress: Progress | None = None,
) -> int:
    """Write a site to a new folder; how many bytes it may take. ``tables``: only those of these attributes."""
    check_target(place)
    expected = site_bytes(library, tables)
    if expected > ASKED_BYTES and not large:
        raise RefusedError(
            f"the site may take {expected / 2**30:.1f} GiB: name the tables that it should have with --table, or say "
            "--large to have all"
        )
    with speaking(messages):
        write_files(place, site_files(library, tables), counted(progress, _count(library, tables)))
    return expected


def site_bytes(library: Library, tables: Sequence[str] = ()) -> int:
    """How many bytes a site may take, about; refused where no release has a table that is named."""
    unknown = set(tables)
    for entry in library.comparable if tables else ():
        margins = {frozenset(margin) for margin in library.release(entry.key).plan.spec.margins}
        unknown -= {table for table in unknown if frozenset(table.split(",")) in margins}
    if unknown:
        raise UsageError(f"--table ({min(unknown)}) must name the attributes of a released table, as in smoke,age")
    return sum(_expected(library, entry, tables) for entry in library.entries.values())


def _count(library: Library, tables: Sequence[str]) -> int:
    """How many files a site has, for whoever waits for it: a table that is too large for a page has fewer."""
    count = 3 + len(SCRIPTS) + (len(library.comparable) > 1)
    for entry in library.entries.values():
        if not entry.explorable:
            count += 2 + len(entry.files)
            continue
        release = library.release(entry.key)
        wanted = len(_wanted(release, tables))
        count += max(1, -(-wanted // LISTED)) + 2 + 3 * wanted + (1 if why_not(release) else 2)
        count += len(entry.files) if _keeps_files(release, tables) else 0
    return count


def _expected(library: Library, entry: Shelved, tables: Sequence[str]) -> int:
    if not entry.explorable:
        return entry.bytes
    release = library.release(entry.key)
    cells = [release.domain.cells(margin) for _, margin in _wanted(release, tables)]
    kept = entry.bytes if _keeps_files(release, tables) else 0
    return kept + len(cells) * _PAGE_BYTES + sum(min(one, MOST_NUMBERS) for one in cells) * _CELL_BYTES


def _keeps_files(release: Released, tables: Sequence[str]) -> bool:
    """Whether the files of a bundle are part of the site: not those of a large release of which some is wanted."""
    return not (tables and is_large(release.plan))


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
    yield "index.html", catalogue_page(library, "", front).encode()
    yield "catalogue.json", catalogue_json(library.search("")).encode()
    yield "catalogue.csv", catalogue_csv(library.search("")).encode()
    for name in SCRIPTS:
        yield name, resources("margrave.publish.explorer.site").joinpath(name).read_bytes()
    if len(library.comparable) > 1:
        to = Written(scripts=("numbers.js", "drawing.js", "compare.js"))
        yield "compare.html", compare_page(library, ("", ""), TableView(), "", to).encode()
    for entry in library.entries.values():
        made = _release_files(library.release(entry.key), entry, tables) if entry.explorable else _other_files(entry)
        for name, content in made:
            yield f"r/{entry.key}/{name}", content


def _other_files(entry: Shelved) -> Iterator[File]:
    """A bundle that holds no tables to explore: its report, and its files."""
    yield "index.html", other_page(entry, Written("../../")).encode()
    yield "report.html", report_of(entry)
    yield from _kept_files(entry)


def _kept_files(entry: Shelved) -> Iterator[File]:
    """The files of a bundle as they are."""
    with opened(entry.path) as files:
        for name in sorted(entry.files):
            yield f"files/{name}", manifest_content(files) if name == MANIFEST else files.read(name, MOST_REPORT)


def _release_files(release: Released, entry: Shelved, tables: Sequence[str]) -> Iterator[File]:
    keeps = _keeps_files(release, tables)
    to, wanted = Written("../../", files=keeps), _wanted(release, tables)
    for first in range(0, max(1, len(wanted)), LISTED):
        yield to.search("", first), release_page(release, entry, wanted, to, first=first).encode()
    yield "about.html", about_page(release, to).encode()
    yield "report.html", report_of(entry)
    for number, margin in wanted:
        yield from _table_files(release, entry, number, margin)
    yield from _builder_files(release, entry)
    if keeps:
        yield from _kept_files(entry)


def _table_files(release: Released, entry: Shelved, number: int, margin: tuple[str, ...]) -> Iterator[File]:
    """An asked table as a page, and for machines; of one that is too large for a page, why there is none."""
    view, here = first_view(release, margin), Written("../../", number=number)
    try:
        found = figures(release, view)
    except UsageError as error:
        yield f"table-{number}.html", table_page(release, entry, view, str(error), here).encode()
        return
    yield f"table-{number}.html", table_page(release, entry, view, found, here).encode()
    yield f"table-{number}.csv", view_csv(release, found).encode()
    yield f"table-{number}.json", view_json(release, found).encode()


def _builder_files(release: Released, entry: Shelved) -> Iterator[File]:
    """The page that builds tables, and what it computes them from; or why it cannot."""
    if reason := why_not(release):
        said = say(
            "This site cannot compute other tables of this release: %(reason)s. Use “margrave explore”.", reason=reason
        )
        view = TableView(numbers=usual(release))
        yield "table.html", table_page(release, entry, view, said, Written("../../")).encode()
        return
    scripts = ("../../numbers.js", "../../drawing.js", "data.js", "../../builder.js")
    to = Written("../../", scripts, computes=kinds(release))
    yield "table.html", table_page(release, entry, TableView(), "", to).encode()
    text = json.dumps(shipped(release), ensure_ascii=True, separators=(",", ":"))
    yield "data.js", f"margrave.release = {text};\n".encode()
