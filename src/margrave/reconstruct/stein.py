"""Stein's unbiased estimate of risk: how wrong a table is expected to be, from the noisy estimates alone.

For Gaussian noise g and an estimator f of the wanted tables M from their unbiased values Mz,

    E ‖f(z) − truth‖² = E ‖f(z) − Mz‖² − E ‖Mg‖² + 2 E ⟨Mg, (f(z + h g) − f(z))/h⟩      (h → 0)

so estimators can be compared without the truth. The last term is averaged over a few fixed draws of g.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.lattice import subsets
from margrave.algebra.residual import centre, decompose, margin_from
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.normals import Normals

_STEP = 0.2
_SMALL = 1 << 14


def measured(estimates: Estimates, wanted: Sequence[Margin]) -> tuple[Margin, ...]:
    """The wanted margins that have an unbiased estimate."""
    return tuple(margin for margin in wanted if all(below in estimates.values for below in subsets(margin)))


@dataclass(frozen=True)
class Probe:
    """Estimates moved by a small multiple of one draw of their own noise.

    ``margins``: the wanted margins that have an unbiased estimate; ``unbiased``: all their cells; ``drawn``: what the
    draw adds to each of these cells.
    """

    moved: Estimates
    margins: tuple[Margin, ...]
    unbiased: Floats
    drawn: Floats
    noise: float

    def base(self, table: Floats) -> float:
        """‖f(z) − Mz‖² − E ‖Mg‖²."""
        return float(((self._cells(table) - self.unbiased) ** 2).sum()) - self.noise

    def slope(self, table: Floats, moved: Floats) -> float:
        """2 ⟨Mg, (f(z + h g) − f(z))/h⟩ from the estimator's tables without and with the move.

        Divided by ‖Mg‖² and multiplied by its expectation: exact for the unbiased tables, steadier for all others.
        """
        found = 2 * float(self.drawn @ (self._cells(moved) - self._cells(table))) / _STEP
        return found * self.noise / max(float(self.drawn @ self.drawn), 1e-300)

    def _cells(self, table: Floats) -> Floats:
        return tables_of(self.moved, table, self.margins)


def probes(estimates: Estimates, wanted: Sequence[Margin]) -> list[Probe]:
    """The fixed draws at which an estimator is probed, fewer in a large table, where each tells more."""
    margins = measured(estimates, wanted)
    unbiased, expected = _unbiased(estimates, margins), sum(noise(estimates, margin) for margin in margins)
    found = []
    for drawn in draws(estimates, 6 if estimates.domain.cells() <= _SMALL else 1, "margrave risk"):
        values = {margin: estimates.values[margin] + _STEP * drawn.values[margin] for margin in drawn.values}
        moved = Estimates(estimates.domain, values, estimates.variances)
        found.append(Probe(moved, margins, unbiased, _unbiased(drawn, margins), expected))
    return found


def risk_of(tried: Sequence[Probe], tables: Sequence[Floats]) -> float:
    """The estimated sum of squared errors over all cells of the wanted margins, of an estimator that gave ``tables``:
    first that of the estimates themselves, then that of each probe.
    """
    slopes = [probe.slope(tables[0], table) for probe, table in zip(tried, tables[1:], strict=True)]
    return tried[0].base(tables[0]) + sum(slopes) / len(slopes)


def doubt(estimates: Estimates, margins: Sequence[Margin], one: Floats, other: Floats) -> float:
    """The standard error of the difference of two tables' risks, about: that of 2⟨Mg, f₁ − f₂⟩ for tables that stand.

    Residuals of the noise are uncorrelated, and R_T is in every cell of each wanted margin above it.
    """
    domain = estimates.domain
    axes = {margin: tuple(domain.names.index(name) for name in margin) for margin in estimates.values}
    apart = decompose(one - other, len(domain.names), wanted=set(axes.values()))
    square = 0.0
    for below, variance in estimates.variances.items():
        times = sum(domain.cells(below) / domain.cells(margin) for margin in margins if set(below) <= set(margin))
        square += variance * times**2 * float((apart[axes[below]] ** 2).sum())
    return 2 * sqrt(square)


def noise(estimates: Estimates, margin: Margin) -> float:
    """The expected sum of squared errors of a margin's unbiased estimate."""
    domain = estimates.domain
    return sum(
        estimates.variances[below]
        * prod(size - 1 for size in domain.shape(below))
        * domain.cells(below)
        / domain.cells(margin)
        for below in subsets(margin)
    )


def tables_of(estimates: Estimates, table: Floats, margins: Sequence[Margin]) -> Floats:
    """All cells of the margins of a full table, one after the other."""
    names = estimates.domain.names
    parts = [
        table.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in margin)).ravel()
        for margin in margins
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _unbiased(estimates: Estimates, margins: Sequence[Margin]) -> Floats:
    parts = [margin_from(estimates.domain, margin, estimates.values).ravel() for margin in margins]
    return np.concatenate(parts) if parts else np.zeros(0)


def draws(estimates: Estimates, count: int, seed: str) -> Iterator[Estimates]:
    """Fixed draws of noise with the covariance of the estimates."""
    normals = Normals(seed)
    for _ in range(count):
        values = {}
        for margin, variance in estimates.variances.items():
            value = normals(estimates.domain.cells(margin)).reshape(estimates.domain.shape(margin)) * sqrt(variance)
            for axis in range(len(margin)):
                value = centre(value, axis)
            values[margin] = value
        yield Estimates(estimates.domain, values, estimates.variances)
