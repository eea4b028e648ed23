"""The error that the same plan would have at other budgets: a curve that needs no data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isfinite, sqrt

from margrave.algebra.domain import Margin
from margrave.algebra.words import number
from margrave.budget.units import amount
from margrave.errors import RefusedError
from margrave.planning.plan import Plan
from margrave.publish.report import svg
from margrave.publish.report.html import details, paragraph, section, table

_FACTORS = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))


def budget_curve(plan: Plan) -> list[tuple[float, float]]:
    """The error of the same plan at other budgets: each budget with its root mean squared error per cell."""
    found = []
    alike = _alike(plan)
    for factor in _FACTORS:
        try:
            scaled = _scaled(plan, factor)
            found.append((float(amount(scaled.guarantee)), _rmse(scaled, alike)))
        except RefusedError:  # noise too small or too large to be drawn
            continue
    return [(budget, float(f"{rmse:.9g}")) for budget, rmse in found if budget > 0 and rmse > 0 and isfinite(rmse)]


def _alike(plan: Plan) -> dict[Margin, float]:
    """One of the tables of each size and accuracy, with the weight of all of them: all scale alike with the budget."""
    first: dict[tuple[float, ...], Margin] = {}
    weights: dict[Margin, float] = {}
    for wanted, row in zip(plan.spec.workload, plan.forecast, strict=True):
        margin = first.setdefault((row.cells, row.std_error, row.half_width, row.expected_l1), row.margin)
        weights[margin] = weights.get(margin, 0.0) + float(wanted.weight) * row.cells
    return weights


def _rmse(plan: Plan, weights: dict[Margin, float]) -> float:
    risk = sum(weight * plan.mean_variance(margin) for margin, weight in weights.items())
    return sqrt(risk / sum(weights.values()))


def _scaled(plan: Plan, factor: Fraction) -> Plan:
    """The same measurements at ``factor`` times the cost."""
    measurements = (replace(one, noise=one.noise.dearer(factor)) for one in plan.measurements)
    return replace(plan, measurements=tuple(measurements))


def budget_section(plan: Plan) -> str:
    points = budget_curve(plan)
    chosen = (float(amount(plan.guarantee)), plan.rmse)
    if len(points) < 2 or chosen[1] <= 0:
        return ""
    unit = plan.guarantee.symbol
    said = (
        f"A larger {unit} means less noise and less privacy. The curve shows what the same measurements would give for "
        "other budgets; it follows from the plan alone and needs no data."
    )
    description = (
        f"Error falls as the budget rises, from {number(points[0][1])} at {unit} = {points[0][0]:.3g} to "
        f"{number(points[-1][1])} at {unit} = {points[-1][0]:.3g}. This release has {number(chosen[1])} at "
        f"{unit} = {chosen[0]:.3g}."
    )
    axes = (f"budget {unit}", "error per cell (RMSE)")
    plot = svg.curve("budget-plot", "Error against budget", description, points, chosen, axes)
    rows = [(f"{budget:.4g}", number(rmse)) for budget, rmse in points]
    return section(
        "budget",
        "Error against budget",
        paragraph(said),
        f"<figure>{plot}<figcaption>Both axes are logarithmic. The dot is this release.</figcaption></figure>",
        details("The numbers as a table", table((f"budget {unit}", "root mean squared error per cell"), rows)),
    )
