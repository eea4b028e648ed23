"""A release in the hands of a person: the value, and what can be done with it as methods."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from margrave.progress import Progress
from margrave.publish.bundle import bundle
from margrave.publish.released import Released
from margrave.publish.way import load
from margrave.reconstruct.bars import Bars as Bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from margrave.facts.bounds import CellBounds
    from margrave.publish.verification.signature import SigningKey


@dataclass(frozen=True, eq=False, repr=False)
class Release(Released):
    """A finished release, which can be saved, loaded and shown. All else is in :class:`Released`."""

    @classmethod
    def of(cls, released: Released) -> Release:
        """The same release, in the hands of a person."""
        return cls(**{one.name: getattr(released, one.name) for one in fields(released)})

    @classmethod
    def load(cls, path: str | Path) -> Any:
        """What is published in a bundle: a release of tables, or of whichever way of asking it is of."""
        return load(path)

    def save(
        self,
        path: str | Path,
        *,
        sign: SigningKey | None = None,
        progress: Progress | None = None,
    ) -> Path:
        """Write a bundle to a new folder, or to a new file if the name ends in .zip (docs/bundle-format.md).

        ``sign``: a key, ``mg.SigningKey.load("curator.key")``, that tells readers who made it.
        """
        return bundle.save(self, path, progress, sign)

    def plot(self, *names: str) -> Figure:
        """A picture of the published table of one to three attributes, with intervals (extra ``plot``).

        The first runs down, the second is told apart by colours, the third makes small multiples.
        """
        from margrave.publish.plots import plot

        return plot(self, names)

    def to_excel(self, path: str | Path) -> Path:
        """Write a new Excel file: a sheet about the guarantee, and one for each table (extra ``excel``)."""
        from margrave.publish.spreadsheet import to_excel

        return to_excel(self, path)

    def _repr_html_(self) -> str:
        from margrave.publish.notebook import release_html

        return release_html(self)

    @cached_property
    def bounds(self) -> CellBounds | None:
        """What the public facts alone tell: the least and largest count of each cell over their attributes.

        None without public facts, and where that would take too long.
        """
        from margrave.publish.report.public_facts import fact_bounds

        return fact_bounds(self)
