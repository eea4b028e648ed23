"""The least committed table: near the measurements, and otherwise near independence.

    minimise ½ Σ_T ‖R_T(w) − R̂_T‖²/σ²_T + κ Σ w log(w/m)    over w ≥ 0 with the total kept

where m is the product of the one-way tables. The optimum is a log-linear table with one effect for each measured
residual, positive and smooth where nothing was measured. As κ falls, each optimum taking the place of m for the next,
it goes from independence to the least-squares table; on the way, weak effects that are mostly noise are still small,
and the wanted tables are at their best. Where to stop is decided by the estimated risk
(:mod:`margrave.reconstruct.stein`). Where noise is so large that attributes which determine each other would hardly
show it, that estimate is mostly noise itself, and independence it is.

Two paths are followed: to the estimates as they were measured, and to estimates that were shrunk residual by residual
before (:mod:`margrave.reconstruct.shrunk`). One κ for all treats weak and strong interactions alike; the second path
does not, and is better where some attributes depend on each other and others do not. The risk decides here too.

Each κ is solved in the dual, an unconstrained smooth problem with a variable θ_T for each measured coordinate,
``w ∝ m·exp(−Fᵀθ/κ)``, by Newton steps whose linear systems are solved with conjugate gradients; F is the transform of
:mod:`margrave.reconstruct.nonnegative.spectrum`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod, sqrt

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.errors import UsageError
from margrave.planning.limits import ENTROPY_CELLS
from margrave.planning.publication.methods import SHRUNK
from margrave.progress import Progress
from margrave.reconstruct.estimates import Estimates, Possible
from margrave.reconstruct.nonnegative.solvers import NonNegative, solver
from margrave.reconstruct.nonnegative.spectrum import Spectrum
from margrave.reconstruct.shrunk import shrinkable, shrunk
from margrave.reconstruct.stein import Probe, doubt, probes, risk_of

_STAGES, _FALL, _PATIENCE = 30, 0.5, 2
_HOT, _FIRST_FALL = 64.0, 0.25
"""Paths begin this many times above the κ at which a strong effect shows, where the table is that of independence; down
to that κ they go faster.
"""
_SURE = 0.05
"""A residual that was shrunk away counts as known this much better than it was measured, in variance."""
_SURELY = 2.0
"""Independence is left for a table whose risk is lower by so many standard errors of the difference."""
_VISIBLE = 3.0
"""An interaction shows where it adds so many standard deviations of noise to the square of its residual."""
_NEWTON, _CONJUGATE = 8, 60
_INEXACT = 0.05
"""Steps end a little before the optimum: the misfit may rise by this part of itself and of each dimension."""


@dataclass(frozen=True)
class Entropy:
    """The chosen table, the κ it belongs to, its estimated sum of squared errors, and whether it is of the path to
    shrunk estimates.
    """

    table: Floats
    kappa: float
    risk: float
    shrunk: bool = False

    @property
    def method(self) -> str:
        """The name of the method, with the path."""
        return f"entropy{SHRUNK}" if self.shrunk else "entropy"


def followable(estimates: Estimates) -> bool:
    """Whether there is a path: the table is small enough and not empty, and nothing but perhaps the total is exact."""
    noisy = all(variance > 0 for margin, variance in estimates.variances.items() if margin)
    return noisy and len(estimates.values) > 1 and estimates.domain.cells() <= ENTROPY_CELLS and estimates.total >= 1.0


def entropy(
    estimates: Estimates,
    wanted: Sequence[Margin],
    possible: Possible | None = None,
    *,
    like: str = "",
    progress: Progress | None = None,
) -> Entropy:
    """The table of the least risk on both paths. ``like``: the method whose path alone is followed."""
    tried = probes(estimates, wanted)
    if not visible(estimates):
        start = [Path(one, possible).start() for one in (estimates, *(probe.moved for probe in tried))]
        return Entropy(start[0], float("inf"), risk_of(tried, start), like == f"entropy{SHRUNK}")
    found = []
    if like != f"entropy{SHRUNK}":
        every = [estimates, *(probe.moved for probe in tried)]
        found.append(_followed(every, tried, possible, progress))
    if like != "entropy" and shrinkable(estimates):
        every = [_shrunk(one) for one in (estimates, *(probe.moved for probe in tried))]
        found.append(replace(_followed(every, tried, possible, progress), shrunk=True))
    return min(found, key=lambda one: one.risk) if found else entropy(estimates, wanted, possible, progress=progress)


def visible(estimates: Estimates) -> bool:
    """Whether noise leaves anything to be seen of interactions: of the strongest, ‖R_T‖² = n² / ∏_{j∈T} k_j."""
    for margin, variance in estimates.variances.items():
        freedom = prod(size - 1 for size in estimates.domain.shape(margin))
        strongest = estimates.total**2 / estimates.domain.cells(margin)
        if len(margin) > 1 and strongest > _VISIBLE * variance * sqrt(2 * freedom):
            return True
    return False


def _shrunk(estimates: Estimates) -> Estimates:
    """Estimates shrunk residual by residual, those that are left out being the most certain."""
    found = shrunk(estimates)
    variances = {margin: one * max(found.kept[margin], _SURE) for margin, one in found.estimates.variances.items()}
    return Estimates(estimates.domain, found.estimates.values, variances)


def _followed(
    every: Sequence[Estimates], tried: Sequence[Probe], possible: Possible | None, progress: Progress | None
) -> Entropy:
    """Follow the path of the first estimates with falling κ, and beside it those of the probes, till the risk rises."""
    path, *beside = (Path(one, possible) for one in every)
    strong = path.first_kappa()
    kappa, waited = _HOT * strong, 0
    start = [one.start() for one in (path, *beside)]
    first = best = Entropy(start[0], float("inf"), risk_of(tried, start))
    for stage in range(1, _STAGES + 1):
        table = path.solve(kappa)
        moved = [other.solve(kappa) for other in beside]
        if any(one.lost for one in (path, *beside)):
            break
        risk = risk_of(tried, [table, *moved])
        if progress is not None:
            progress(stage, None, risk)
        if risk < best.risk:
            best, waited = Entropy(table, kappa, risk), 0
        else:
            waited += 1
        if waited >= _PATIENCE and kappa <= strong:
            break
        kappa *= _FIRST_FALL if kappa > strong else _FALL
    surely = first.risk - best.risk > _SURELY * doubt(tried[0].moved, tried[0].margins, first.table, best.table)
    return best if surely else first


@solver("entropy")
def _solve(
    estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None, progress: Progress | None
) -> NonNegative:
    return solve_entropy(estimates, wanted, possible, progress)


def solve_entropy(
    estimates: Estimates,
    wanted: Sequence[Margin],
    possible: Possible | None,
    progress: Progress | None,
    like: str = "",
) -> NonNegative:
    """The same by the path of an earlier fit, where its method is given."""
    if not followable(estimates):
        raise UsageError("the method 'entropy' needs a table that is not empty: use 'auto' or 'least-squares'")
    chosen = entropy(estimates, wanted, possible, like=like, progress=progress)
    note = f"κ = {chosen.kappa:.3g}, estimated squared error {chosen.risk:.4g}"
    return NonNegative.of(estimates, chosen.table, chosen.method, note)


class Path:
    """The solution at the latest κ, from which the next is reached."""

    def __init__(self, estimates: Estimates, possible: Possible | None = None) -> None:
        spectrum = Spectrum.of(estimates, fix_total=True)
        self._transform, self._total = spectrum.transform, max(estimates.total, 1e-9)
        self._measured = spectrum.finite > 0
        self._weights = spectrum.finite
        self._variances = np.where(self._measured, 1.0 / np.where(self._measured, spectrum.finite, 1.0), 0.0)
        self._centre = np.where(self._measured, spectrum.centre, 0.0)
        start = np.log(estimates.independent())
        self._start = start if possible is None else np.where(possible, start, -np.inf)
        self._theta, self._kappa = np.zeros(start.shape), 1.0
        self._latest: Floats | None = None
        self._least = np.inf
        self.lost = False

    def start(self) -> Floats:
        """The table at κ = ∞: independence."""
        return self._table(self._start)[0]

    def first_kappa(self) -> float:
        """A κ at which the optimum is close to independence."""
        table = self._table(self._start)[0]
        slope = self._transform.backward(self._weights * (self._transform.forward(table) - self._centre))
        inside = slope[np.isfinite(self._start)]
        return max(float((slope * table).sum()) / self._total - float(inside.min()), 1e-9) / 10

    def solve(self, kappa: float) -> Floats:
        """The optimum at a new κ, with the previous one in the place of m."""
        if self._latest is not None:
            self._start = self._start - self._transform.backward(self._theta) / self._kappa
        self._theta, self._kappa = np.zeros_like(self._theta), kappa
        value, table = self._dual(self._theta)
        first = None
        for _ in range(_NEWTON):
            slope = np.where(
                self._measured, self._variances * self._theta + self._centre - self._transform.forward(table), 0.0
            )
            size = float((self._weights * slope**2).sum())  # the squared step in units of the noise
            first = first or size
            if size <= 1e-4 * self._measured.sum() * min(1.0, first):
                break
            step = self._newton(slope, table)
            value, table, moved = self._search(value, table, step, float((slope * step).sum()))
            if not moved:
                break
        return self._kept(table)

    def _kept(self, table: Floats) -> Floats:
        """The table, or the one before where the path was lost.

        The optimum at a new κ has a misfit of at most that of m, the optimum before. Far below the noise no step finds
        it any more in floating point; what is found there is no point of the path, and its risk means nothing.
        """
        misfit = 0.5 * float((self._weights * (self._transform.forward(table) - self._centre) ** 2).sum())
        if self._latest is not None and misfit > (1 + _INEXACT) * self._least + _INEXACT * float(self._measured.sum()):
            self.lost, self._theta = True, np.zeros_like(self._theta)
            return self._latest
        self._latest, self._least = table, min(misfit, self._least)
        return table

    def _table(self, logs: Floats) -> tuple[Floats, float]:
        """The table with these logarithms, scaled to the total; and log of what was divided by."""
        highest = float(logs.max())
        table = np.exp(logs - highest)
        mass = float(table.sum())
        return table * (self._total / mass), highest + float(np.log(mass))

    def _dual(self, theta: Floats) -> tuple[float, Floats]:
        """Minus the dual function, and the table that goes with θ."""
        table, log_mass = self._table(self._start - self._transform.backward(theta) / self._kappa)
        value = 0.5 * float((self._variances * theta**2).sum()) + float((theta * self._centre).sum())
        return value + self._kappa * self._total * log_mass, table

    def _newton(self, slope: Floats, table: Floats) -> Floats:
        """The Newton step by conjugate gradients, to a tenth."""
        scale = np.where(self._measured, 1.0 / (self._variances + self._total / table.size / self._kappa), 0.0)
        step, left = np.zeros_like(slope), -slope
        ahead = scale * left
        direction, power = ahead, float((left * ahead).sum())
        enough = 1e-2 * power
        for _ in range(_CONJUGATE):
            if power <= enough:
                break
            spread = table * self._transform.backward(direction)
            spread -= table * (float(spread.sum()) / self._total)
            turned = self._variances * direction + self._transform.forward(spread) / self._kappa
            turned = np.where(self._measured, turned, 0.0)
            length = power / float((direction * turned).sum())
            step, left = step + length * direction, left - length * turned
            ahead = scale * left
            before, power = power, float((left * ahead).sum())
            direction = ahead + (power / before) * direction
        return step

    def _search(self, value: float, table: Floats, step: Floats, slope: float) -> tuple[float, Floats, bool]:
        """Go along the step, halving it until the dual improves."""
        length = 1.0
        while length > 1e-4:
            theta = self._theta + length * step
            new, found = self._dual(theta)
            if new <= value + 1e-4 * length * slope:
                self._theta = theta
                return new, found, True
            length /= 2
        return value, table, False
