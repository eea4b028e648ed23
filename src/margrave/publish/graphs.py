"""A released graph: its block table, a simple graph, the public degrees; and the folder that holds them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.crossing import MeasuredGraph
from margrave.errors import UsageError
from margrave.files.writing import File, write_files
from margrave.planning.graphs.degrees import KnownDegrees
from margrave.planning.graphs.plan import GraphPlan
from margrave.planning.graphs.shape import blocks_of, pairs_of
from margrave.publish.bundle.manifest import Checksum
from margrave.publish.bundle.parts import csv_bytes
from margrave.publish.bundle.words import COMPOSITION, NOT_PRIVATE, software
from margrave.publish.numbers import DECIMALS
from margrave.reconstruct.graphs import NearestGraph, block_estimates, nearest_graph

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "margrave-graph"
VERSION = 1
MANIFEST = "manifest.json"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, eq=False)
class GraphRelease:
    """What may be published of a graph. Everything here follows from the noisy answers and the public facts."""

    plan: GraphPlan
    measured: MeasuredGraph = field(repr=False)
    created: str = field(default_factory=_now)

    @property
    def private(self) -> bool:
        """False when the noise came from a seed."""
        return self.measured.private

    @cached_property
    def nearest(self) -> NearestGraph | None:
        """The simple graph, or None where no edges are released or none was found in time."""
        return None if self.measured.pairs is None else nearest_graph(self.plan, self.measured)

    def blocks(self) -> pd.DataFrame:
        """Edges by the groups of their ends.

        ``noisy``: as measured. ``count``: unbiased, agreeing with the public degrees, with its ``std_error``.
        ``edges``: how many the released simple graph has, if there is one.
        """
        import pandas as pd

        groups = self.plan.spec.nodes.groups
        blocks, of_pair = blocks_of(self.plan.spec)
        found = block_estimates(self.plan, self.measured)
        one, other = self._ends("group")
        frame = pd.DataFrame(
            {
                one: [groups[a] for a, _ in blocks],
                other: [groups[b] for _, b in blocks],
                "pairs": np.bincount(of_pair, minlength=len(blocks)),
                "noisy": self.measured.blocks,
                "count": found.counts.round(DECIMALS) + 0.0,
                "std_error": np.sqrt(found.variances).round(DECIMALS),
            }
        )
        if self.nearest is not None:
            frame["edges"] = np.bincount(of_pair[self.nearest.edges], minlength=len(blocks))
        return frame

    def edges(self) -> pd.DataFrame:
        """The edges of the released simple graph, by the names of their ends."""
        import pandas as pd

        if self.measured.pairs is None:
            raise UsageError("this release has no edges: give them a share of the budget, release.edges = 0.5")
        if self.nearest is None:
            raise UsageError("no simple graph with the public degrees was found in time: use the block table")
        names = np.array(self.plan.spec.nodes.names, dtype=object)
        ends = (names[end[self.nearest.edges]] for end in pairs_of(self.plan.spec))
        return pd.DataFrame(dict(zip(self._ends("node"), ends, strict=True)))

    def pairs(self) -> pd.DataFrame:
        """The noisy adjacency: for each pair of nodes, 1 or 0 plus noise."""
        import pandas as pd

        if self.measured.pairs is None:
            raise UsageError("this release has no edges: give them a share of the budget, release.edges = 0.5")
        names = np.array(self.plan.spec.nodes.names, dtype=object)
        ends = (names[end] for end in pairs_of(self.plan.spec))
        return pd.DataFrame(dict(zip(self._ends("node"), ends, strict=True)) | {"noisy": self.measured.pairs})

    def nodes(self) -> pd.DataFrame:
        """The nodes with their groups, and the public degrees, which are exact; empty where they are not public."""
        import pandas as pd

        nodes = self.plan.spec.nodes
        frame = pd.DataFrame({"node": nodes.names, "group": [nodes.groups[group] for group in nodes.group_of]})
        for known in self.plan.spec.known:
            degrees = dict(zip(known.nodes, self.measured.degrees[known.side].tolist(), strict=True))
            frame[known.side] = pd.array([degrees.get(node, pd.NA) for node in range(len(nodes))], dtype="Int64")
        return frame

    def _ends(self, what: str) -> tuple[str, str]:
        return (f"from_{what}", f"to_{what}") if self.plan.spec.directed else (f"one_{what}", f"other_{what}")

    def save(self, path: str | Path) -> None:
        """Write a new folder, or a new .zip file, as a whole or not at all."""
        write_files(Path(path), self._files())

    def _files(self) -> Iterator[File]:
        frames = {"blocks.csv": self.blocks(), "nodes.csv": self.nodes()}
        if self.nearest is not None:
            frames["edges.csv"] = self.edges()
        if self.measured.pairs is not None:
            frames["pairs.csv"] = self.pairs()
        contents = {name: _csv(frame) for name, frame in frames.items()}
        yield from contents.items()
        sums = {name: Checksum.of(content) for name, content in contents.items()}
        manifest = self.manifest() | {"files": {n: {"bytes": s.length, "sha256": s.sha256} for n, s in sums.items()}}
        yield MANIFEST, (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()

    def manifest(self) -> dict[str, Any]:
        """What the release is and guarantees; privacy in exact texts."""
        plan = self.plan
        found: dict[str, Any] = {"format": FORMAT, "version": VERSION, "software": software()}
        if plan.spec.title:
            found["title"] = plan.spec.title
        found["private"] = self.private
        if not self.private:
            found["warning"] = NOT_PRIVATE
        return found | {
            "created": self.created,
            "guarantee": {"cost": plan.cost.as_dict(), "words": list(plan.words())},
            "composition": COMPOSITION,
            "spec": plan.spec.public_dict(),
            "events": list(plan.events),
            "facts": [_fact_json(one) for one in plan.spec.known],
            "graph": _graph_json(self),
        }


def _csv(frame: pd.DataFrame) -> bytes:
    """A frame as CSV, with an empty text where a number is not known."""
    import pyarrow as pa

    unknown = [name for name in frame.columns if frame[name].isna().any()]
    texts = {name: frame[name].astype("string").fillna("") for name in unknown}
    return csv_bytes(pa.Table.from_pandas(frame.assign(**texts), preserve_index=False))


def _fact_json(known: KnownDegrees) -> dict[str, Any]:
    """Public degrees: exact disclosures, whether they were read from the data or given."""
    source = "the data, disclosed without protection" if known.values is None else "the spec"
    return {"fact": known.side, "nodes": len(known.nodes), "from": source}


def _graph_json(release: GraphRelease) -> dict[str, Any] | None:
    if release.measured.pairs is None:
        return None
    if release.nearest is None:
        return {"found": False}
    return {"found": True, "edges": int(release.nearest.edges.sum()), "nearest_proven": release.nearest.proven}
