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
from margrave.reconstruct.graphical.rows import records_of
from margrave.reconstruct.graphical.selected import Learned, model_of
from margrave.reconstruct.records.kinds import Kinds, no_kinds
from margrave.reconstruct.records.layout import TableCells
from margrave.reconstruct.records.spread import is_predicted
from margrave.reconstruct.records.variables import Variables

if TYPE_CHECKING:
    from margrave.noise import Generator


@dataclass(frozen=True, eq=False)
class Modelled:
    """What was ``learned`` from the ``selected`` tables, which say what it predicts: see `spread.is_predicted`."""

    learned: Learned
    selected: Sequence[Margin]
    found: Variables

    def begin(self, count: int, generator: Generator) -> tuple[Codes, Kinds]:
        model = self.learned.model
        rows, sizes = records_of(model, count), self.found.sizes()
        columns = [model.domain.position(name) for name in self.found.names]
        codes: Codes = np.ascontiguousarray(rows[:, columns], dtype=np.min_scalar_type(max(sizes, default=1) - 1))
        return codes, no_kinds(codes, sizes)

    def leaning(self, tables: TableCells, estimates: Estimates) -> Floats:
        start, taken = self.learned.model, self.learned.taken
        model = model_of(estimates, start.domain, taken, start=start)
        theta = np.zeros(tables.size)
        for (margin, _), potential in model.potentials.items():
            tables.part(theta, tables.margins.index(margin))[:] += potential.ravel()
        return theta

    def predicted(self, wanted: Sequence[Margin]) -> list[Margin]:
        return [margin for margin in wanted if is_predicted(margin, self.selected)]
