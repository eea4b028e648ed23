"""A graphical model as what is known of records before: they begin as records of the model, and lean on it.

Where the noisy tables say no more than the model does, they stay with it; where some table is measured so well that it
contradicts the model, they follow the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Codes, Floats
from margrave.algebra.domain import Margin
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.graphical.model import GraphicalModel
from margrave.reconstruct.graphical.rows import records_of
from margrave.reconstruct.graphical.selected import model_of
from margrave.reconstruct.records.kinds import Kinds, no_kinds
from margrave.reconstruct.records.layout import TableCells
from margrave.reconstruct.records.spread import OTHERS, SELECTED
from margrave.reconstruct.records.variables import Variables

if TYPE_CHECKING:
    from margrave.noise import Generator


@dataclass(frozen=True, eq=False)
class Modelled:
    """A model of the ``selected`` tables."""

    model: GraphicalModel
    selected: Sequence[Margin]
    found: Variables

    def begin(self, count: int, generator: Generator) -> tuple[Codes, Kinds]:
        rows, sizes = records_of(self.model, count), self.found.sizes()
        columns = [self.model.domain.position(name) for name in self.found.names]
        codes: Codes = np.ascontiguousarray(rows[:, columns], dtype=np.min_scalar_type(max(sizes, default=1) - 1))
        return codes, no_kinds(codes, sizes)

    def leaning(self, tables: TableCells, estimates: Estimates) -> Floats:
        model = model_of(estimates, self.model.domain, self.selected, start=self.model)
        theta = np.zeros(tables.size)
        for (margin, _), potential in model.potentials.items():
            tables.part(theta, tables.margins.index(margin))[:] += potential.ravel()
        return theta

    def groups(self, wanted: Sequence[Margin]) -> dict[str, list[Margin]]:
        followed = {*self.selected}
        return {
            SELECTED: [margin for margin in wanted if margin in followed],
            OTHERS: [margin for margin in wanted if margin not in followed],
        }
