"""The misfit of records to noisy residuals, as a sum over tables that one record changes in one cell each.

With m_S the counts of table S, residuals R_T of variance σ²_T and their estimates R̂_T, the misfit is

    ½ Σ_T ‖R_T − R̂_T‖² / σ²_T  =  Σ_S (½ u_S ‖m_S‖² − ⟨h_S, m_S⟩) + constant,      h_S = R̂_S / σ²_S,
    u_S = Σ_{T ⊇ S} (−1)^{|T∖S|} / (σ²_T ∏_{j ∈ T∖S} k_j),

because ‖R_T‖² = Σ_{S ⊆ T} (−1)^{|T∖S|} ‖m_S‖² / ∏_{j ∈ T∖S} k_j, and R̂_T sums to zero along each axis. Its derivative
by a cell is u_S m_S − h_S: when a record moves, one cell of each table gains u_S and another loses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.lattice import subsets
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.records.layout import TableCells


@dataclass(frozen=True, eq=False)
class Energy:
    """The misfit to some estimates: ``curves`` u_S for each table, ``pulls`` h_S and ``targets`` R̂_S for each cell,
    ``variances`` σ²_S and ``freedoms`` ∏(k_j − 1) for each table.
    """

    tables: TableCells
    curves: Floats
    pulls: Floats
    targets: Floats
    variances: Floats
    freedoms: Floats

    @property
    def entry_curves(self) -> Floats:
        """u_S for each entry of the layout."""
        layout = self.tables.layout
        tables = np.searchsorted(self.tables.offsets, layout.cells[layout.where], side="right") - 1
        return self.curves[tables]

    def slopes(self, counts: Floats, pulls: Floats | None = None) -> Floats:
        """The derivative of the misfit, or of that with other pulls, by each cell."""
        return np.repeat(self.curves, self.tables.cells) * counts - (self.pulls if pulls is None else pulls)

    def pulled(self, step: Floats) -> Floats:
        """The pulls if the targets were moved by so much."""
        return self.pulls + step / np.repeat(self.variances, self.tables.cells)

    def misfits(self, counts: Floats) -> Floats:
        """‖R_S − R̂_S‖² for each table."""
        return self.tables.squares(counts - self.targets)


def energy(estimates: Estimates, tables: TableCells) -> Energy:
    """The misfit of records to the estimates of the residuals of all given tables."""
    domain = estimates.domain
    variances = np.array([estimates.variances[margin] for margin in tables.margins])
    position = {margin: index for index, margin in enumerate(tables.margins)}
    curves = np.zeros(len(variances))
    for margin, variance in zip(tables.margins, variances, strict=True):
        for below in subsets(margin):
            if below:
                rest = [domain[name].size for name in margin if name not in below]
                curves[position[below]] += (-1) ** len(rest) / (variance * prod(rest))
    targets = np.concatenate([estimates.values[margin].ravel() for margin in tables.margins])
    freedoms = np.array([prod(size - 1 for size in domain.shape(margin)) for margin in tables.margins], dtype=float)
    return Energy(tables, curves, targets / np.repeat(variances, tables.cells), targets, variances, freedoms)
