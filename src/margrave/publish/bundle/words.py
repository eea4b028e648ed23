"""The names of files, and the fixed words, by which every bundle tells what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margrave.messages.catalogue import later, say
from margrave.version import __version__

MANIFEST = "release.json"
REPORT = "report.html"
NOT_PRIVATE = later(
    "NOT PRIVATE: the noise of this release comes from a seed. Anybody who knows or guesses the seed can take it away "
    "again and see the exact counts. Use it for experiments only; never publish it."
)
COMPOSITION = later(
    "Not tracked: this release was made without a ledger. Other releases from the same data add to its cost."
)
_UNTRACKED = {
    "local": later(
        "Nothing to track: no budget of a data set was spent, every report being private when it left its device. "
        "Collections that the same people report to add up for each of them."
    )
}
"""What is said where a way of asking is charged to no ledger."""


def software() -> str:
    """The Margrave that runs, as bundles name it."""
    return f"margrave {__version__}"


def composition(ledger: Mapping[str, Any] | None, way: str = "release") -> str:
    """What is known of other releases from the same data."""
    if ledger is None:
        return say(_UNTRACKED.get(way, COMPOSITION))
    return say(
        "Tracked: this release is part of what the ledger %(id)s counts for the data set %(dataset)s, charged by entry "
        "%(entry)s. Its public statement says what all of it costs together.",
        **{name: ledger[name] for name in ("id", "dataset", "entry")},
    )
