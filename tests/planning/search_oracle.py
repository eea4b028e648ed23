"""The forecast formulas written out plainly, to check the vectorised ones against."""

import math

from margrave.planning.search.model import Goal, cells_of, closure_of, subsets


def variances(sizes, plan, closure):
    """σ²_T at ε = 1 for every residual T asked for; infinite where the plan does not cover it."""
    kept = [(set(s), set(b), float(share)) for s, b, share in plan]
    out = {}
    for t in closure:
        members = set(t)
        precision = sum(
            2.0 ** len(b) * share**2 / (2 * cells_of(sizes, s - members)) for s, b, share in kept if b <= members <= s
        )
        out[t] = 1 / precision if precision else math.inf
    return out


def table_forecast(sizes, plan, workload):
    """V_α at ε = 1, the variance of one cell, for every table α asked for."""
    tables = tuple(workload)
    sigma2 = variances(sizes, plan, closure_of(tables))
    return {
        table: sum(
            sigma2[t] * math.prod(1 - 1 / sizes[j] for j in t) / float(cells_of(sizes, set(table) - set(t))) ** 2
            for t in subsets(table)
        )
        for table in tables
    }


def forecast(sizes, plan, workload, objective="mean"):
    """The objective of a plan at ε = 1 (see `Goal`); with "mean", its square root is the RMSE per cell."""
    target = Goal(tuple(sizes), dict(workload), objective)
    cell_variance = table_forecast(sizes, plan, target.workload)
    terms = [w * cell_variance[a] for w, a in zip(target.table_weights, target.workload, strict=True)]
    return float(max(terms) if objective == "max" else sum(terms))
