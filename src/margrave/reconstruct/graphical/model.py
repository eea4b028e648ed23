"""A graphical model of a table: non-negative, consistent, and of any number of attributes.

To fit one to noisy tables of known variance, and to ask it for tables:

    noisy = [NoisyTable(("age", "sex"), counts, variance), …]          # reconstruct/graphical/fit.py
    model = fit(domain, noisy, total=48_842)
    model.margin(("age", "income"))                               # any margin, inside a clique or not
    better = fit(domain, [*noisy, another], total=48_842, start=model)      # warm: from the potentials found before
    rows = records_of(model, 48_842)                              # reconstruct/graphical/rows.py: a row of codes each

`tree_cells` (reconstruct/graphical/trees.py) tells beforehand, from the margins alone, how large a model will be.
"""

from __future__ import annotations

from dataclasses import dataclass

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.reconstruct.graphical.beliefs import Calibrated, Potentials
from margrave.reconstruct.graphical.elimination import margin_of
from margrave.reconstruct.graphical.trees import JunctionTree


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """A fitted model. ``steps``: how often its tables were computed while it was fitted."""

    tree: JunctionTree
    calibrated: Calibrated
    potentials: Potentials
    total: float
    steps: int = 0

    @property
    def domain(self) -> Domain:
        return self.tree.domain

    def margin(self, margin: Margin) -> Floats:
        """The expected counts of any margin, one axis for each of its attributes."""
        return margin_of(self.tree, self.calibrated, margin)
