"""A released graph: a value of noisy answers, public degrees and a simple graph, and the tables that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from margrave.crossing import MeasuredGraph
from margrave.errors import UsageError
from margrave.planning.graphs.shape import blocks_of, pairs_of
from margrave.planning.graphs.spec import GraphData
from margrave.planning.promise.guarantee import approximate
from margrave.publish.numbers import DECIMALS
from margrave.reconstruct.graphs import NearestGraph, block_estimates

if TYPE_CHECKING:
    import pandas as pd

    from margrave.files.content import Content
    from margrave.planning.graphs.plan import GraphPlan


@dataclass(frozen=True, eq=False)
class GraphAnswers:
    """What may be published of a graph. Everything here follows from the noisy answers and the public facts.

    ``nearest`` is the simple graph; None where no edges are released, or none was found in time. ``ledger`` says where
    the release was charged, if anywhere, and ``stored`` is the bundle that the ledger keeps of it.
    """

    plan: GraphPlan
    measured: MeasuredGraph = field(repr=False)
    nearest: NearestGraph | None = field(repr=False)
    ledger: Mapping[str, Any] | None = None
    stored: Content | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plan", replace(self.plan, spec=replace(self.plan.spec, data=GraphData())))

    def __repr__(self) -> str:
        private = "private" if self.private else "NOT PRIVATE: the noise comes from a seed"
        return f"GraphRelease({len(self.plan.spec.nodes)} nodes, {approximate(self.plan.cost)}, {private})"

    @property
    def private(self) -> bool:
        """False when the noise came from a seed."""
        return self.measured.private

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
        if self.measured.pairs is None:
            raise UsageError("this release has no edges: give them a share of the budget, release.edges = 0.5")
        if self.nearest is None:
            raise UsageError("no simple graph with the public degrees was found in time: use the block table")
        return self._named(self.nearest.edges)

    def pairs(self) -> pd.DataFrame:
        """The noisy adjacency: for each pair of nodes, 1 or 0 plus noise; ``edge``: 1 in the released simple graph."""
        if self.measured.pairs is None:
            raise UsageError("this release has no edges: give them a share of the budget, release.edges = 0.5")
        frame = self._named(np.ones(len(self.measured.pairs), dtype=np.bool_)).assign(noisy=self.measured.pairs)
        return frame if self.nearest is None else frame.assign(edge=self.nearest.edges.astype(np.int64))

    def nodes(self) -> pd.DataFrame:
        """The nodes with their groups, and the public degrees, which are exact; empty where they are not public."""
        import pandas as pd

        nodes = self.plan.spec.nodes
        frame = pd.DataFrame({"node": nodes.names, "group": [nodes.groups[group] for group in nodes.group_of]})
        for known in self.plan.spec.known:
            degrees = dict(zip(known.nodes, self.measured.degrees[known.side].tolist(), strict=True))
            frame[known.side] = pd.array([degrees.get(node, pd.NA) for node in range(len(nodes))], dtype="Int64")
        return frame

    def _named(self, which: Any) -> pd.DataFrame:
        """Some of the pairs, by the names of their ends."""
        import pandas as pd

        names = np.array(self.plan.spec.nodes.names, dtype=object)
        ends = (names[end[which]] for end in pairs_of(self.plan.spec))
        return pd.DataFrame(dict(zip(self._ends("node"), ends, strict=True)))

    def _ends(self, what: str) -> tuple[str, str]:
        return (f"from_{what}", f"to_{what}") if self.plan.spec.directed else (f"one_{what}", f"other_{what}")
