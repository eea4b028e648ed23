"""A log-linear posterior mean: for small tables of which only margins are measured.

The table is ``w = exp(Σ_T β_T)`` with one effect β_T for each measured residual T. A priori the effect is Gaussian,
as if each cell of the margin T had an independent effect of variance s²; s² is one number for each width |T|, unknown
itself (inverse gamma, shape ½, scale 0.1). Given the noisy residuals, the mean of w over the posterior is taken by
Hamiltonian Monte Carlo, preconditioned by the curvature at the mode. Weak effects shrink towards independence as far
as the data says, and no cell can be negative.

The random numbers come from a fixed seed: the same estimates give the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, prod

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtr

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.spectrum import cosines
from margrave.progress import Progress
from margrave.reconstruct.estimates import Estimates, Possible
from margrave.reconstruct.nonnegative.solvers import NonNegative, solver
from margrave.reconstruct.nonnegative.spectrum import Spectrum
from margrave.reconstruct.normals import Normals

_WARM, _KEPT, _LEAPS, _REFRESH, _SETTLED = 200, 480, 12, 20, 130
_SHAPE, _SCALE, _TOTAL = 0.5, 0.1, 4.0
_HIGHEST = 40.0


def parameters(estimates: Estimates) -> int:
    """The number of effects: one for each dimension of each measured residual."""
    return sum(prod(size - 1 for size in estimates.domain.shape(margin)) for margin in estimates.values)


@dataclass
class _Model:
    """Rows of the orthonormal basis for each measured residual, what was measured there, and the effects' scale.

    ``width``: |T| of each row; ``room``: ∏_{j∉T} k_j, the variance of a row's coefficient for s² = 1.
    """

    rows: Floats
    centre: Floats
    weights: Floats
    width: NDArray[np.int64]
    room: Floats
    base: float
    allowed: Floats

    def table(self, effects: Floats) -> Floats:
        """The cells of the table with the given effects."""
        return np.asarray(np.exp(np.minimum(self.base + effects @ self.rows, _HIGHEST)) * self.allowed)

    def energy(self, effects: Floats, prior: Floats) -> tuple[float, Floats, Floats]:
        """Minus the log posterior, its gradient, and the table."""
        table = self.table(effects)
        off = self.rows @ table - self.centre
        pull = self.weights * off
        value = 0.5 * float(pull @ off) + 0.5 * float(prior @ effects**2)
        return value, self.rows @ (table * (pull @ self.rows)) + prior * effects, table

    def curvature(self, table: Floats, prior: Floats) -> Floats:
        """The Gauss–Newton matrix of the energy."""
        turned = (self.rows * table) @ self.rows.T
        return np.asarray((turned * self.weights) @ turned + np.diag(prior))


def log_linear(estimates: Estimates, possible: Possible | None = None) -> tuple[Floats, float]:
    """The posterior mean of the table, scaled to the total where that is exact, and the share of accepted moves."""
    model = _model(estimates, possible)
    normals = Normals("margrave log-linear posterior")
    variances = np.ones(int(model.width.max()) + 1)
    variances[0] = _TOTAL
    effects = _mode(model, variances)
    table, accepted = _chain(model, effects, variances, normals)
    table = table.reshape(estimates.domain.shape())
    return (table * (estimates.total / table.sum()) if estimates.exact(()) else table), accepted


@solver("log-linear")
def _solve(
    estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None, progress: Progress | None
) -> NonNegative:
    table, accepted = log_linear(estimates, possible)
    return NonNegative.of(estimates, table, "log-linear", f"posterior mean; {accepted:.0%} of the moves accepted")


def _model(estimates: Estimates, possible: Possible | None) -> _Model:
    domain, spectrum = estimates.domain, Spectrum.of(estimates)
    margins = sorted(estimates.values, key=len)
    blocks = [_rows(estimates, margin) for margin in margins]
    sizes = [len(block) for block in blocks]
    place = [tuple(slice(1, None) if n in margin else slice(0, 1) for n in domain.names) for margin in margins]
    weights = np.concatenate([spectrum.weights[where].ravel() for where in place])
    # A total that is exact is scaled to afterwards; here it is measured very well.
    weights = np.where(np.isinf(weights), domain.cells() / (1e-3 * max(estimates.total, 1.0)) ** 2, weights)
    allowed = np.ones(domain.cells()) if possible is None else possible.ravel().astype(float)
    return _Model(
        rows=np.concatenate(blocks),
        centre=np.concatenate([spectrum.centre[where].ravel() for where in place]),
        weights=weights,
        width=np.repeat([len(margin) for margin in margins], sizes),
        room=np.repeat([domain.cells() / domain.cells(margin) for margin in margins], sizes).astype(float),
        base=log(max(estimates.total, 1.0) / max(allowed.sum(), 1.0)),
        allowed=allowed,
    )


def _rows(estimates: Estimates, margin: Margin) -> Floats:
    """The basis vectors of one residual, one a row."""
    rows: Floats = np.ones((1, 1))
    for attribute in estimates.domain:
        basis = cosines(attribute.size)
        rows = np.asarray(np.kron(rows, basis[1:] if attribute.name in margin else basis[:1]), dtype=np.float64)
    return rows


def _mode(model: _Model, variances: Floats) -> Floats:
    """The effects of highest posterior density, by damped Gauss–Newton steps; ``variances`` are updated on the way."""
    effects, damping = np.zeros(len(model.rows)), 0.1
    prior = _prior(model, variances)
    value, slope, table = model.energy(effects, prior)
    for step in range(1, 31):
        matrix = model.curvature(table, prior)
        matrix[np.diag_indices_from(matrix)] *= 1 + damping
        tried = effects - np.linalg.solve(matrix, slope)
        new = model.energy(tried, prior)
        if new[0] < value:
            effects, (value, slope, table), damping = tried, new, damping / 4
        else:
            damping *= 5
        if step in (6, 12, 18):
            for width, mine in _widths(model):
                size = float((effects[mine] ** 2 / model.room[mine]).sum())
                variances[width] = (_SCALE + 0.5 * size) / (_SHAPE + 0.5 * mine.sum())
            prior = _prior(model, variances)
            value, slope, table = model.energy(effects, prior)
    return effects


def _prior(model: _Model, variances: Floats) -> Floats:
    """The prior precision of every effect."""
    return np.asarray(1.0 / (variances[model.width] * model.room))


def _widths(model: _Model) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Each width from one attribute on, with the rows of that width."""
    for width in range(1, int(model.width.max()) + 1):
        mine = model.width == width
        if mine.any():
            yield width, mine


def _chain(model: _Model, effects: Floats, variances: Floats, normals: Normals) -> tuple[Floats, float]:
    """The mean of the table over the chain, and the share of moves accepted after the warm-up."""
    prior = _prior(model, variances)
    typical = model.table(effects)
    total, accepted, step = np.zeros_like(typical), 0.0, 0.3
    spread = _spread(model, typical, prior)
    for turn in range(_WARM + _KEPT):
        if turn < _SETTLED and turn % _REFRESH == _REFRESH - 1:
            spread = _spread(model, typical, prior)
        effects, table, chance = _move(model, effects, prior, spread, step, normals)
        if turn < _WARM:
            step *= float(np.exp((chance - 0.8) / np.sqrt(10.0 + turn % _SETTLED)))
            typical = 0.9 * typical + 0.1 * table
        else:
            total += table
            accepted += chance
        for width, mine in _widths(model):
            size = float((effects[mine] ** 2 / model.room[mine]).sum())
            chi = 0.5 * float((normals(int(mine.sum()) + 1) ** 2).sum())
            variances[width] = (_SCALE + 0.5 * size) / chi
        prior = _prior(model, variances)
    return total / _KEPT, accepted / _KEPT


def _spread(model: _Model, table: Floats, prior: Floats) -> Floats:
    """A matrix with ``spread·spreadᵀ`` about the posterior covariance of the effects."""
    factor = cholesky(model.curvature(table, prior), lower=True)
    return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False).T)


def _move(
    model: _Model, effects: Floats, prior: Floats, spread: Floats, step: float, normals: Normals
) -> tuple[Floats, Floats, float]:
    """One Hamiltonian move in units of ``spread``: the new effects and table, and the chance to accept."""
    draw = normals(len(effects) + 2)
    still = draw[2:]
    value, slope, table = model.energy(effects, prior)
    step *= 1 + 0.1 * float(np.tanh(draw[0]))
    moving = still - 0.5 * step * (slope @ spread)
    new, tried, ahead = effects, value, table
    for leap in range(_LEAPS):
        new = new + step * (spread @ moving)
        tried, slope, ahead = model.energy(new, prior)
        share = 1.0 if leap < _LEAPS - 1 else 0.5
        moving = moving - share * step * (slope @ spread)
    rise = tried + 0.5 * float(moving @ moving) - value - 0.5 * float(still @ still)
    chance = float(np.exp(-max(rise, 0.0))) if np.isfinite(rise) else 0.0
    if float(ndtr(draw[1])) < chance:
        return new, ahead, chance
    return effects, table, chance
