"""The report of a release: pages for people, which need no network, no script and no other file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from margrave.algebra.domain import Margin
from margrave.algebra.words import name_of, number
from margrave.messages.catalogue import later, say
from margrave.planning.plan import Plan
from margrave.planning.promise.exposure import exposure
from margrave.planning.promise.guarantee import approximate
from margrave.publish.bundle.described import schema_org
from margrave.publish.bundle.parts.description import about, title_of
from margrave.publish.bundle.parts.layout import Layout, is_large
from margrave.publish.bundle.parts.names import table_stems
from margrave.publish.bundle.words import REPORT, software
from margrave.publish.report.budget import budget_section
from margrave.publish.report.frame import FirstScreen, contents, framed
from margrave.publish.report.html import details, paragraph, section, table
from margrave.publish.report.public_facts import facts_section
from margrave.publish.report.quality import Quality
from margrave.publish.report.risk import risk_section
from margrave.publish.report.sections import (
    example_section,
    meaning_section,
    measured_section,
    reuse_section,
    statisticians_section,
    words_section,
)
from margrave.publish.report.tables import MOST_CELLS, Shown, count_words, table_article
from margrave.publish.report.values import written

if TYPE_CHECKING:
    from margrave.publish.released import Released

PAGE_TABLES = 200
"""Tables on a page. A release of more has further pages, `report/002.html` and so on."""
OPEN_TABLES = 12
"""Up to so many tables all are open; of more, only the first few are."""
_FIRST_OPEN = 3
_LARGE_TABLES = 24
"""Tables of a large release that are drawn."""
_PAGE_CELLS, _LEAST_CELLS = 60_000, 100
"""Cells that a page draws, shared by its tables, and the fewest of each: a page stays one that a browser can show."""
_MOST_LISTED = 500
_COMPARED = 24
"""Tables whose published and unbiased counts are compared cell by cell."""


@dataclass(frozen=True, eq=False)
class Pages:
    """What the pages of a report share: the release, its date, the software that the bundle says it was made by.

    Any other output than today's is another form of it (`margrave.publish.bundle.forms`).
    """

    release: Released
    created: str | None
    made_by: str

    @property
    def plan(self) -> Plan:
        return self.release.plan

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The places of the tables among those that are wanted: the ones asked for by name first."""
        margins = self.plan.spec.margins
        place = {margin: index for index, margin in enumerate(margins)}
        asked = dict.fromkeys(place[wanted.margin] for wanted in self.plan.spec.tables)
        return (*asked, *(index for index in range(len(margins)) if index not in asked))

    @cached_property
    def tables(self) -> tuple[Shown, ...]:
        """The tables that are drawn, in the order of the pages: of a large release only those of the first page."""
        margins = self.plan.spec.margins
        most = _LARGE_TABLES if is_large(self.plan) else len(margins)
        cells = max(_LEAST_CELLS, min(MOST_CELLS, _PAGE_CELLS // min(most, PAGE_TABLES)))
        return tuple(Shown(self.release, margins[index], cells) for index in self.order[:most])

    @cached_property
    def files(self) -> list[str]:
        """The file of each table that is drawn or listed, in the order of the pages."""
        if not is_large(self.plan):
            stems = list(table_stems(self.plan).values())
            return [f"{stems[index]}.csv" for index in self.order]
        tables = Layout.of(self.plan).tables
        some = self.order[: _LARGE_TABLES + _MOST_LISTED]
        names = {block: tables.name(tables.part(block)) for block in some}
        return [say("%(file)s, as table number %(number)s", file=names[block], number=block + 1) for block in some]

    @cached_property
    def quality(self) -> Quality:
        return Quality.of((one.numbers, one.columns["std_error"]) for one in self.tables)

    @cached_property
    def title(self) -> str:
        return title_of(self.release)

    def articles(self, first: int, last: int) -> str:
        """Some of the tables, under one heading."""
        many = len(self.tables) > OPEN_TABLES
        inner = [
            table_article(self.tables[at], at + 1, self.files[at], folded=many and at - first >= _FIRST_OPEN)
            for at in range(first, min(last, len(self.tables)))
        ]
        return section("tables", say("The tables"), *inner)


def report_html(release: Released, created: str | None = None, made_by: str | None = None) -> str:
    """The whole report as one page, with every table that it draws."""
    report = Pages(release, created, made_by or software())
    return _first_page(report, len(report.tables), {})


def report_pages(release: Released, created: str | None, made_by: str) -> Iterator[tuple[str, bytes]]:
    """The files of a report in a bundle: `report.html`, and further pages where there are many tables."""
    report = Pages(release, created, made_by)
    starts = range(0, max(len(report.tables), 1), PAGE_TABLES)
    names = page_names(release.plan)
    where = {at: f"{names[at // PAGE_TABLES]}#table-{at + 1}" for at in range(PAGE_TABLES, len(report.tables))}
    yield REPORT, _first_page(report, PAGE_TABLES, where).encode()
    for start, name in zip(starts[1:], names[1:], strict=True):
        yield name, _further_page(report, start).encode()


def page_names(plan: Plan) -> list[str]:
    """The names of the files of a report."""
    pages = 1 if is_large(plan) else -(-max(len(plan.spec.margins), 1) // PAGE_TABLES)
    return [REPORT, *(f"report/{page + 1:03}.html" for page in range(1, pages))]


def _first_page(report: Pages, last: int, elsewhere: dict[int, str]) -> str:
    """``elsewhere``: where the tables are that stand on further pages, by their places."""
    release, tables = report.release, list(report.tables)
    version = report.made_by.removeprefix("margrave ")
    compared = tables[:_COMPARED]
    parts = {
        "interval": example_section(release, tables),
        "tables": report.articles(0, last) + _not_drawn(report),
        "meaning": meaning_section(release),
        "statisticians": statisticians_section(release, compared),
        "budget": budget_section(report.plan),
        "risk": risk_section(exposure(report.plan.promise)),
        "facts": facts_section(release),
        "measured": measured_section(report.plan),
        "reuse": reuse_section(release, report.title, report.created, version),
        "words": words_section(),
    }
    listed = [
        (elsewhere.get(at, f"#table-{at + 1}"), one.title, say("mostly noise") if one.quality.warnings() else "")
        for at, one in enumerate(tables)
    ]
    after = [(f"#{key}", say(title)) for key, title in _SECTIONS.items() if parts[key]]
    index = contents(listed, most=OPEN_TABLES, after=after)
    return framed(_head(report), [index, *parts.values()], report.made_by)


_SECTIONS = {
    "interval": later("How to read an interval"),
    "meaning": later("What this means for a person in the data"),
    "statisticians": later("For statisticians"),
    "budget": later("Error against budget"),
    "risk": later("What an attacker can reach at most"),
    "facts": later("What is public already"),
    "measured": later("What was measured"),
    "reuse": later("How to cite and reuse"),
    "words": later("Words"),
}


def _further_page(report: Pages, start: int) -> str:
    tables = report.tables[start : start + PAGE_TABLES]
    listed = [(f"#table-{start + at + 1}", one.title, "") for at, one in enumerate(tables)]
    places = {"first": start + 1, "last": start + len(tables)}
    title = say("%(title)s: tables %(first)s to %(last)s", title=report.title, **places)
    lead = say("Tables %(first)s to %(last)s of %(all)s.", **places, all=len(report.tables))
    head = FirstScreen(say("Tables under differential privacy"), title, report.created, lead, report.release.private)
    first = f'<a href="../report.html">{escape(say("To the first page"))}</a>'
    back = f"<p>{say('%(first)s, which says how good these counts are.', first=first)}</p>"
    parts = [back, contents(listed, most=OPEN_TABLES), report.articles(start, start + PAGE_TABLES)]
    return framed(head, parts, report.made_by)


def _head(report: Pages) -> FirstScreen:
    plan, quality = report.plan, report.quality
    warned = sum(bool(one.quality.warnings()) for one in report.tables)
    remarks = quality.remarks()
    if warned and len(report.tables) > 1:
        counts = {"some": warned, "all": len(report.tables)}
        remarks.append(say("%(some)s of %(all)s tables are mostly noise: they are marked in the contents.", **counts))
    remarks.append(_why(quality))
    figures = [
        (say("privacy loss, at most"), approximate(plan.guarantee)),
        (say("estimated number of records"), count_words(Shown(report.release, ()), 0)),
        (say("tables (cells)"), f"{written(len(plan.spec.margins))} ({written(_cells(report))})"),
        (say("a typical interval reaches"), f"±{written(quality.width, quality.width)}"),
    ]
    lead = quality.sentence(report.release.level)
    kind = say("Tables under differential privacy")
    told = about(report.release, report.created)
    data = schema_org(told, [axis.title or axis.name for axis in plan.spec.codebook.entries], _csv_files(report))
    return FirstScreen(kind, report.title, report.created, lead, report.release.private, figures, remarks, data)


def _csv_files(report: Pages) -> list[str]:
    return [] if is_large(report.plan) else report.files[:PAGE_TABLES]


def _why(quality: Quality) -> str:
    """Why counts are not exact."""
    which = say("Every count but the exact ones") if quality.exact else say("Every count")
    return say(
        "%(which)s was changed on purpose, at random, to limit what anybody can find out from it about any one person. "
        "By how much is known, and shown.",
        which=which,
    )


def _cells(report: Pages) -> int:
    return sum(report.release.domain.cells(margin) for margin in report.plan.spec.margins)


def _not_drawn(report: Pages) -> str:
    """The first of the tables that a large release has in its files alone."""
    left = len(report.plan.spec.margins) - len(report.tables)
    if not left:
        return ""
    forecast = {row.margin: row for row in report.plan.forecast}
    first = len(report.tables)
    margins: list[Margin] = [report.plan.spec.margins[index] for index in report.order[first : first + _MOST_LISTED]]
    rows = [
        (name_of(margin), str(forecast[margin].cells), number(forecast[margin].std_error), file)
        for margin, file in zip(margins, report.files[first:], strict=False)
    ]
    said = say("List of further tables")
    if left > len(rows):
        said = say("The first %(count)s of the further tables", count=len(rows))
    headers = (say("table"), say("cells"), say("std. error"), say("file"))
    more = say("%(count)s more tables are in the files of the release.", count=written(left))
    return paragraph(more) + details(said, table(headers, rows))
