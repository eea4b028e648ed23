"""Each residual once: with Gaussian noise, the optimum."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from margrave.algebra.domain import Margin
from margrave.algebra.lattice import subsets
from margrave.planning.strategies.demand import Demand, Shares, residual_query, unit_variance
from margrave.planning.strategies.registry import NamedStrategy, register


def residual(problem: Demand) -> Shares:
    """Each residual once. With Gaussian noise and ρ_T ∝ √(w_T p_T) this is the optimum (docs/mathematics.md)."""
    tables = dict(problem.cell_weights)
    shares = _residual_shares(problem, tables)
    if problem.objective == "max" and len(tables) > 1:
        shares = _even_out(problem, tables)
    return {residual_query(problem.domain, margin): share for margin, share in shares.items()}


def _residual_shares(problem: Demand, tables: Mapping[Margin, float]) -> dict[Margin, float]:
    power = 1 / 2 if problem.gaussian else 1 / 3
    shares = {}
    for margin, weight in problem.residual_weights(tables).items():
        shares[margin] = (weight * unit_variance(problem, residual_query(problem.domain, margin), margin)) ** power
    total = sum(shares.values())
    # Twelve digits, so that margins of the same standing get the very same share, and their noise the same name.
    return {margin: float(f"{share / total:.12g}") for margin, share in shares.items()}


def _even_out(problem: Demand, tables: dict[Margin, float], rounds: int = 400) -> dict[Margin, float]:
    """Weights on the tables that make the worst of them as good as possible.

    The least maximum is a saddle point: at its weights, the best shares give every table of positive weight the same
    weighted variance. Each round multiplies a table's weight by its variance relative to the mean.
    """
    wanted = dict(tables)
    power = 1.0 if problem.gaussian else 2.0
    best, best_value = _residual_shares(problem, tables), np.inf
    weights = {margin: weight / sum(tables.values()) for margin, weight in tables.items()}
    for _ in range(rounds):
        shares = _residual_shares(problem, {margin: weights[margin] * wanted[margin] for margin in weights})
        units = {below: unit_variance(problem, residual_query(problem.domain, below), below) for below in shares}
        variances = {
            margin: wanted[margin]
            * sum(
                problem.coefficient(margin, below) * units[below] / shares[below] ** power
                for below in subsets(margin)
                if shares.get(below)
            )
            for margin in weights
        }
        value = max(variances.values())
        if value < best_value:
            best, best_value = shares, value
        mean = sum(weights[margin] * variances[margin] for margin in weights)
        if value <= mean * (1 + 1e-6):
            break
        weights = {margin: weight * variances[margin] / mean for margin, weight in weights.items()}
    return best


register(NamedStrategy("residual", residual))
