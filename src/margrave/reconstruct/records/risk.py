"""How wrong records are at a temperature, estimated from the noisy answers and from how much the records fluctuate.

Records in equilibrium at temperature τ have probability ∝ exp(−misfit/τ), and the mean of a residual moves with its
estimate as ∂E R_T / ∂R̂_T = Cov(R_T) / (τ σ²_T). So Stein's estimate of the squared error of the mean R̄_T is

    ‖R̄_T − R̂_T‖² − σ²_T d_T + 2 V_T / τ,      V_T = the sum of the variances of R_T from state to state.

V_T comes from states a sweep apart, and V_T ≤ τ σ²_T d_T whatever the records. Where records hardly move any more, it
is seen too small, and the estimate is too good: so the first temperature after which it no longer falls is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import subsets
from margrave.reconstruct.records.energy import Energy

Floats = NDArray[np.float64]


class Fluctuation:
    """Collects states of records, as counts of all tables: their mean, and how much they differ."""

    def __init__(self, energy: Energy) -> None:
        self._energy = energy
        self._first: Floats | None = None
        self._sum = np.zeros(energy.tables.size)
        self._squares = np.zeros(len(energy.curves))
        self._states = 0

    def add(self, counts: Floats) -> None:
        """One more state."""
        # Differences from the first state, so that large counts do not swallow small changes.
        self._first = counts if self._first is None else self._first
        moved = counts - self._first
        self._sum += moved
        self._squares += self._energy.tables.squares(moved)
        self._states += 1

    @property
    def mean(self) -> Floats:
        """The mean of the states."""
        assert self._first is not None
        return np.asarray(self._first + self._sum / self._states)

    def variances(self, temperature: float) -> Floats:
        """V_T for each table."""
        within = self._squares - self._energy.tables.squares(self._sum) / self._states
        most = temperature * self._energy.variances * self._energy.freedoms
        return np.minimum(within / (self._states - 1), most)


@dataclass(frozen=True, eq=False)
class Judge:
    """Adds the errors of residuals up to errors of the wanted tables: ``sums`` has a row for each of them."""

    energy: Energy
    sums: sparse.csr_array
    cells: Floats

    def error(self, fluctuation: Fluctuation, temperature: float) -> float:
        """Estimates a bound of the L1 error of the wanted tables, their mean: Σ √(cells · squared error)."""
        energy = self.energy
        squares = energy.misfits(fluctuation.mean) - energy.variances * energy.freedoms
        squares += 2 * fluctuation.variances(temperature) / temperature
        return float(np.sqrt(self.cells * np.maximum(self.sums @ squares, 0.0)).mean())

    def chi_squared(self, counts: Floats) -> tuple[Floats, Floats]:
        """For each wanted table its χ² (the misfits of its residuals over their variances), and what noise explains."""
        within = (self.sums > 0).astype(float)
        return within @ (self.energy.misfits(counts) / self.energy.variances), within @ self.energy.freedoms


def judge(energy: Energy, domain: Domain, wanted: Sequence[Margin]) -> Judge:
    """The judge of the wanted tables."""
    position = {margin: index for index, margin in enumerate(energy.tables.margins)}
    rows, columns, shares = [], [], []
    for row, margin in enumerate(wanted):
        for below in subsets(margin):
            if below in position:
                rows.append(row)
                columns.append(position[below])
                shares.append(1 / prod(domain[name].size for name in margin if name not in below))
    sums = sparse.csr_array((shares, (rows, columns)), shape=(len(wanted), len(position)))
    return Judge(energy, sums, np.array([domain.cells(margin) for margin in wanted], dtype=float))
