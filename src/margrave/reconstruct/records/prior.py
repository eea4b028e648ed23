"""What is known of records before the noisy tables are looked at: kinds, or another model that was learned.

With prior probability ∝ exp(Σ_S θ_S) for each record, a value is drawn with probability ∝ exp(Σ_S θ_S − misfit/τ).
Since the misfit has a linear term −⟨h_S, m_S⟩ for each table, the potentials θ_S only move these: h_S + τ θ_S.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from margrave.algebra.arrays import Codes, Floats
from margrave.algebra.domain import Margin
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.records.kinds import Kinds, first_kinds
from margrave.reconstruct.records.layout import TableCells
from margrave.reconstruct.records.start import first_records, shares
from margrave.reconstruct.records.variables import Variables
from margrave.reconstruct.records.zeros import Zeros

if TYPE_CHECKING:
    from margrave.noise import Generator


class RecordPrior(Protocol):
    """What is known of records before."""

    def begin(self, count: int, generator: Generator) -> tuple[Codes, Kinds]:
        """The first records, a column for each variable, and their kinds."""
        ...

    def leaning(self, tables: TableCells, estimates: Estimates) -> Floats:
        """θ for each cell of the tables, as it would be if these had been the estimates."""
        ...

    def predicted(self, wanted: Sequence[Margin]) -> list[Margin]:
        """The tables whose errors known noise is to tell; none where they are simulated."""
        ...


@dataclass(frozen=True, eq=False)
class Mixture:
    """Records of kinds that are learned while they are fitted (:mod:`margrave.reconstruct.records.kinds`)."""

    estimates: Estimates
    found: Variables
    zeros: Zeros

    def begin(self, count: int, generator: Generator) -> tuple[Codes, Kinds]:
        base = shares(self.estimates, self.found, count)
        codes = first_records(base, count, self.zeros, generator)
        return codes, first_kinds(codes, base, generator)

    def leaning(self, tables: TableCells, estimates: Estimates) -> Floats:
        return np.zeros(tables.size)

    def predicted(self, wanted: Sequence[Margin]) -> list[Margin]:
        return []
