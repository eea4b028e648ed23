"""A released graph as users hold it: its tables, and its bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from margrave.crossing import MeasuredGraph
from margrave.files.content import Content
from margrave.planning.graphs.plan import GraphPlan
from margrave.planning.promise.guarantee import approximate
from margrave.progress import Progress
from margrave.publish.bundle.untrusted.reading import Files, archived
from margrave.publish.framed.bundle import read_framed, save
from margrave.publish.graphs.answers import GraphAnswers
from margrave.publish.graphs.framing import FRAMING
from margrave.reconstruct.graphs import nearest_graph

if TYPE_CHECKING:
    from margrave.publish.verification.signature import SigningKey


class GraphRelease(GraphAnswers):
    """A finished release of a graph. It holds nothing confidential."""

    @classmethod
    def of(cls, plan: GraphPlan, measured: MeasuredGraph, ledger: Mapping[str, Any] | None = None) -> GraphRelease:
        """The release that follows from noisy answers: with the nearest simple graph, if edges are released."""
        return cls(plan, measured, None if measured.pairs is None else nearest_graph(plan, measured), ledger)

    @classmethod
    def read(cls, files: Files) -> GraphRelease:
        """The release in the files of a bundle."""
        found = read_framed(FRAMING, files)[1]
        return cls(found.plan, found.measured, found.nearest, found.ledger)

    @classmethod
    def unpacked(cls, content: Content) -> GraphRelease:
        """The release in an archive that a ledger keeps, which is what is saved of it."""
        with archived(content) as files:
            return replace(cls.read(files), stored=content)

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
        return save(FRAMING, self, path, stored=self.stored, sign=sign, progress=progress)

    def _repr_html_(self) -> str:
        from margrave.publish.notebook import framed_html

        held = f"{len(self.plan.spec.nodes)} nodes, {approximate(self.plan.cost)}; blocks() shows edges by groups"
        return framed_html("Graph", held, self)
