"""The pages of one release: what it is and promises, its tables, what its numbers mean, whether its files are whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from margrave.algebra.domain import Margin
from margrave.messages.catalogue import say
from margrave.planning.promise.guarantee import approximate
from margrave.publish.bundle.parts.description import title_of
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.library import Shelved
from margrave.publish.explorer.pages.frame import INNER, ViewLink, rendered
from margrave.publish.explorer.view import TableView
from margrave.publish.report.quality import Quality
from margrave.publish.report.tables import Shown, count_words, is_known
from margrave.publish.report.values import table_title, written

if TYPE_CHECKING:
    from margrave.publish.released import Released

LISTED = 200
"""Tables that a page of a release lists."""
_JUDGED, _JUDGED_CELLS = 12, 1 << 18
"""Tables by which the counts of a release are judged as a whole, and the most cells of each."""


def citation(title: str, entry: Shelved, view: str = "") -> str:
    """How to cite a release, or one view of it by its address."""
    text = say(
        "%(title)s%(year)s. Tables with differential privacy, %(guarantee)s. Made with Margrave. Release %(key)s.",
        title=title,
        year=f" ({entry.created[:4]})" if entry.created else "",
        guarantee=entry.guarantee,
        key=entry.key,
    )
    return f"{text} {view}" if view else text


def release_page(
    release: Released,
    entry: Shelved,
    listed: Iterable[tuple[int, Margin]],
    to: Served = INNER,
    *,
    wanted: str = "",
    first: int = 0,
) -> str:
    """What a release is: its promise, its tables, where it was charged, how to cite it.

    ``listed``: the tables that it may lead to, by their numbers from 1. ``wanted``: words that tables are searched for
    by. ``first``: how many of those that are found stand on pages before.
    """
    plan, quality = release.plan, quality_of(release)
    found = _searched(release, listed, wanted)
    shown = list(islice(found, first, first + LISTED))
    further = first + LISTED if next(found, None) is not None else 0
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
            (say("tables"), written(len(plan.spec.margins))),
            (say("a typical interval reaches"), f"±{written(quality.width, quality.width)}"),
        ],
        words=plan.promise.words(),
        tables=[
            ViewLink(titled(release, one), first_view(release, one).address(), release.domain.cells(one), number)
            for number, one in shown
        ],
        wanted=wanted,
        many=bool(wanted or first or further),
        before=max(0, first - LISTED) if first else None,
        further=further,
        places={"first": written(first + 1), "last": written(first + len(shown))},
        ledger=[] if release.ledger is None else [(name, str(value)) for name, value in release.ledger.items()],
        citation=citation(title_of(release), entry),
        files=sorted(entry.files.items()) if to.keeps_files else [],
    )


def _searched(release: Released, listed: Iterable[tuple[int, Margin]], wanted: str) -> Iterator[tuple[int, Margin]]:
    """The tables whose attributes, by their names or titles, have all the words."""
    words = wanted.casefold().split()
    codebook = release.plan.spec.codebook
    said = {name: f"{name} {codebook[name].title}".casefold() for name in release.domain.names}
    return (
        (number, margin)
        for number, margin in listed
        if all(any(word in said[name] for name in margin) for word in words)
    )


def other_page(entry: Shelved, to: Served = INNER) -> str:
    """A bundle that holds no tables to explore, such as that of a graph: it leads to its report and its files."""
    return rendered(
        "other.html",
        to,
        title=entry.title,
        created=entry.created,
        private=entry.private,
        guarantee=entry.guarantee,
        files=sorted(entry.files.items()),
    )


def quality_of(release: Released) -> Quality:
    """How good the counts of a release are, by its first tables that are not too large."""
    some = [one for one in release.plan.spec.margins[:_JUDGED] if release.domain.cells(one) <= _JUDGED_CELLS]
    shown = [Shown(release, margin) for margin in some or [()]]
    return Quality.of((one.numbers, one.columns["std_error"]) for one in shown)


def checked_page(title: str, failed: str, said: Sequence[str], to: Served = INNER) -> str:
    """What was found when the files of a release were checked; ``failed``: what is not in order."""
    return rendered("checked.html", to, title=title, failed=failed, said=said)


def first_view(release: Released, margin: tuple[str, ...]) -> TableView:
    """The view with which a table is first shown: its last attribute across, the others down."""
    return TableView(margin[:-1] if len(margin) > 1 else margin, margin[1:][-1:], numbers=usual(release))


def usual(release: Released) -> str:
    """The kind of numbers that is shown where none is asked for."""
    return "unbiased" if release.publication is None else "published"


def titled(release: Released, names: tuple[str, ...]) -> str:
    """What a table of some attributes is called."""
    return table_title(release.plan.spec.codebook, names)


def about_page(release: Released, to: Served = INNER) -> str:
    """What an interval is and what the loss of privacy means, by a number of this very release."""
    some = (one for one in release.plan.spec.margins if release.domain.cells(one) <= _JUDGED_CELLS)
    margin = next((one for one in some if is_known(release, one)), None)
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
