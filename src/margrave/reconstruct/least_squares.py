"""The nearest non-negative table in the metric of the known variances, with a certified gap.

    minimise ½ Σ_T ‖R_T(w) − R̂_T‖² / σ²_T    over w ≥ 0, w = 0 where impossible, exact residuals and the total kept

In the coordinates of :mod:`margrave.reconstruct.spectrum` the objective is diagonal, so the alternating direction
method of multipliers has closed-form steps: weigh coordinates, clip cells. The multipliers s ≥ 0 of the cells give the
lower bound ``−s·z − ½ Σ s²/λ`` (z the unconstrained optimum) once their unmeasured coordinates are removed and a
constant is added to keep them non-negative; the gap is the distance of the objective from that bound. Half the squared
distance from the optimum, in units of the noise, is at most the gap.

Where unmeasured residuals leave many optima, the one reached from the product of the one-way tables is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave.reconstruct.estimates import Estimates, Floats
from margrave.reconstruct.spectrum import Spectrum

Possible = NDArray[np.bool_]
Progress = Callable[[float], None]

_RELAXATION = 1.6
_CHECK = 20


@dataclass(frozen=True)
class LeastSquares:
    """A non-negative table, its misfit ½Σ‖R_T(w) − R̂_T‖²/σ²_T and how far at most that is above the optimum.

    ``violation``: the largest error of an exactly known coordinate of the table, zero if only the total is exact.
    """

    table: Floats
    misfit: float
    gap: float
    violation: float
    iterations: int


def least_squares(
    estimates: Estimates,
    possible: Possible | None = None,
    *,
    tolerance: float = 1e-5,
    most: int = 4000,
    progress: Progress | None = None,
) -> LeastSquares:
    """Solve until the gap is below ``tolerance · max(1, misfit)`` or after ``most`` iterations, whichever is first."""
    spectrum = Spectrum.of(estimates, fix_total=True)
    allowed = np.ones(estimates.domain.shape(), dtype=bool) if possible is None else possible
    total = estimates.total
    cells = np.where(allowed, independent(estimates), 0.0)
    best = _certify(spectrum, allowed, total, cells, np.zeros_like(cells), 0)
    if total == 0.0:
        return best
    multipliers = np.zeros_like(cells)
    penalty = _first_penalty(spectrum)
    for iteration in range(1, most + 1):
        turned = spectrum.transform.forward(cells - multipliers)
        weighed = (spectrum.finite * spectrum.centre + penalty * turned) / (spectrum.finite + penalty)
        smooth = spectrum.transform.backward(np.where(spectrum.exact, spectrum.centre, weighed))
        before = cells
        mixed = _RELAXATION * smooth + (1 - _RELAXATION) * before
        cells = np.where(allowed, np.maximum(mixed + multipliers, 0.0), 0.0)
        multipliers = multipliers + mixed - cells
        if iteration % _CHECK == 0 or iteration == most:
            best = _better(best, _certify(spectrum, allowed, total, cells, -penalty * multipliers, iteration))
            if progress is not None:
                progress(best.gap)
            if best.gap <= tolerance * max(1.0, best.misfit) and best.violation <= tolerance:
                break
            change = _balance(smooth - cells, cells - before, penalty, iteration)
            penalty, multipliers = penalty * change, multipliers / change
    return best


def independent(estimates: Estimates) -> Floats:
    """The product of the one-way tables, each made positive: the start, and the completion of what is not measured."""
    domain = estimates.domain
    table = np.full(domain.shape(), max(estimates.total, 1e-9))
    for axis, attribute in enumerate(domain):
        residual = estimates.values.get((attribute.name,), np.zeros(attribute.size))
        counts = np.maximum(residual + estimates.total / attribute.size, 0.01 * estimates.total / attribute.size + 1e-12)
        shares = counts / counts.sum()
        table *= shares.reshape([-1 if other == axis else 1 for other in range(len(domain))])
    return table


def _first_penalty(spectrum: Spectrum) -> float:
    weights = spectrum.finite[spectrum.finite > 0]
    return float(np.exp(np.log(weights).mean())) if weights.size else 1.0


def _balance(primal: Floats, dual: Floats, penalty: float, iteration: int) -> float:
    """How to change the penalty so that both residuals shrink together; ever more gently, so that it settles."""
    most = 1.0 + 10.0 / (1.0 + iteration / (4.0 * _CHECK))
    ratio = np.sqrt(np.linalg.norm(primal) / max(np.linalg.norm(dual), 1e-300))
    return float(np.clip(ratio, 1 / most, most)) if np.isfinite(ratio) and ratio > 0 else 1.0


def _certify(
    spectrum: Spectrum, allowed: Possible, total: float, cells: Floats, pressure: Floats, iteration: int
) -> LeastSquares:
    """The non-negative table scaled to the total, with the bound that the multipliers ``pressure`` prove."""
    mass = float(cells.sum())
    table = cells * (total / mass) if mass > 0 else np.where(allowed, total / max(int(allowed.sum()), 1), 0.0)
    coordinates = spectrum.transform.forward(table)
    misfit = spectrum.misfit(coordinates)
    measured = spectrum.weights > 0
    turned = np.where(measured, spectrum.transform.forward(pressure), 0.0)
    lowest = spectrum.transform.backward(turned)[allowed].min(initial=0.0)
    # Adding a constant c to the multipliers costs c times the total, because the total is fixed.
    bound = float((turned * spectrum.centre).sum()) - lowest * total
    slack = spectrum.finite > 0
    bound += 0.5 * float((turned[slack] ** 2 / spectrum.finite[slack]).sum())
    return LeastSquares(table, misfit, misfit + bound, spectrum.violation(coordinates), iteration)


def _better(old: LeastSquares, new: LeastSquares) -> LeastSquares:
    """The table with the smaller misfit among the two that keep what is exact, with the best bound known."""
    bound = max(old.misfit - old.gap, new.misfit - new.gap)
    kept = new if new.misfit <= old.misfit or new.violation < old.violation else old
    return LeastSquares(kept.table, kept.misfit, max(kept.misfit - bound, 0.0), kept.violation, new.iterations)


