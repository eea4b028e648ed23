"""Two releases beside each other, and how far they are apart."""

from __future__ import annotations

from urllib.parse import urlencode

from markupsafe import Markup

from margrave.messages.catalogue import say
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.compare import TwoReleases
from margrave.publish.explorer.drawing import drawn
from margrave.publish.explorer.figures import Figures
from margrave.publish.explorer.library import Library, Shelved
from margrave.publish.explorer.pages.frame import FRONT, rendered
from margrave.publish.explorer.pages.release import citation
from margrave.publish.explorer.pages.table import choices, words_of
from margrave.publish.explorer.view import TableView, pairs_of


def compare_page(
    library: Library, keys: tuple[str, str], view: TableView, found: TwoReleases | str, to: Served = FRONT
) -> str:
    """A view of two releases; in place of numbers, why there are none."""
    drawings, heading = [], ""
    if isinstance(found, TwoReleases):
        heading = " × ".join(axis.title for axis in found.one.grid.axes[: len(view.shown)])
        apart = Figures(view, found.one.grid, found.one.level, found.apart)
        titles = (*(library.entry(key).title for key in keys), say("The second less the first"))
        parts = zip(titles, (found.one, found.other, apart), strict=True)
        drawings = [(title, Markup(drawn(one, words_of(one)))) for title, one in parts]
    chosen = choices(view, (), to)
    fixed = {"rows", "columns", *(one["name"] for one in chosen)}
    return rendered(
        "compare.html",
        to,
        heading=heading,
        refused=found[:1].upper() + found[1:] if isinstance(found, str) else "",
        drawings=drawings,
        address=urlencode([("one", keys[0]), ("other", keys[1]), *pairs_of(view)]),
        sides=[("one", say("First"), keys[0]), ("other", say("Second"), keys[1])],
        entries=library.comparable,
        ways=[("rows", say("Down"), view.rows), ("columns", say("Across"), view.columns)],
        names=_common(library, keys),
        experiment=any(not library.entries[key].private for key in keys if key in library.entries),
        cited=cited,
        citation=" ".join([cited(library.entry(key)) for key in keys] if drawings else []),
        choices=chosen,
        rest=[pair for pair in pairs_of(view) if pair[0] not in fixed],
    )


def cited(entry: Shelved) -> str:
    """How to cite one of the two releases."""
    return citation(entry.title, entry)


def _common(library: Library, keys: tuple[str, str]) -> list[tuple[str, str]]:
    """The attributes of both releases with their titles, in the order of the first; none before they are chosen."""
    if not all(key in library.entries and library.entries[key].explorable for key in keys):
        return []
    one, other = (library.release(key) for key in keys)
    codebook = one.plan.spec.codebook
    return [(name, codebook[name].title or name) for name in one.domain.names if name in other.domain.names]
