"""A non-negative table from measurements that say something of more residuals than can be listed.

It is made in coordinates, all residuals at once: where every cell is measured with noise, as the posterior mean of
cells that are alike a priori (as it is, or with cells that are expected to hold less than half a record emptied,
whichever has the less estimated risk); otherwise by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.planning.publication.methods import TRIMMED
from margrave.progress import Progress
from margrave.reconstruct.estimates import Possible, independent
from margrave.reconstruct.nonnegative.least_squares import solve
from margrave.reconstruct.nonnegative.solvers import NonNegative
from margrave.reconstruct.nonnegative.sparse import posterior_mean, trimmed
from margrave.reconstruct.nonnegative.spectrum import Spectrum
from margrave.reconstruct.normals import Normals
from margrave.reconstruct.unbiased import Fit

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

_STEP = 0.2
"""How far the estimates are moved along a draw of their own noise, to see how a method follows."""
_BEST = 1e6
"""No noise counts as more precise than this."""


def wide_table(
    plan: Plan, fit: Fit, domain: Domain, possible: Possible, progress: Progress | None = None
) -> NonNegative:
    """The non-negative table over a domain by the method of the spec, empty where not possible."""
    shape = domain.shape()
    names = plan.measured_margin(domain.names)
    spectrum, total = _spectrum(fit, names), float(fit.margin(()))
    allowed = None if possible.all() else possible.reshape(spectrum.transform.shape)
    if plan.publishing.method == "sparse":
        found = _alike(plan, fit, spectrum, names, allowed)
    else:
        total = max(total, 0.0)
        start = partial(independent, total, [fit.margin((name,)) for name in names])
        solved = solve(_fixed(spectrum, total), total, start, allowed, progress=progress)
        note = f"gap {solved.gap:.2g} after {solved.iterations} iterations"
        found = NonNegative(solved.table, "least-squares", solved.misfit, solved.gap, (note,))
    return NonNegative(found.table.reshape(shape), found.method, found.misfit, found.gap, found.notes)


def _spectrum(fit: Fit, names: Margin) -> Spectrum:
    """The full table in coordinates, as the measurements say."""
    wide = fit.accuracy.coordinates(names)
    weights = np.where(np.isinf(wide.precision), np.inf, np.minimum(wide.precision, _BEST))
    return Spectrum(wide.transform, fit.coordinates(wide), weights)


def _fixed(spectrum: Spectrum, total: float) -> Spectrum:
    """The same with the total exact."""
    centre, weights = spectrum.centre.copy(), spectrum.weights.copy()
    centre.flat[0], weights.flat[0] = total / sqrt(centre.size), np.inf
    return Spectrum(spectrum.transform, centre, weights)


def _alike(plan: Plan, fit: Fit, spectrum: Spectrum, names: Margin, possible: Possible | None) -> NonNegative:
    """Cells that are alike a priori; Stein's estimate of risk (`reconstruct.risk`) says whether to trim them."""
    total = float(fit.margin(())) if np.isinf(spectrum.weights.flat[0]) else None
    wanted = [plan.measured_margin(margin) for margin in plan.spec.margins]
    noise = np.where(spectrum.exact, 0.0, Normals("margrave risk")(spectrum.centre.size).reshape(spectrum.centre.shape))
    noise = noise / np.sqrt(np.where(spectrum.exact, 1.0, spectrum.weights))
    moved = Spectrum(spectrum.transform, spectrum.centre + _STEP * noise, spectrum.weights)
    here, there = (posterior_mean(one, possible, total) for one in (spectrum, moved))
    unbiased, drawn = (spectrum.transform.backward(one) for one in (spectrum.centre, noise))
    tried = {"sparse": (here, there), f"sparse{TRIMMED}": (trimmed(here, total), trimmed(there, total))}
    expected = sum(plan.spec.domain.cells(margin) * plan.mean_variance(margin) for margin in plan.spec.margins)
    risks = {name: _risk(names, wanted, unbiased, drawn, expected, *pair) for name, pair in tried.items()}
    best = min(risks, key=lambda name: risks[name])
    note = "estimated squared error: " + ", ".join(f"{name} {value:.4g}" for name, value in risks.items())
    table = tried[best][0]
    return NonNegative(table, best, spectrum.misfit(spectrum.transform.forward(table)), None, (note,))


def _risk(
    names: Margin, wanted: Sequence[Margin], unbiased: Floats, drawn: Floats, expected: float, *made: Floats
) -> float:
    """‖f(z) − Mz‖² − E‖Mg‖² + 2⟨Mg, (f(z + hg) − f(z))/h⟩ over the cells of the wanted tables M.

    The last is divided by ‖Mg‖² and multiplied by its expectation, which steadies it.
    """
    here, there = made
    base = slope = drawn_square = 0.0
    for margin in wanted:
        axes = tuple(axis for axis, name in enumerate(names) if name not in margin)
        apart, along, step = (one.sum(axis=axes) for one in (here - unbiased, drawn, there - here))
        base += float((apart**2).sum())
        slope += 2 * float((along * step).sum()) / _STEP
        drawn_square += float((along**2).sum())
    return base - expected + slope * expected / max(drawn_square, 1e-300)
