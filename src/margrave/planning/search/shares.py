"""Shares of the budget for a fixed set of candidates: the inner problem of the search.

Minimise F(ε) = Σ_α ω_α V_α(ε)^p subject to Σ_m ε_m = 1 (p = 1 for "mean"; a growing p stands in for "max").
With h_T = Σ_m a_mT ε_m² the precision of residual T and y_m = Σ_T (∂F/∂σ²_T) σ⁴_T a_mT ε_m² the part of F that hangs on
candidate m, Jensen's inequality bounds F by a separable Σ_m y_m (ε_m/ε'_m)^{2p}, touching at ε' = ε. Minimising the
bound gives the update ε_m ← ε_m (y_m/ε_m)^{1/(2p+1)}, rescaled, which never increases F.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from margrave.algebra.arrays import Floats
from margrave.planning.search.model import Goal

SEARCH_POWER = 12.0
"""The p that stands in for "max" while sets change: higher ones are nearer to it and slower to converge."""
POLISH_POWERS = (8.0, 32.0, 128.0, 512.0)
"""At the end p grows, each from the shares of the one before. At 512 the sum over a thousand tables that are equally
bad is 1.4 % above the worst of them: 1000^(1/512).
"""
TINY = 1e-300
"""In place of 0 where something is divided by it: near the least number that a float holds in full precision."""
FLOOR = 1e-9
"""A member's share stays above this while shares improve, since none could come back from 0."""
LEAST_START = 1e-12
"""The least share that quasi-Newton steps start from: they work on logarithms."""
LOG_SHARES = (-40.0, 3.0)
"""Between these logarithms of shares the steps stay, so that no square of one overflows or vanishes."""
STEPS = 200
"""At most so many quasi-Newton steps for each p; in most plans they converge sooner."""
STRETCH = 2.0
"""Every other step is lengthened so much: still a descent in practice, and about twice as fast."""


def residual_slopes(target: Goal, variance: Floats, power: float) -> tuple[Floats, Floats]:
    """F^(1/p) and, up to a positive factor per batch entry, ∂F/∂σ²_T, for σ²_T along the last axis."""
    if target.objective == "mean":
        return variance @ target.residual_weights, target.residual_weights
    risk = target.table_variances(variance) * target.table_weights
    top = risk.max(axis=-1, keepdims=True)
    scaled = (risk / top) ** (power - 1)
    value = top[..., 0] * np.sum(scaled * risk / top, axis=-1) ** (1 / power)
    return value, np.asarray((target.spread.T @ (scaled * target.table_weights).T).T)


def improve(target: Goal, rows: Floats, shares: Floats, steps: int) -> tuple[Floats, Floats]:
    """`steps` updates of many sets at once: rows is sets x members x residuals, shares is sets x members.

    Padding members have share 0 and keep it. Returns the shares and their objective values.
    """
    power = 1.0 if target.objective == "mean" else SEARCH_POWER
    exponent = 1 / (2 * power + 1)
    floor = np.where(shares > 0, FLOOR, 0.0)
    for step in range(steps):
        squares = shares * shares
        variance = 1 / np.maximum(np.matmul(squares[:, None, :], rows)[:, 0], TINY)
        _, slopes = residual_slopes(target, variance, power)
        parts = squares * np.matmul(rows, (slopes * variance * variance)[..., None])[..., 0]
        stretch = exponent * (1.0 if step % 2 else STRETCH)
        shares = shares * (parts / np.maximum(shares, TINY)) ** stretch
        shares = np.maximum(shares / shares.sum(axis=1, keepdims=True), floor)
    shares = shares / shares.sum(axis=1, keepdims=True)
    return shares, target.value(np.matmul((shares * shares)[:, None, :], rows)[:, 0])


def smooth(target: Goal, rows: Any, shares: Floats, steps: int) -> Floats:
    """`improve` for one set, whose rows may be sparse."""
    power = 1.0 if target.objective == "mean" else SEARCH_POWER
    for _ in range(steps):
        squares = shares * shares
        variance = 1 / np.maximum(rows.T @ squares, TINY)
        _, slopes = residual_slopes(target, variance, power)
        parts = squares * (rows @ (slopes * variance * variance))
        shares = shares * (parts / np.maximum(shares, TINY)) ** (1 / (2 * power + 1))
        shares = np.maximum(shares / shares.sum(), FLOOR)
    return np.asarray(shares / shares.sum())


def polish(target: Goal, rows: Any, shares: Floats, iterations: int = STEPS) -> tuple[Floats, float]:
    """Converged shares by quasi-Newton steps on log ε, where the objective is log F^(1/p) + 2 log Σ ε.

    Every point visited is a valid set of shares, and the best one is returned, never worse than the start.
    """
    best = shares / shares.sum()
    best_value = float(target.value(rows.T @ (best * best)))
    for power in (1.0,) if target.objective == "mean" else POLISH_POWERS:

        def loss(logs: Floats, power: float = power) -> tuple[float, Floats]:
            eps = np.exp(logs)
            variance = 1 / np.maximum(rows.T @ (eps * eps), TINY)
            value, slopes = residual_slopes(target, variance, power)
            parts = eps * eps * (rows @ (slopes * variance * variance))
            # The parts sum to F times a constant: only their proportions enter the gradient.
            gradient = 2 * (eps / eps.sum() - parts / parts.sum())
            return float(np.log(value) + 2 * np.log(eps.sum())), gradient

        start = np.log(np.maximum(best, LEAST_START))
        bounds = [LOG_SHARES] * len(start)
        result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations})
        found = np.exp(result.x)
        found = found / found.sum()
        value = float(target.value(rows.T @ (found * found)))
        if value < best_value:
            best, best_value = found, value
    return best, best_value
