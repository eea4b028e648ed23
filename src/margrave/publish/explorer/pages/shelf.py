"""The catalogue: all releases, how private and how accurate each is."""

from __future__ import annotations

from margrave.errors import MargraveError
from margrave.messages.catalogue import say
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.library import Library, Shelved
from margrave.publish.explorer.pages.frame import FRONT, rendered
from margrave.publish.explorer.pages.release import quality_of
from margrave.publish.report.values import written

_JUDGED = 12
"""Releases that one look at the catalogue opens, to say how accurate they are."""
_QUICK = 5 << 20
"""Bytes of a bundle up to which the catalogue opens it for that."""


def catalogue_page(library: Library, wanted: str, to: Served = FRONT) -> str:
    """All releases, or those whose titles have some words."""
    entries = library.search(wanted)
    for entry in entries[:_JUDGED]:
        if entry.explorable and entry.bytes <= _QUICK and entry.key not in library.typical:
            library.typical[entry.key] = _typical(library, entry)
    shelf = [(one, _facts_of(one, library.typical.get(one.key))) for one in entries]
    compares = len(library.comparable) > 1
    return rendered("catalogue.html", to, shelf=shelf, wanted=wanted, skipped=library.skipped, compares=compares)


def _typical(library: Library, entry: Shelved) -> float | None:
    """How far a typical interval of a release reaches; None where its bundle cannot be read."""
    try:
        return quality_of(library.release(entry.key)).width
    except MargraveError:
        return None


def _facts_of(entry: Shelved, typical: float | None) -> list[tuple[str, str]]:
    """What a release is, at a glance: how private, how accurate, and how large."""
    found = [(say("privacy loss"), entry.guarantee)] if entry.guarantee else []
    if entry.tables:
        found.append((say("tables"), written(entry.tables)))
    if typical is not None:
        found.append((say("a typical interval reaches"), f"±{written(typical, typical)}"))
    if not entry.private:
        found.append((say("An experiment: not private"), ""))
    return found
