"""A log-linear posterior mean: for small tables of which only margins are measured.

The table is ``w = exp(Σ_T β_T)`` with one effect β_T for each measured residual T. A priori the effect is Gaussian,
as if each cell of the margin T had an independent effect of variance s²; s² is one number for each width |T|, unknown
itself (inverse gamma, shape ½, scale 0.1). Given the noisy residuals, the mean of w over the posterior is taken by
Hamiltonian Monte Carlo, preconditioned by the curvature at the mode. Weak effects shrink towards independence as far
as the data says, and no cell can be negative.

The random numbers come from a fixed seed: the same estimates give the same table. So the chains of several estimates of
the same residuals, such as those of simulated error bars, need the same random numbers at the same time, and are run
side by side: arrays here have a row for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log, prod

import numpy as np
from numpy.typing import NDArray

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

    ``width``: |T| of each row; ``room``: ∏_{j∉T} k_j, the variance of a row's coefficient for s² = 1. What was measured
    (``centre``), how well (``weights``) and the ``base`` have a row for each of the chains.
    """

    rows: Floats
    centre: Floats
    weights: Floats
    width: NDArray[np.int64]
    room: Floats
    base: Floats
    allowed: Floats

    def table(self, effects: Floats) -> Floats:
        """The cells of the tables with the given effects."""
        found: Floats = effects @ self.rows
        found += self.base
        np.minimum(found, _HIGHEST, out=found)
        np.exp(found, out=found)
        found *= self.allowed
        return found

    def energy(self, effects: Floats, prior: Floats) -> tuple[Floats, Floats, Floats]:
        """Minus the log posterior, its gradient, and the table."""
        slope, table, off = self.slope(effects, prior)
        return self.height(effects, prior, off), slope, table

    def slope(self, effects: Floats, prior: Floats) -> tuple[Floats, Floats, Floats]:
        """The gradient of the energy, the table, and how far it is off what was measured."""
        table = self.table(effects)
        off = table @ self.rows.T
        off -= self.centre
        pull = (self.weights * off) @ self.rows
        pull *= table
        slope = pull @ self.rows.T
        slope += prior * effects
        return slope, table, off

    def height(self, effects: Floats, prior: Floats, off: Floats) -> Floats:
        """The energy of effects whose table is off by so much."""
        return 0.5 * _products(self.weights * off, off) + 0.5 * _products(prior, effects**2)

    def curvature(self, table: Floats, prior: Floats) -> Floats:
        """The Gauss–Newton matrices of the energy."""
        turned = (self.rows * table[:, None, :]) @ self.rows.T
        matrix = np.asarray((turned * self.weights[:, None, :]) @ turned)
        place = np.arange(len(self.rows))
        matrix[:, place, place] += prior
        return matrix


def log_linear(estimates: Estimates, possible: Possible | None = None) -> tuple[Floats, float]:
    """The posterior mean of the table, scaled to the total where that is exact, and the share of accepted moves."""
    tables, accepted = log_linears([estimates], possible)
    return tables[0], accepted[0]


def log_linears(
    every: Sequence[Estimates],
    possible: Possible | None = None,
    told: Callable[[float], None] | None = None,
    *,
    kept: int = _KEPT,
) -> tuple[list[Floats], list[float]]:
    """The same for several estimates of the same residuals; ``told`` is told which part of the work is done. ``kept``:
    how many tables a mean is made of.
    """
    model = _model(every, possible)
    normals = Normals("margrave log-linear posterior")
    variances = np.ones((len(every), int(model.width.max()) + 1))
    variances[:, 0] = _TOTAL
    effects = _mode(model, variances)
    found, accepted = _chain(model, effects, variances, normals, told, kept)
    tables = []
    for one, table in zip(every, found, strict=True):
        scale = one.total / table.sum() if one.exact(()) else 1.0
        tables.append((table * scale).reshape(one.domain.shape()))
    return tables, accepted.tolist()


@solver("log-linear")
def _solve(
    estimates: Estimates, wanted: Sequence[Margin], possible: Possible | None, progress: Progress | None
) -> NonNegative:
    table, accepted = log_linear(estimates, possible)
    return NonNegative.of(estimates, table, "log-linear", f"posterior mean; {accepted:.0%} of the moves accepted")


def _model(every: Sequence[Estimates], possible: Possible | None) -> _Model:
    domain, margins = every[0].domain, sorted(every[0].values, key=len)
    blocks = [_rows(every[0], margin) for margin in margins]
    sizes = [len(block) for block in blocks]
    place = [tuple(slice(1, None) if n in margin else slice(0, 1) for n in domain.names) for margin in margins]
    allowed = np.ones(domain.cells()) if possible is None else possible.ravel().astype(float)
    centres, weights, bases = [], [], []
    for one in every:
        spectrum = Spectrum.of(one)
        found = np.concatenate([spectrum.weights[where].ravel() for where in place])
        # A total that is exact is scaled to afterwards; here it is measured very well.
        weights.append(np.where(np.isinf(found), domain.cells() / (1e-3 * max(one.total, 1.0)) ** 2, found))
        centres.append(np.concatenate([spectrum.centre[where].ravel() for where in place]))
        bases.append([log(max(one.total, 1.0) / max(allowed.sum(), 1.0))])
    return _Model(
        rows=np.concatenate(blocks),
        centre=np.array(centres),
        weights=np.array(weights),
        width=np.repeat([len(margin) for margin in margins], sizes),
        room=np.repeat([domain.cells() / domain.cells(margin) for margin in margins], sizes).astype(float),
        base=np.array(bases),
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
    effects, damping = np.zeros(model.centre.shape), np.full(len(model.centre), 0.1)
    place = np.arange(len(model.rows))
    prior = _prior(model, variances)
    value, slope, table = model.energy(effects, prior)
    for step in range(1, 31):
        matrix = model.curvature(table, prior)
        matrix[:, place, place] *= 1 + damping[:, None]
        tried = effects - np.linalg.solve(matrix, slope[..., None])[..., 0]
        new = model.energy(tried, prior)
        lower = new[0] < value
        value, effects = np.where(lower, new[0], value), np.where(lower[:, None], tried, effects)
        slope, table = np.where(lower[:, None], new[1], slope), np.where(lower[:, None], new[2], table)
        damping = np.where(lower, damping / 4, damping * 5)
        if step in (6, 12, 18):
            for width, mine in _widths(model):
                size = _sizes(model, effects, mine)
                variances[:, width] = (_SCALE + 0.5 * size) / (_SHAPE + 0.5 * mine.sum())
            prior = _prior(model, variances)
            value, slope, table = model.energy(effects, prior)
    return effects


def _prior(model: _Model, variances: Floats) -> Floats:
    """The prior precision of every effect."""
    return np.asarray(1.0 / (variances[:, model.width] * model.room))


def _widths(model: _Model) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Each width from one attribute on, with the rows of that width."""
    for width in range(1, int(model.width.max()) + 1):
        mine = model.width == width
        if mine.any():
            yield width, mine


def _products(one: Floats, other: Floats) -> Floats:
    """The scalar product of each pair of rows."""
    return np.asarray((one[:, None, :] @ other[:, :, None])[:, 0, 0])


def _sizes(model: _Model, effects: Floats, mine: NDArray[np.bool_]) -> Floats:
    """The sum of the squared effects of one width, in units of their room, for each chain."""
    return np.asarray(np.ascontiguousarray(effects[:, mine] ** 2 / model.room[mine]).sum(axis=1))


def _chain(
    model: _Model, effects: Floats, variances: Floats, normals: Normals, told: Callable[[float], None] | None, kept: int
) -> tuple[Floats, Floats]:
    """The mean of the tables over their chains, and the share of moves accepted after the warm-up."""
    prior = _prior(model, variances)
    typical = model.table(effects)
    total, accepted, step = np.zeros_like(typical), np.zeros(len(typical)), np.full(len(typical), 0.3)
    spread = _spread(model, typical, prior)
    widths = list(_widths(model))
    for turn in range(_WARM + kept):
        if turn < _SETTLED and turn % _REFRESH == _REFRESH - 1:
            spread = _spread(model, typical, prior)
        effects, table, chance = _move(model, effects, prior, spread, step, normals)
        if turn < _WARM:
            step = step * np.exp((chance - 0.8) / np.sqrt(10.0 + turn % _SETTLED))
            typical = 0.9 * typical + 0.1 * table
        else:
            total += table
            accepted += chance
        for width, mine in widths:
            size = _sizes(model, effects, mine)
            chi = 0.5 * float((normals(int(mine.sum()) + 1) ** 2).sum())
            variances[:, width] = (_SCALE + 0.5 * size) / chi
        prior = _prior(model, variances)
        if told is not None:
            told((turn + 1) / (_WARM + kept))
    return total / kept, accepted / kept


def _spread(model: _Model, table: Floats, prior: Floats) -> Floats:
    """Matrices with ``spread·spreadᵀ`` about the posterior covariance of the effects."""
    from scipy.linalg import cholesky, solve_triangular

    factors = [cholesky(matrix, lower=True) for matrix in model.curvature(table, prior)]
    one = np.eye(len(model.rows))
    return np.array([solve_triangular(factor, one, lower=True, check_finite=False).T for factor in factors])


def _move(
    model: _Model, effects: Floats, prior: Floats, spread: Floats, step: Floats, normals: Normals
) -> tuple[Floats, Floats, Floats]:
    """One Hamiltonian move in units of ``spread``: the new effects and tables, and the chances to accept."""
    from scipy.special import ndtr

    draw = normals(effects.shape[1] + 2)
    still = draw[2:]
    value, slope, table = model.energy(effects, prior)
    step = (step * (1 + 0.1 * float(np.tanh(draw[0]))))[:, None]
    moving = still - 0.5 * step * (slope[:, None, :] @ spread)[:, 0]
    new = effects
    for leap in range(_LEAPS):
        new = new + step * (spread @ moving[..., None])[..., 0]
        slope, ahead, off = model.slope(new, prior)
        share = 1.0 if leap < _LEAPS - 1 else 0.5
        moving = moving - share * step * (slope[:, None, :] @ spread)[:, 0]
    rise = model.height(new, prior, off) + 0.5 * _products(moving, moving) - value - 0.5 * float(still @ still)
    chance = np.where(np.isfinite(rise), np.exp(-np.maximum(rise, 0.0)), 0.0)
    taken = float(ndtr(draw[1])) < chance
    return np.where(taken[:, None], new, effects), np.where(taken[:, None], ahead, table), chance
