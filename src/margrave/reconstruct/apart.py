"""The errors of published cells, given how far the published table is from the unbiased one.

With p published, u unbiased and t the truth, p − t = (p − u) + (u − t). The distance d = p − u is known; u − t is noise
whose variance σ² is known, too. Simulations say how much p − u varies by noise alone: D. A published table is smoother
than the truth, which adds a bias that simulations around it cannot see: d² has a mean M above D. Of the distance only
the part κ = D / M is noise then, so that the error of p, given d, is (1 − κ) d in the mean, with variance σ² − κ D.
Where κ is 1, the distance says nothing about p; where it is 0, the error is that of u, and the distance is added to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Floats


@dataclass(frozen=True, eq=False)
class Unbiased:
    """The unbiased cells of a table: their counts, and the standard errors and half-widths of these.

    Cells without error are known: what is estimated of others does not lean on them.
    """

    counts: Floats
    errors: Floats
    widths: Floats


@dataclass(frozen=True, eq=False)
class Apart:
    """Published and unbiased cells of a table, and a row of both for each simulation, in units of each cell's noise.

    ``pools``: a number for each cell. Cells of the same number are alike: what is estimated is estimated over them.
    """

    published: Floats
    unbiased: Floats
    again: Floats
    unbiased_again: Floats
    pools: NDArray[np.int64]

    def errors(self) -> Floats:
        """The root mean squared error of each published cell, given its distance from the unbiased one.

        The variance is at least that of the simulated counts. No true count is below zero, so no published one is too
        high by more than itself.
        """
        distance = self.published - self.unbiased
        expected = self._pooled((self.again - self.unbiased_again).var(axis=0, ddof=1))
        noise = expected / self._found(distance, expected)
        bias = np.minimum((1 - noise) * distance, self.published)
        variance = np.maximum(1 - noise * expected, self._pooled(self.again.var(axis=0, ddof=1)))
        return np.asarray(np.sqrt(bias**2 + variance))

    def _found(self, distance: Floats, expected: Floats) -> Floats:
        """The mean square of the distance: the largest of what was expected, found in the pool, and found in the cell.

        Few cells may be near by chance: the mean of the pool is raised by one standard error. A single cell that is far
        off has an interaction that was smoothed away, not more noise than others.
        """
        squares = distance**2
        chance = 1 + np.sqrt(2 / np.bincount(self.pools)[self.pools])
        found = np.maximum(np.maximum(self._pooled(squares) * chance, squares), expected)
        return np.where(found > 0, found, 1.0)

    def _pooled(self, numbers: Floats) -> Floats:
        """The mean over the pool of each cell."""
        return np.asarray((np.bincount(self.pools, numbers) / np.maximum(np.bincount(self.pools), 1))[self.pools])
