"""Three ways to the table of largest likelihood among those a model allows on a face.

All return the fitted counts ``m`` in the shape of the table: zero outside the face, with the observed margins of all
generators once converged.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.models.model import LARGEST_MATRIX, Mask, Model

STEPS = 200
"""The most steps of Newton's method."""


@dataclass(frozen=True, eq=False)
class SolvedCounts:
    """Fitted counts, the method's name, its sweeps or steps, and whether the margins were met."""

    counts: Floats
    method: str
    iterations: int
    converged: bool


def closed_form(model: Model, counts: Floats) -> SolvedCounts:
    """A decomposable fit: the product of the generators' tables divided by that of the separators' tables."""
    assert model.sequence is not None
    fitted = np.ones(counts.shape) / prod(model.domain[name].size for name in model.free)
    for place, (margin, separator) in enumerate(model.sequence):
        fitted = fitted * counts.sum(axis=model.axes_outside(margin), keepdims=True)
        if place:
            below = counts.sum(axis=model.axes_outside(separator), keepdims=True)
            fitted = np.divide(fitted, below, out=np.zeros(counts.shape), where=below > 0)
    return SolvedCounts(fitted, "closed form", 0, True)


def ipf(model: Model, counts: Floats, cells: Mask, tolerance: float, limit: int) -> SolvedCounts:
    """Iterative proportional fitting: scale the table to one generator's margin after another, until all agree.

    It starts from the uniform table on the face, so every iterate is in the model there.
    """
    outside = [model.axes_outside(margin) for margin in model.generators]
    wanted = [counts.sum(axis=axes, keepdims=True) for axes in outside]
    total = float(counts.sum())
    fitted = np.where(cells, total / cells.sum(), 0.0)
    for sweep in range(limit):
        worst = 0.0
        for axes, goal in zip(outside, wanted, strict=True):
            present = fitted.sum(axis=axes, keepdims=True)
            worst = max(worst, float(np.abs(goal - present).max()))
            fitted *= np.divide(goal, present, out=np.zeros(goal.shape), where=present > 0)
        if worst <= tolerance * total:
            return SolvedCounts(fitted, "ipf", sweep, True)
    return SolvedCounts(fitted, "ipf", limit, False)


def newton(model: Model, counts: Floats, cells: Mask, rank: int, start: SolvedCounts, tolerance: float) -> SolvedCounts:
    """Newton's method on the model's parameters, from a fit that is already in the model.

    The logarithm of the fit moves along orthonormal directions ``Q`` of the model on the face. A step solves
    ``Qᵀ diag(m) Q δ = Qᵀ (n − m)`` and is halved until the likelihood ``Σ n log m − m`` grows.
    """
    if int(cells.sum()) * model.rank > LARGEST_MATRIX or not (start.counts[cells] > 0).all():
        return start
    directions = np.linalg.svd(model.basis(cells), full_matrices=False)[0][:, :rank]
    observed = counts[cells]
    total = float(observed.sum())
    logs = np.log(start.counts[cells])
    for step in range(1, STEPS + 1):
        fitted = np.exp(logs)
        gradient = directions.T @ (observed - fitted)
        moved = _ascend(directions, observed, logs, gradient)
        if moved is None:
            break
        logs = moved
        if _gap(model, counts, cells, np.exp(logs)) <= tolerance * total:
            return SolvedCounts(_full(cells, np.exp(logs)), "newton", start.iterations + step, True)
    return SolvedCounts(_full(cells, np.exp(logs)), "newton", start.iterations + STEPS, False)


def _ascend(directions: Floats, observed: Floats, logs: Floats, gradient: Floats) -> Floats | None:
    """The logarithms after one damped step, or None when no step along Newton's direction helps."""
    fitted = np.exp(logs)
    curvature = directions.T @ (directions * fitted[:, None])
    try:
        move = directions @ np.linalg.solve(curvature, gradient)
    except np.linalg.LinAlgError:
        return None
    present = float((observed * logs - fitted).sum())
    # A logarithm that would grow by more than 5 is outside the region where the quadratic model means anything.
    size = min(1.0, 5.0 / max(float(move.max()), 1e-300))
    for _ in range(40):
        tried = logs + size * move
        if float((observed * tried - np.exp(tried)).sum()) >= present - 1e-12 * abs(present):
            return tried
        size /= 2
    return None


def _gap(model: Model, counts: Floats, cells: Mask, fitted: Floats) -> float:
    """The largest difference between an observed and a fitted generator cell."""
    difference = counts - _full(cells, fitted)
    return max(float(np.abs(difference.sum(axis=model.axes_outside(margin))).max()) for margin in model.generators)


def _full(cells: Mask, values: Floats) -> Floats:
    full = np.zeros(cells.shape)
    full[cells] = values
    return full
