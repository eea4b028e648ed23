"""Estimates of a log-linear model from noisy evidence, and tests of one number of it, by quasi-likelihood.

The true table is a sample: its cells are independent Poisson counts of mean ``μ = exp(B θ)``. The evidence
``y = F n + noise`` (:mod:`margrave.inference.evidence`) then has

    mean F μ,   covariance V = F diag(μ) Fᵀ + I,   slope J = F diag(μ) B,

and the quasi-score ``Jᵀ V⁻¹ (y − F μ)`` has mean zero and covariance ``Jᵀ V⁻¹ J``, whatever the noise's law is
(docs/inference.md). ``μ`` has one entry for each possible cell, ``B`` one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from margrave.algebra.arrays import Floats
from margrave.inference.evidence import Evidence

SPREAD = 5.0
"""A parameter of the orthonormal basis is drawn towards zero as if it were known to be within about ± this: so weakly
that it only keeps what the evidence leaves free from running to infinity. A log odds ratio of two binary attributes
is twice such a parameter."""

_STEPS, _STRIDE, _CLOSE, _MET, _HIGHEST, _FREE = 80, 1.0, 1e-5, 1e-3, 50.0, 1e-6


class Quantity(Protocol):
    """A number about which something is asked: a smooth function of ``log μ`` that may take any real value."""

    def value(self, logs: Floats) -> float:
        """The number, at a table with these logarithms."""

    def slope(self, logs: Floats) -> Floats:
        """Its derivative by the logarithm of each cell."""


@dataclass(frozen=True, eq=False)
class FitState:
    """The evidence beside a table of the model with parameters ``theta``.

    ``weighted`` is V⁻¹J, ``information`` JᵀV⁻¹J, ``score`` the quasi-score, ``misfit`` the squared length of y − Fμ
    under V⁻¹. ``bend`` is what the evidence's distance adds to the curvature: a cell that it wants below zero.
    """

    theta: Floats
    logs: Floats
    weighted: Floats
    information: Floats
    score: Floats
    bend: Floats
    misfit: float


@dataclass(frozen=True, eq=False)
class Quasi:
    """Evidence and the basis B of a model."""

    evidence: Evidence
    basis: Floats

    @property
    def pull(self) -> Floats:
        """The weak prior precision of each parameter; the first is the constant, which is as good as free."""
        pull: Floats = np.full(self.basis.shape[1], SPREAD**-2)
        pull[0] = _FREE
        return pull

    def state(self, theta: Floats) -> FitState:
        """Everything that a step or a test needs at some parameters."""
        logs = np.clip(self.basis @ theta, -_HIGHEST, _HIGHEST)
        table = np.exp(logs)
        matrix = self.evidence.matrix
        covariance = (matrix * table) @ matrix.T
        covariance[np.diag_indices_from(covariance)] += 1.0
        factor = cho_factor(covariance, lower=True, check_finite=False)
        slope = (matrix * table) @ self.basis
        weighted = cho_solve(factor, slope, check_finite=False)
        off = self.evidence.values - matrix @ table
        drawn = cho_solve(factor, off, check_finite=False)
        bent = np.maximum(-table * (drawn @ matrix), 0.0)
        bend = self.basis.T @ (self.basis * bent[:, None])
        return FitState(theta, logs, weighted, slope.T @ weighted, weighted.T @ off, bend, float(off @ drawn))

    def start(self, total: float) -> Floats:
        """The parameters of the uniform table with a total."""
        theta = np.zeros(self.basis.shape[1])
        theta[0] = np.log(max(total, 1.0) / len(self.basis)) / self.basis[0, 0]
        return theta

    def solve(self, theta: Floats, target: Quantity | None = None, value: float = 0.0) -> FitState:
        """The estimate from a starting point; with a target, among tables where that has the given value.

        Fisher scoring: each step minimises a quadratic form, under the constraint made linear; no cell's logarithm
        moves by more than one at a time.
        """
        state = self.state(theta)
        for step in range(_STEPS):
            move, gain = self._step(state, target, value)
            longest = float(np.abs(self.basis @ move).max())
            lack = 0.0 if target is None else abs(target.value(state.logs) - value)
            # Later steps are damped, so that an iteration that goes back and forth comes to rest.
            damping = 1.0 if step < _STEPS // 2 else 0.5
            state = self.state(state.theta + min(damping, _STRIDE / max(longest, 1e-300)) * move)
            if gain < _CLOSE and lack < _MET:
                break
        return state

    def settled(self, state: FitState) -> bool:
        """Whether a solution without a target is one: a further step would move nothing by a tenth of its error."""
        return self._step(state, None, 0.0)[1] < 0.01

    def _step(self, state: FitState, target: Quantity | None, value: float) -> tuple[Floats, float]:
        """A step of the parameters, and its squared length in units of their standard errors."""
        pull = self.pull
        # Without the bend a step overshoots for ever where the evidence wants a cell below zero.
        curvature = state.information + state.bend + np.diag(pull)
        free = state.score - pull * state.theta
        if target is None:
            move = np.asarray(np.linalg.solve(curvature, free))
        else:
            slope = self.basis.T @ target.slope(state.logs)
            both = np.linalg.solve(curvature, np.stack([free, slope], axis=1))
            lack = value - target.value(state.logs) - float(slope @ both[:, 0])
            move = np.asarray(both[:, 0] + both[:, 1] * (lack / float(slope @ both[:, 1])))
        return move, float(move @ curvature @ move)

    def direction(self, state: FitState, target: Quantity) -> tuple[Floats, float]:
        """How the estimate of a target moves with the evidence, and its standard error."""
        slope = self.basis.T @ target.slope(state.logs)
        moved = np.linalg.solve(state.information + np.diag(self.pull), slope)
        return np.asarray(state.weighted @ moved), sqrt(max(float(moved @ state.information @ moved), 1e-300))

    def statistic(self, state: FitState, target: Quantity) -> tuple[float, float, float]:
        """How far the evidence is from a table where the target was held fixed, in standard errors of the target.

        Also the skewness and the excess kurtosis of that number under the table: sums over its independent causes, the
        cells' counts and the noises.
        """
        influence, error = self.direction(state, target)
        table = np.exp(state.logs)
        on_cells = influence @ self.evidence.matrix / error
        on_noise = self.evidence.sources @ (influence / error)
        skewness = float((table * on_cells**3).sum())
        kurtosis = float((table * on_cells**4).sum() + (self.evidence.excess * on_noise**4).sum())
        off = self.evidence.values - self.evidence.matrix @ table
        return float(influence @ off) / error, skewness, kurtosis
