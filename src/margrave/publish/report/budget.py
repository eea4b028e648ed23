"""The error that the same plan would have at other budgets: a curve that needs no data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isfinite, sqrt

from margrave.algebra.domain import Margin
from margrave.algebra.words import number
from margrave.budget.units import amount
from margrave.errors import RefusedError
from margrave.messages.catalogue import say, spoken
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
    said = say(
        "A larger %(unit)s means less noise and less privacy. The curve shows what the same measurements would give "
        "for other budgets; it follows from the plan alone and needs no data.",
        unit=unit,
    )
    first, last, here = (
        say("%(error)s at %(budget)s", error=number(rmse), budget=f"{unit} = {_figure(one, 3)}")
        for one, rmse in (points[0], points[-1], chosen)
    )
    description = say(
        "Error falls as the budget rises, from %(first)s to %(last)s. This release has %(here)s.",
        first=first,
        last=last,
        here=here,
    )
    budget, heading = say("budget %(unit)s", unit=unit), say("Error against budget")
    plot = svg.curve("budget-plot", heading, description, points, chosen, (budget, say("error per cell (RMSE)")))
    rows = [(_figure(one, 4), number(rmse)) for one, rmse in points]
    return section(
        "budget",
        heading,
        paragraph(said),
        f"<figure>{plot}<figcaption>{say('Both axes are logarithmic. The dot is this release.')}</figcaption></figure>",
        details(say("The numbers as a table"), table((budget, say("root mean squared error per cell")), rows)),
    )


def _figure(value: float, digits: int) -> str:
    return spoken().localised(f"{value:.{digits}g}")
