"""Shares of the budget for a fixed set of candidates: the inner problem of the search.

Minimise F(ε) = Σ_α ω_α V_α(ε)^p subject to Σ_m ε_m = 1 (p = 1 for "mean"; a growing p stands in for "max").
With h_T = Σ_m a_mT ε_m² the precision of residual T and y_m = Σ_T (∂F/∂σ²_T) σ⁴_T a_mT ε_m² the part of F that hangs on
candidate m, Jensen's inequality bounds F by a separable Σ_m y_m (ε_m/ε'_m)^{2p}, touching at ε' = ε. Minimising the
bound gives the update ε_m ← ε_m (y_m/ε_m)^{1/(2p+1)}, rescaled, which never increases F.
"""

from typing import Any

import numpy as np

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
FEW_MEMBERS, NEWTON_STEPS = 64, 40
"""Up to so many members converge by Newton steps, at most so many of them: each takes a dense matrix of members."""
FLAT, LONGEST, SHORTEST, CONVERGED = 1e-9, 2.0, 1e-6, 1e-13
"""No curvature counts as less; the largest change of a logarithm in one step; the least part of a step that is tried;
and steps end where they would lower the logarithm of the objective by less.
"""
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
    mean = target.residual_weights if target.objective == "mean" else None
    for step in range(steps):
        squares = shares * shares
        variance = 1 / np.maximum(np.matmul(squares[:, None, :], rows)[:, 0], TINY)
        slopes = residual_slopes(target, variance, power)[1] if mean is None else mean
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
    """Converged shares, on log ε, where the objective is log F^(1/p) + 2 log Σ ε.

    Every point visited is a valid set of shares, and the best one is returned, never worse than the start.
    """
    best = shares / shares.sum()
    best_value = float(target.value(rows.T @ (best * best)))
    for power in (1.0,) if target.objective == "mean" else POLISH_POWERS:
        start = np.log(np.maximum(best, LEAST_START))
        few = target.objective == "mean" and len(start) <= FEW_MEMBERS and isinstance(rows, np.ndarray)
        found = newton(target, rows, start) if few else _quasi_newton(target, rows, start, power, iterations)
        found = np.exp(found)
        found = found / found.sum()
        value = float(target.value(rows.T @ (found * found)))
        if value < best_value:
            best, best_value = found, value
    return best, best_value


def _quasi_newton(target: Goal, rows: Any, start: Floats, power: float, iterations: int) -> Floats:
    """Logarithms of shares that are converged for one p, by quasi-Newton steps."""
    from scipy.optimize import minimize  # takes longer to import than plans of few members take to make

    def loss(logs: Floats) -> tuple[float, Floats]:
        eps = np.exp(logs)
        variance = 1 / np.maximum(rows.T @ (eps * eps), TINY)
        value, slopes = residual_slopes(target, variance, power)
        parts = eps * eps * (rows @ (slopes * variance * variance))
        # The parts sum to F times a constant: only their proportions enter the gradient.
        gradient = 2 * (eps / eps.sum() - parts / parts.sum())
        return float(np.log(value) + 2 * np.log(eps.sum())), gradient

    bounds = [LOG_SHARES] * len(start)
    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations})
    return np.asarray(result.x)


def newton(target: Goal, rows: Floats, logs: Floats) -> Floats:
    """Logarithms of converged shares for the mean, by Newton steps, each shortened until it helps.

    With y_m as above and p_m = ε_m/Σ ε, the slope is 2(p − y/F), and the curvature that of log F, where F has
    ∂²F/∂log ε_m ∂log ε_n = 8 ε_m² ε_n² Σ_T w_T a_mT a_nT / h_T³ − 4 y_m [m = n], and of 2 log Σ ε. Where it bends
    down, the step goes as far as it would if that bent up as much.
    """
    weights = target.residual_weights

    def value(logs: Floats) -> float:
        eps = np.exp(logs)
        return float(np.log((weights / np.maximum(rows.T @ (eps * eps), TINY)).sum()) + 2 * np.log(eps.sum()))

    reached = value(logs)
    for _ in range(NEWTON_STEPS):
        eps = np.exp(logs)
        variance = 1 / np.maximum(rows.T @ (eps * eps), TINY)
        scaled = rows * (eps * eps)[:, None]
        parts = scaled @ (weights * variance**2)
        total, share = parts.sum(), eps / eps.sum()
        part = parts / total
        slope = 2 * (share - part)
        bend = 8 * (scaled * (weights * variance**3)) @ scaled.T / total - 4 * np.outer(part, part)
        bend += np.diag(2 * share - 4 * part) - 2 * np.outer(share, share)
        curves, axes = np.linalg.eigh(bend)
        step = -axes @ ((axes.T @ slope) / np.maximum(np.abs(curves), FLAT))
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), TINY))
        fall = float(slope @ step)
        length = 1.0
        while length > SHORTEST and not value(logs + length * step) <= reached + 1e-4 * length * fall:
            length /= 2
        if length <= SHORTEST or -fall < CONVERGED:
            break
        logs = np.clip(logs + length * step, *LOG_SHARES)
        reached = value(logs)
    return logs
