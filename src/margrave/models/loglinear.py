"""Maximum likelihood fits of hierarchical log-linear models, extended to tables where the estimate is on the boundary.

Symbols: ``n`` the observed table, ``m`` the fitted one with the same generator margins and total, the *face* the
cells where ``m`` is positive (:mod:`margrave.models.facial`). Sums run over the face; outside it ``n = m = 0``.

    G² = 2 Σ n log(n/m)        X² = Σ (n − m)²/m
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from scipy.special import chdtrc, xlogy

from margrave.algebra.arrays import Floats
from margrave.algebra.table import Table
from margrave.errors import UsageError
from margrave.models.facial import Face, face
from margrave.models.model import Mask, Model
from margrave.models.solve import SolvedCounts, closed_form, ipf, newton

TOLERANCE = 1e-10
"""A fit has converged when no fitted generator cell is further than this share of the total from the observed one."""

SWEEPS = 200
"""Sweeps of proportional fitting before Newton's method takes over."""


@dataclass(frozen=True, eq=False)
class ModelFit:
    """A model fitted to a table: the extended maximum likelihood estimate, and how it was reached.

    ``face_rank`` is the dimension of the model restricted to the face: the number of parameters that the table
    can estimate. ``method`` is ``closed form``, ``ipf`` or ``newton``; ``iterations`` counts sweeps and steps.
    """

    model: Model
    observed: Table
    fitted: Table
    face: Face
    face_rank: int
    method: str
    iterations: int
    converged: bool

    def __repr__(self) -> str:
        """Without numbers, which may be confidential."""
        return f"ModelFit({self.model}, {self.method}, {'converged' if self.converged else 'not converged'})"

    @property
    def exists(self) -> bool:
        """Whether the ordinary maximum likelihood estimate exists, with every cell positive."""
        return self.face.whole

    @property
    def probabilities(self) -> Table:
        """The fitted table divided by its total."""
        return Table(self.fitted.domain, self.fitted.margin, self.fitted.counts / self.fitted.total)

    @property
    def _on_face(self) -> tuple[Floats, Floats]:
        cells = self.face.cells
        return self.observed.counts[cells].astype(float), self.fitted.counts[cells].astype(float)

    @cached_property
    def g2(self) -> float:
        """The likelihood-ratio statistic against the saturated model."""
        n, m = self._on_face
        # The two totals agree up to rounding; taking their difference in keeps every term non-negative.
        return max(0.0, 2.0 * float((xlogy(n, n) - xlogy(n, m) - n + m).sum()))

    @cached_property
    def x2(self) -> float:
        """Pearson's statistic."""
        n, m = self._on_face
        return float(((n - m) ** 2 / m).sum())

    @property
    def df(self) -> int:
        """Degrees of freedom, naive: cells minus rank. Right where the estimate exists."""
        return self.face.cells.size - self.model.rank

    @property
    def df_extended(self) -> int:
        """Degrees of freedom on the face: its cells minus the rank there."""
        return int(self.face.cells.sum()) - self.face_rank

    @property
    def p_value(self) -> float:
        """The chance of a larger G² under the model, by the χ² law with the extended degrees of freedom."""
        return float(chdtrc(self.df_extended, self.g2)) if self.df_extended else 1.0

    @property
    def aic(self) -> float:
        """Akaike's criterion, up to a constant that all models of one table share: G² + 2 · face rank."""
        return self.g2 + 2.0 * self.face_rank

    @property
    def bic(self) -> float:
        """Schwarz's criterion, up to a constant that all models of one table share: G² + log(total) · face rank."""
        return self.g2 + log(self.observed.total) * self.face_rank

    @property
    def pearson(self) -> Floats:
        """Residuals ``(n − m)/√m``, zero outside the face; their squares sum to X²."""
        n, m = self._on_face
        return self._spread((n - m) / np.sqrt(m))

    @property
    def deviance(self) -> Floats:
        """Signed roots of each cell's part of G², zero outside the face; their squares sum to G²."""
        n, m = self._on_face
        parts = 2.0 * (xlogy(n, n) - xlogy(n, m) - n + m)
        return self._spread(np.sign(n - m) * np.sqrt(np.maximum(parts, 0.0)))

    @property
    def adjusted(self) -> Floats:
        """Pearson residuals divided by their standard error, zero where the model leaves a cell no freedom."""
        n, m = self._on_face
        weighted = self.model.basis(self.face.cells) * np.sqrt(m)[:, None]
        directions = np.linalg.svd(weighted, full_matrices=False)[0][:, : self.face_rank]
        freedom = 1.0 - (directions**2).sum(axis=1)
        loose = freedom > 1e-9
        return self._spread(np.where(loose, (n - m) / np.sqrt(m * np.where(loose, freedom, 1.0)), 0.0))

    def _spread(self, values: Floats) -> Floats:
        full = np.zeros(self.face.cells.shape)
        full[self.face.cells] = values
        return full

    def summary(self) -> dict[str, float | int | bool | str]:
        """The numbers of a report, by name."""
        names = ("g2", "x2", "df", "df_extended", "p_value", "aic", "bic", "exists", "method", "iterations")
        return {"model": str(self.model), **{name: getattr(self, name) for name in names}, "converged": self.converged}


def fit(model: Model, table: Table, *, tolerance: float = TOLERANCE, limit: int = 10_000) -> ModelFit:
    """Fit a model to a full table of non-negative counts, whole or not.

    Decomposable models are fitted in closed form. Others by iterative proportional fitting on the face, and by
    Newton's method from there when that is slow; ``limit`` bounds the sweeps where the model is too large for Newton.
    """
    counts = _checked(model, table)
    found = face(model, counts)
    if model.sequence is not None:
        solution, rank = closed_form(model, counts), _decomposable_rank(model, counts)
    else:
        rank = _face_rank(model, found)
        solution = _iterate(model, counts, found.cells, rank, tolerance, limit)
    fitted = Table(table.domain, table.margin, solution.counts)
    return ModelFit(model, table, fitted, found, rank, solution.method, solution.iterations, solution.converged)


def _iterate(model: Model, counts: Floats, cells: Mask, rank: int, tolerance: float, limit: int) -> SolvedCounts:
    first = ipf(model, counts, cells, tolerance, min(SWEEPS, limit))
    if first.converged or limit <= SWEEPS:
        return first
    polished = newton(model, counts, cells, rank, first, tolerance)
    if polished.converged:
        return polished
    return ipf(model, counts, cells, tolerance, limit)


def _face_rank(model: Model, found: Face) -> int:
    if found.whole:
        return model.rank
    return int(np.linalg.matrix_rank(model.basis(found.cells)))


def _decomposable_rank(model: Model, counts: Floats) -> int:
    """The rank on the face of a decomposable model: non-empty generator cells minus non-empty separator cells."""
    assert model.sequence is not None
    filled = [
        [int(np.count_nonzero(counts.sum(axis=model.axes_outside(margin)))) for margin in pair]
        for pair in model.sequence
    ]
    return filled[0][0] + sum(clique - separator for clique, separator in filled[1:])


def _checked(model: Model, table: Table) -> Floats:
    """The counts as reals, when the table is one that the model can be fitted to."""
    if table.margin != model.domain.names or table.domain.restrict(table.margin) != model.domain:
        raise UsageError(
            f"the model is over ({', '.join(model.domain.names)}) and the table over ({', '.join(table.margin)}), or "
            "their values differ: fit a table of the model's own domain (see Table.project and Table.align)"
        )
    counts = table.counts.astype(float)
    if not np.isfinite(counts).all():
        raise UsageError("the table has cells that are not finite numbers; a log-linear model cannot be fitted to it")
    if (counts < 0).any():
        raise UsageError(
            "the table has negative cells, and a log-linear model needs non-negative ones: fit a release's published "
            "tables, not its unbiased noisy ones"
        )
    if not counts.any():
        raise UsageError("every cell of the table is zero, so there is nothing to fit")
    return counts
