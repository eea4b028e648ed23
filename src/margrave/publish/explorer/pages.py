"""Pages of the explorer: functions from a release and a view to HTML, by templates that escape every text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from margrave.errors import MargraveError
from margrave.messages.catalogue import say, spoken
from margrave.planning.promise.guarantee import approximate
from margrave.publish.bundle.parts.description import title_of
from margrave.publish.bundle.words import NOT_PRIVATE
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.compare import Compared
from margrave.publish.explorer.drawing import Words, drawn
from margrave.publish.explorer.figures import Figures
from margrave.publish.explorer.grid import knows
from margrave.publish.explorer.library import Entry, Library
from margrave.publish.explorer.simulations import Making
from margrave.publish.explorer.style import sheet
from margrave.publish.explorer.view import CHARTS, NUMBERS, ORDERS, SHARES, View
from margrave.publish.report.quality import Quality
from margrave.publish.report.tables import Shown, count_words, is_known
from margrave.publish.report.values import written
from margrave.version import __version__

if TYPE_CHECKING:
    from margrave.publish.released import Released

GROUPS = 4
"""Groups of collapsed values that the form offers for each attribute; an address can have more."""
LISTED = 200
"""Tables that the page of a release lists."""

_JUDGED = 12
"""Tables by which the counts of a release are judged as a whole."""
_QUICK = 5 << 20
"""Bytes of a bundle up to which the catalogue opens it to say how accurate it is."""
_SAID = re.compile(r'\b(?:say|refuse)\(\s*"([^"\\]*)"')
"""A message in a script."""

FRONT, INNER = Served(), Served("../../")
"""How the catalogue of a server leads on, and the pages of its releases."""


@dataclass(frozen=True)
class Link:
    """A view that a page leads to."""

    title: str
    address: str
    cells: int = 0


@cache
def environment() -> Environment:
    return Environment(
        loader=PackageLoader("margrave.publish.explorer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )


@cache
def _said_by_scripts() -> tuple[str, ...]:
    """Every message of the scripts of a site."""
    room = files("margrave.publish.explorer.site")
    texts = [one.read_text(encoding="utf-8") for one in room.iterdir() if one.name.endswith(".js")]
    return tuple(dict.fromkeys(text for one in texts for text in _SAID.findall(one)))


def _words_of_scripts() -> Markup:
    """What the scripts of a page say, in the language that is spoken; no text in it can end it."""
    words = {text: say(text) for text in _said_by_scripts()} if spoken().language != "en" else {}
    return Markup(json.dumps(words, ensure_ascii=False).replace("<", "\\u003c").replace("&", "\\u0026"))


def rendered(template: str, to: Served, **context: Any) -> str:
    """A page; ``to`` says how it leads to others."""
    common = {
        "to": to,
        "style": Markup(sheet()),
        "version": __version__,
        "language": spoken().language,
        "number": written,
        "day": spoken().day,
        "_": say,
        "not_private": say(NOT_PRIVATE),
        "words_of_scripts": _words_of_scripts() if to.scripts else "",
    }
    return environment().get_template(template).render(**common, **context)


def catalogue_page(library: Library, wanted: str, to: Served = FRONT) -> str:
    """All releases, or those whose titles have some words."""
    entries = library.search(wanted)
    for entry in entries[:_JUDGED]:
        if entry.explorable and entry.bytes <= _QUICK and entry.key not in library.typical:
            library.typical[entry.key] = _typical(library, entry)
    shelf = [(one, _facts_of(one, library.typical.get(one.key, ""))) for one in entries]
    compares = len(library.comparable) > 1
    return rendered("catalogue.html", to, shelf=shelf, wanted=wanted, skipped=library.skipped, compares=compares)


def _typical(library: Library, entry: Entry) -> str:
    """How far a typical interval of a release reaches; empty where its bundle cannot be read."""
    try:
        width = quality_of(library.release(entry.key)).width
    except MargraveError:
        return ""
    return f"±{written(width, width)}"


def _facts_of(entry: Entry, typical: str) -> list[tuple[str, str]]:
    """What a release is, at a glance: how private, how accurate, and how large."""
    found = [(say("privacy loss"), entry.guarantee)] if entry.guarantee else []
    if entry.tables:
        found.append((say("tables"), written(entry.tables)))
    if typical:
        found.append((say("a typical interval reaches"), typical))
    if not entry.private:
        found.append((say("An experiment: not private"), ""))
    return found


def problem_page(text: str, to: Served) -> str:
    return rendered("problem.html", to, text=text, reason="")


def unreadable_page(reason: str, to: Served) -> str:
    """Why a bundle cannot be read, as commands say it: in English."""
    return rendered("problem.html", to, text="", reason=reason)


def citation(release: Released, entry: Entry, view: str = "") -> str:
    """How to cite a release, or one view of it by its address."""
    text = say(
        "%(title)s%(year)s. Tables with differential privacy, %(guarantee)s. Made with Margrave. Release %(key)s.",
        title=title_of(release),
        year=f" ({entry.created[:4]})" if entry.created else "",
        guarantee=approximate(release.plan.guarantee),
        key=entry.key,
    )
    return f"{text} {view}" if view else text


def release_page(release: Released, entry: Entry, listed: Mapping[str, int], to: Served = INNER) -> str:
    """What a release is: its promise, its tables, where it was charged, how to cite it; ``listed``: its files."""
    plan = release.plan
    margins, quality = plan.spec.margins, quality_of(release)
    tables = [
        Link(_title(release, margin), first_view(release, margin).address(), release.domain.cells(margin))
        for margin in margins[:LISTED]
    ]
    return rendered(
        "release.html",
        to,
        title=title_of(release),
        created=entry.created,
        lead=quality.sentence(release.level),
        private=release.private,
        facts=[
            (say("privacy loss, at most"), approximate(plan.guarantee)),
            (say("estimated number of records"), count_words(Shown(release, ()), 0)),
            (say("tables"), written(len(margins))),
            (say("a typical interval reaches"), f"±{written(quality.width, quality.width)}"),
        ],
        words=plan.promise.words(),
        tables=tables,
        more=max(0, len(margins) - LISTED),
        ledger=[] if release.ledger is None else [(name, str(value)) for name, value in release.ledger.items()],
        citation=citation(release, entry),
        files=sorted(listed.items()),
    )


def quality_of(release: Released) -> Quality:
    """How good the counts of a release are, by its first tables."""
    shown = [Shown(release, margin) for margin in release.plan.spec.margins[:_JUDGED]]
    return Quality.of((one.numbers, one.columns["std_error"]) for one in shown)


def checked_page(release: Released, failed: str, said: Sequence[str], to: Served = INNER) -> str:
    """What was found when the files of a release were checked; ``failed``: what is not in order."""
    return rendered("checked.html", to, title=title_of(release), failed=failed, said=said)


def waiting_page(release: Released, making: Making, to: Served = INNER) -> str:
    """How far the simulations of a release are; the page asks again by itself."""
    return rendered("waiting.html", to, title=title_of(release), done=making.done, of=making.of)


def first_view(release: Released, margin: tuple[str, ...]) -> View:
    """The view with which a table is first shown: its last attribute across, the others down."""
    kind = "unbiased" if release.publication is None else "published"
    return View(margin[:-1] if len(margin) > 1 else margin, margin[1:][-1:], numbers=kind)


def _title(release: Released, names: tuple[str, ...]) -> str:
    codebook = release.plan.spec.codebook
    return " × ".join(codebook[name].title or name for name in names) or say("Total")


def about_page(release: Released, to: Served = INNER) -> str:
    """What an interval is and what the loss of privacy means, by a number of this very release."""
    margin = next((one for one in release.plan.spec.margins if is_known(release, one)), None)
    example = None
    if margin is not None:
        shown = Shown(release, margin)
        at = int(shown.numbers.value.argmax())
        count, low, high = (
            float(one.ravel()[at]) for one in (shown.numbers.value, shown.numbers.low, shown.numbers.high)
        )
        texts = {"count": written(count), "low": written(low), "high": written(high)}
        example = {"what": shown.label(at) or title_of(release), **texts}
    return rendered(
        "about.html",
        to,
        title=title_of(release),
        percent=f"{100 * release.level:g} %",
        example=example,
        words=release.plan.promise.words(),
    )


def table_page(release: Released, entry: Entry, view: View, found: Figures | str, to: Served = INNER) -> str:
    """The table builder with a view; in place of figures, why there are none."""
    refused = found if isinstance(found, str) else ""
    names = tuple(name for name in view.shown if name in release.domain.names)
    return rendered(
        "table.html",
        to,
        title=title_of(release),
        private=release.private,
        heading=_title(release, names),
        refused=refused,
        builder=to.builds,
        form=to.has_form,
        drawing="" if isinstance(found, str) else Markup(drawn(found, _words(found))),
        address=view.address(),
        citation=citation(release, entry, "" if to.builds else to.view(view.address())),
        fewer=[Link(_title(release, (name,)), without(view, name).address()) for name in names],
        more=[
            Link(_title(release, (name,)), replace(view, rows=(*view.rows, name)).address())
            for name in release.domain.names
            if name not in view.names and _known_with(release, view, name)
        ],
        attributes=[_attribute(release, view, name) for name in release.domain.names],
        groups=[(str(number), say("group %(number)s", number=number)) for number in range(1, GROUPS + 1)],
        choices=_choices(release, view, to),
    )


def compare_page(library: Library, keys: tuple[str, str], view: View, found: Compared | str, to: Served = FRONT) -> str:
    """Two releases beside each other, and how far they are apart; in place of numbers, why there are none."""
    drawings, heading = [], ""
    if isinstance(found, Compared):
        heading = " × ".join(axis.title for axis in found.one.grid.axes[: len(view.shown)])
        apart = Figures(view, found.one.grid, found.one.level, found.apart)
        titles = (*(library.entry(key).title for key in keys), say("The second less the first"))
        parts = zip(titles, (found.one, found.other, apart), strict=True)
        drawings = [(title, Markup(drawn(one, _words(one)))) for title, one in parts]
    pairs = parse_qsl(view.address())
    return rendered(
        "compare.html",
        to,
        heading=heading,
        refused=found if isinstance(found, str) else "",
        drawings=drawings,
        sides=[("one", say("First"), keys[0]), ("other", say("Second"), keys[1])],
        entries=library.comparable,
        ways=[("rows", say("Down"), view.rows), ("columns", say("Across"), view.columns)],
        names=_common(library, keys),
        rest=[pair for pair in pairs if pair[0] not in ("rows", "columns")],
    )


def _common(library: Library, keys: tuple[str, str]) -> tuple[str, ...]:
    """The attributes of both releases, in the order of the first; none before they are chosen."""
    if not all(key in library.entries and library.entries[key].explorable for key in keys):
        return ()
    one, other = (library.release(key).domain.names for key in keys)
    return tuple(name for name in one if name in other)


def without(view: View, name: str) -> View:
    """A view rolled up: all values of an attribute together. Filters of it go as well."""
    return replace(
        view,
        rows=tuple(one for one in view.rows if one != name),
        columns=tuple(one for one in view.columns if one != name),
        keep=tuple(one for one in view.keep if one[0] != name),
        join=tuple(one for one in view.join if one[0] != name),
        minus=None if view.minus is not None and view.minus[0] == name else view.minus,
    )


def _known_with(release: Released, view: View, name: str) -> bool:
    names = set(release.domain.names)
    return set(view.names) <= names and knows(release, (*view.names, name))


def _words(figures: Figures) -> Words:
    kind = say("Published numbers") if figures.view.numbers == "published" else say("Unbiased numbers")

    def some(count: int) -> str:
        return say("The first %(count)s rows; the CSV has all.", count=written(count))

    number = say("Count") if figures.view.share == "none" else say("Share")
    if figures.view.minus is not None:
        number = say("Difference")
    caption = say("%(kind)s, with %(percent)s intervals.", kind=kind, percent=f"{100 * figures.level:g} %")
    return Words(caption, number, some)


def _attribute(release: Released, view: View, name: str) -> dict[str, Any]:
    """An attribute as the form shows it."""
    entry = release.plan.spec.codebook[name]
    keep, join = dict(view.keep).get(name, ()), dict(view.join).get(name, ())
    group = {value: str(number) for number, values in enumerate(join, 1) for value in values}
    base = view.minus[1] if view.minus is not None and view.minus[0] == name else None
    return {
        "name": name,
        "title": entry.title or name,
        "down": name in view.rows,
        "across": name in view.columns,
        "shown": name in view.shown,
        "changed": bool(keep or join or base),
        "known": name in view.names or _known_with(release, view, name),
        "values": [
            {
                "name": value,
                "label": entry.label(value),
                "kept": value in keep,
                "group": group.get(value, ""),
                "base": value == base,
            }
            for value in entry.attribute.values
        ],
    }


def _choices(release: Released, view: View, to: Served) -> list[dict[str, Any]]:
    """What the form lets people choose: nothing that the release, or the page itself, cannot compute."""
    said = {
        "share": (say("Show"), (say("counts"), say("shares of rows"), say("shares of columns"), say("shares of all"))),
        "order": (say("Order of rows"), (say("as declared"), say("largest first"), say("smallest first"))),
        "chart": (say("Drawn as"), (say("table"), say("bars"), say("shaded table"), say("small tables"))),
        "numbers": (say("Numbers"), (say("published"), say("unbiased"))),
    }
    known = {"share": SHARES, "order": ORDERS, "chart": CHARTS, "numbers": NUMBERS}
    found = []
    for name, (title, labels) in said.items():
        options = list(zip(known[name], labels, strict=True))
        if name == "numbers" and release.publication is None:
            options = options[1:]
        elif name == "numbers" and to.builds:
            options = [option for option in options if option[0] in to.computes]
        found.append({"name": name, "title": title, "options": options, "chosen": getattr(view, name)})
    return found
