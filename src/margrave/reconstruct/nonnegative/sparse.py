"""Cells that are alike before the noise: an empirical-Bayes table for plans that measure every cell.

A priori each cell is empty with probability p_0 or drawn from one of a few exponential distributions, the same for all
cells; the probabilities are estimated from the noisy table itself (expectation maximisation). Most cells of a large
table are empty, and this finds out which and how many, where a projection only knows that none is negative.

The noise of different cells is correlated once residuals have different variances. Expectation propagation treats
that: each cell's posterior becomes a Gaussian, the Gaussians and the measurements are joined by one linear solve, and
each cell is looked at again without its own Gaussian. The variance with which a cell is looked at is taken to be that
of the unbiased table, the same for all cells, so no matrix is inverted and memory is a few tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.planning.publication.methods import alike
from margrave.progress import Progress
from margrave.reconstruct.estimates import Estimates, Possible
from margrave.reconstruct.nonnegative.solvers import NonNegative, solver
from margrave.reconstruct.nonnegative.spectrum import Spectrum

_SCALES = 6
_STEPS = 30
_ROUNDS = 4
_SOLVES = 40
_FAR = -25.0
_PINNED = 1e6
"""An exact coordinate counts as one measured this many times better than the best of the others."""


@dataclass(frozen=True)
class Prior:
    """Probability ``chances[0]`` of an empty cell, ``chances[k]`` of an exponential with mean ``scales[k − 1]``."""

    chances: Floats
    scales: Floats


def sparse(estimates: Estimates, possible: Possible | None = None) -> Floats:
    """The posterior mean of every cell, scaled to the total where that is exact."""
    return posterior_mean(Spectrum.of(estimates), possible, estimates.total if estimates.exact(()) else None)


@solver("sparse")
def _solve(
    estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None, progress: Progress | None
) -> NonNegative:
    return NonNegative.of(estimates, sparse(estimates, possible), "sparse")


def posterior_mean(spectrum: Spectrum, possible: Possible | None, total: float | None) -> Floats:
    """The posterior mean of every cell, scaled to the ``total`` where that is given."""
    allowed = np.ones(spectrum.transform.shape, dtype=bool) if possible is None else possible
    weights = np.where(spectrum.exact, _PINNED * spectrum.finite.max(), spectrum.weights)
    noise = float((1.0 / weights).mean())
    unbiased = spectrum.transform.backward(spectrum.centre)
    even = alike(weights.min(), weights.max())
    prior = _first_prior(unbiased, noise)
    seen, mean = unbiased, unbiased[allowed]
    for _ in range(1 if even else _ROUNDS):
        mean, variance, prior = _learn(seen[allowed], noise, prior)
        precision = np.maximum(1.0 / variance - 1.0 / noise, 1e-9 / noise)
        pull = mean * (precision + 1.0 / noise) - seen[allowed] / noise
        if not even:
            sites, pulls = np.full(seen.shape, _PINNED / noise), np.zeros(seen.shape)
            sites[allowed], pulls[allowed] = precision, pull
            joined = _join(spectrum, weights, sites, pulls, _spread(mean, allowed))
            seen = (joined * (1.0 / noise + sites) - pulls) * noise
    table = _spread(mean, allowed)
    mass = float(table.sum())
    return table * (total / mass) if total is not None and mass > 0 else table


def trimmed(table: Floats, total: float | None) -> Floats:
    """The table with cells that are expected to hold less than half a record emptied; an exact total is kept."""
    kept = np.where(table < 0.5, 0.0, table)
    mass = float(kept.sum())
    if total is None:
        return kept
    return kept * (total / mass) if mass > 0 else table


def _spread(cells: Floats, allowed: Possible) -> Floats:
    """The table that holds the given cells where allowed and is empty elsewhere."""
    table = np.zeros(allowed.shape)
    table[allowed] = cells
    return table


def _first_prior(unbiased: Floats, noise: float) -> Prior:
    """Equal chances; scales from half the noise to the largest cell."""
    least = 0.5 * np.sqrt(noise)
    most = max(float(unbiased.max()), 4 * least)
    return Prior(np.full(_SCALES + 1, 1.0 / (_SCALES + 1)), np.geomspace(least, most, _SCALES))


def _learn(seen: Floats, noise: float, prior: Prior) -> tuple[Floats, Floats, Prior]:
    """Means and variances of cells seen with Gaussian noise, and the prior under which they are most likely."""
    logs, means, squares = _components(seen, noise, prior.scales)
    chances = prior.chances
    for _ in range(_STEPS):
        shares = _shares(logs, chances)
        chances = shares.mean(axis=1)
    shares = _shares(logs, chances)
    mean = (shares * means).sum(axis=0)
    variance = np.maximum((shares * squares).sum(axis=0) - mean**2, 1e-9 * noise)
    return mean, variance, Prior(chances, prior.scales)


def _shares(logs: Floats, chances: Floats) -> Floats:
    """How likely each component is for each cell."""
    raised = logs + np.log(np.maximum(chances, 1e-300))[:, None]
    shares = np.exp(raised - raised.max(axis=0))
    return np.asarray(shares / shares.sum(axis=0))


def _components(seen: Floats, noise: float, scales: Floats) -> tuple[Floats, Floats, Floats]:
    """For the empty cell and each exponential: log-likelihood, and the cell's two moments given what was seen."""
    from scipy.special import log_ndtr

    deviation = np.sqrt(noise)
    shape = (len(scales) + 1, len(seen))
    logs, means, squares = np.empty(shape), np.zeros(shape), np.zeros(shape)
    logs[0] = -0.5 * seen**2 / noise - np.log(deviation) - 0.5 * np.log(2 * np.pi)
    for index, scale in enumerate(scales, start=1):
        shifted = seen - noise / scale
        logs[index] = -np.log(scale) - seen / scale + 0.5 * noise / scale**2 + log_ndtr(shifted / deviation)
        mean, variance = _positive_part(shifted, deviation)
        means[index], squares[index] = mean, variance + mean**2
    return logs, means, squares


def _positive_part(centre: Floats, deviation: float) -> tuple[Floats, Floats]:
    """Mean and variance of a Gaussian given that it is positive; far in the tail by its asymptotic series."""
    from scipy.special import log_ndtr

    ratio = centre / deviation
    near = np.maximum(ratio, _FAR)
    hazard = np.exp(-0.5 * near**2 - log_ndtr(near)) / np.sqrt(2 * np.pi)
    mean = hazard + near
    variance = 1.0 - hazard * mean
    far = ratio < _FAR
    distance = np.where(far, -ratio, 1.0)
    mean = np.where(far, 1 / distance - 2 / distance**3, mean)
    variance = np.where(far, 1 / distance**2 - 6 / distance**4, np.maximum(variance, 1e-4))
    return deviation * mean, deviation**2 * variance


def _join(spectrum: Spectrum, weights: Floats, sites: Floats, pulls: Floats, start: Floats) -> Floats:
    """The mean of measurements and cell Gaussians together: (H + sites) m = H z + pulls, by conjugate gradients."""
    transform = spectrum.transform

    def apply(table: Floats) -> Floats:
        return transform.backward(weights * transform.forward(table)) + sites * table

    scaled = 1.0 / (float(weights.mean()) + sites)
    solution = start
    residual = transform.backward(weights * spectrum.centre) + pulls - apply(solution)
    enough = 1e-6 * float(np.sum(residual * scaled * residual))
    ahead = scaled * residual
    direction, power = ahead, float(np.sum(residual * ahead))
    for _ in range(_SOLVES):
        if power <= max(enough, 1e-300):
            break
        turned = apply(direction)
        step = power / float(np.sum(direction * turned))
        solution = solution + step * direction
        residual = residual - step * turned
        ahead = scaled * residual
        before, power = power, float(np.sum(residual * ahead))
        direction = ahead + (power / before) * direction
    return solution
