"""How wrong records are at a temperature, estimated from the noisy answers alone.

Two sets of records are fitted side by side, one to the estimates R̂_T + z_T/2, the other to R̂_T − z_T/2, where z_T is a
random direction of the length that noise has, ‖z_T‖² = σ²_T d_T. Let R̄_T be the mean of both, and D_T the difference of
the first from the second: ⟨D_T, z_T⟩ is how far the records follow a noise that we know. Both sets have the same first
records and the same random numbers, so that they part because of z alone; a model that they lean on is fitted to the
moved estimates as well. Stein's estimate of the squared error of R̄_T is

    ‖R̄_T − R̂_T‖² − σ²_T d_T + 2 ⟨D_T, z_T⟩.

It holds for any way of fitting to answers that are moved like these, and so also where records hardly move any more.
Which tables a model has taken in was decided by the unmoved answers, and is not decided again: for that choice the
estimate does not pay.

Added up to the squared error s of a wanted table of c cells, its root, √(c s), bounds the L1 error. Where noise is
large the estimate of s is uncertain by δ, which is known too, and is often negative; √max(s, 0) would then tell nothing
of which temperature is better. So a table counts for

    √(c (s + √(s² + δ²)) / 2) − √(c δ / 2)

which is √(c s) where s is certain, and rises with s everywhere. Most of the uncertainty is the same at all temperatures
(it is that of ‖R̂_T − R_T‖²), so that differences between them tell more than the estimates themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy import sparse

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import subsets
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.normals import Normals
from margrave.reconstruct.records.energy import Energy
from margrave.reconstruct.records.layout import TableCells


def known_noise(energy: Energy, seed: str) -> Floats:
    """z_T for each table: centred along each axis, and of length σ_T √d_T."""
    tables = energy.tables
    noise = tables.centred(Normals(f"known noise {seed}")(tables.size))
    lengths = np.sqrt(energy.variances * energy.freedoms / np.maximum(tables.squares(noise), 1e-300))
    return np.asarray(noise * np.repeat(lengths, tables.cells))


def moved(estimates: Estimates, tables: TableCells, by: Floats) -> Estimates:
    """The estimates with so much added to each cell of the residuals of the tables."""
    values = dict(estimates.values)
    for index, margin in enumerate(tables.margins):
        values[margin] = values[margin] + tables.part(by, index).reshape(values[margin].shape)
    return Estimates(estimates.domain, values, estimates.variances)


@dataclass(frozen=True, eq=False)
class Judge:
    """Adds the errors of residuals up to errors of the wanted tables: ``sums`` has a row for each of them."""

    energy: Energy
    sums: sparse.csr_array
    cells: Floats

    def error(self, mean: Floats, followed: Floats) -> float:
        """Estimates a bound of the L1 error of the wanted tables, their mean; negative where noise would explain more.

        ``followed``: ⟨D_T, z_T⟩ for each residual.
        """
        energy = self.energy
        squares = self.sums @ (energy.misfits(mean) - energy.variances * energy.freedoms + 2 * followed)
        unsure = np.sqrt(self.sums.power(2) @ (2 * energy.variances**2 * energy.freedoms))
        counted = np.sqrt(np.maximum(squares + np.hypot(squares, unsure), 0.0) / 2) - np.sqrt(unsure / 2)
        return float((np.sqrt(self.cells) * counted).mean())

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
