"""The nearest non-negative table in the metric of the known variances, with a certified gap.

    minimise ½ Σ_T ‖R_T(w) − R̂_T‖² / σ²_T    over w ≥ 0, w = 0 where impossible, exact residuals and the total kept

In the coordinates of `spectrum` the objective is diagonal, so the alternating direction
method of multipliers has closed-form steps: weigh coordinates, clip cells. The multipliers s ≥ 0 of the cells give the
lower bound ``−s·z − ½ Σ s²/λ`` (z the unconstrained optimum) once their unmeasured coordinates are removed and a
constant is added to keep them non-negative; the gap is the distance of the objective from that bound. Half the squared
distance from the optimum, in units of the noise, is at most the gap.

In a large table of which all cells are measured alike the optimum is known: each cell is lowered by the same amount.
Where unmeasured residuals leave many optima, the one reached from the product of the one-way tables is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.planning.limits import QUICK_CELLS
from margrave.planning.publication.methods import alike
from margrave.progress import Progress
from margrave.reconstruct.estimates import Estimates, Possible
from margrave.reconstruct.nonnegative.entropy import Path, followable
from margrave.reconstruct.nonnegative.solvers import NonNegative, solver
from margrave.reconstruct.nonnegative.spectrum import Spectrum

_RELAXATION = 1.6
_CHECK = 20
_WORK = 100_000_000
"""Cells times iterations, at most."""
_STAGES = 10


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
    progress: Progress | None = None,
) -> LeastSquares:
    """Solve until the gap is below ``tolerance · max(1, misfit)``, or as far as the permitted work goes."""
    spectrum = Spectrum.of(estimates, fix_total=True)
    start = partial(_start, estimates, possible)
    return solve(spectrum, estimates.total, start, possible, tolerance=tolerance, progress=progress)


def _is_even(spectrum: Spectrum) -> bool:
    """Whether everything but the total is measured alike."""
    weights = spectrum.weights.ravel()[1:]
    return bool(0 < weights.max() < np.inf and alike(weights.min(), weights.max()))


def projected(spectrum: Spectrum, total: float, possible: Possible | None = None) -> LeastSquares:
    """The solution where all cells are measured alike: each lowered by the same amount, none below zero."""
    allowed = np.ones(spectrum.transform.shape, dtype=bool) if possible is None else possible
    unbiased = spectrum.transform.backward(spectrum.centre)
    falling = -np.sort(-unbiased[allowed])
    levels = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    level = levels[np.flatnonzero(falling > levels)[-1]] if total > 0 else falling[0]
    table = np.where(allowed, np.maximum(unbiased - level, 0.0), 0.0)
    slope = spectrum.slope(table)
    return _certify(spectrum, allowed, total, table, slope - slope[allowed].min(), 0)


@solver("least-squares")
def _solve(
    estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None, progress: Progress | None
) -> NonNegative:
    solved = least_squares(estimates, possible, progress=progress)
    note = f"gap {solved.gap:.2g} after {solved.iterations} iterations"
    if solved.violation > 0:
        note += f"; largest error of an exact coordinate {solved.violation:.2g}"
    return NonNegative(solved.table, "least-squares", solved.misfit, solved.gap, (note,))


def solve(
    spectrum: Spectrum,
    total: float,
    start: Callable[[], Floats],
    possible: Possible | None = None,
    *,
    tolerance: float = 1e-5,
    progress: Progress | None = None,
) -> LeastSquares:
    """`least_squares` for coordinates whose total is exact, from a table to start at where steps are needed."""
    if spectrum.centre.size > QUICK_CELLS and _is_even(spectrum):
        return projected(spectrum, total, possible)
    cells = start()
    allowed = np.ones(cells.shape, dtype=bool) if possible is None else possible
    slope = spectrum.slope(cells)
    best = _certify(spectrum, allowed, total, cells, slope, 0)
    if total == 0.0:  # only the empty table is left
        return LeastSquares(best.table, best.misfit, 0.0, best.violation, 0)
    penalty = _first_penalty(spectrum)
    # On non-empty cells the slope is level at the optimum, and what it has beyond that elsewhere is the multiplier.
    multipliers = np.where(allowed, -np.maximum(slope - float((slope * cells).sum()) / total, 0.0) / penalty, 0.0)
    most = int(np.clip(_WORK // cells.size, 60, 4000))
    for iteration in range(1, most + 1):
        before = cells
        smooth = _weigh(spectrum, cells - multipliers, penalty)
        mixed = _RELAXATION * smooth + (1 - _RELAXATION) * before
        cells = np.where(allowed, np.maximum(mixed + multipliers, 0.0), 0.0)
        multipliers = multipliers + mixed - cells
        if iteration % _CHECK == 0 or iteration == most:
            best = _better(best, _certify(spectrum, allowed, total, cells, -penalty * multipliers, iteration))
            if progress is not None:
                progress(iteration, None, best.gap)
            if best.gap <= tolerance * max(1.0, best.misfit) and best.violation <= tolerance:
                break
            change = _balance(smooth - cells, cells - before, iteration)
            penalty, multipliers = penalty * change, multipliers / change
    return best


def _start(estimates: Estimates, possible: Possible | None) -> Floats:
    """Independence, or for a large table the end of the path that leads from there towards the optimum."""
    if estimates.domain.cells() > QUICK_CELLS and followable(estimates):
        path = Path(estimates, possible)
        kappa = path.first_kappa()
        return [path.solve(kappa * 0.5**stage) for stage in range(_STAGES)][-1]
    table = estimates.independent()
    return table if possible is None else np.where(possible, table, 0.0)


def _weigh(spectrum: Spectrum, table: Floats, penalty: float) -> Floats:
    """The table that is best for the misfit plus ½·penalty times the squared distance from the given one."""
    turned = spectrum.transform.forward(table)
    weighed = (spectrum.finite * spectrum.centre + penalty * turned) / (spectrum.finite + penalty)
    return spectrum.transform.backward(np.where(spectrum.exact, spectrum.centre, weighed))


def _first_penalty(spectrum: Spectrum) -> float:
    weights = spectrum.finite[spectrum.finite > 0]
    return float(np.exp(np.log(weights).mean())) if weights.size else 1.0


def _balance(primal: Floats, dual: Floats, iteration: int) -> float:
    """How to change the penalty so that both residuals shrink together; ever more gently, so that it settles."""
    most = 1.0 + 10.0 / (1.0 + iteration / (4.0 * _CHECK))
    ratio = np.sqrt(float(np.linalg.norm(primal)) / max(float(np.linalg.norm(dual)), 1e-300))
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
