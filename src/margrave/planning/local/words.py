"""A local plan for people and for scripts: its guarantee, its questions, its forecast, and what it gave up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from margrave.messages.catalogue import say, spoken
from margrave.planning.asked import Sheet
from margrave.planning.describe import name_of, number
from margrave.planning.local.question import WEIGHTS

if TYPE_CHECKING:
    from margrave.planning.local.odds import Odds
    from margrave.planning.local.plan import LocalPlan

_KINDS = {
    "response": "her answer, or any at random",
    "subset": "a set of answers, hers more often in it",
    "unary": "a bit for each answer",
    "hadamard": "a column of signs",
    "signs": "one sign",
    "modular": "a set of sums",
}
"""What leaves the device, by mechanism."""


def guarantee_words(plan: LocalPlan) -> tuple[str, ...]:
    """The guarantee, in sentences."""
    local = spoken().localised
    found = [
        say(
            "Every report satisfies pure differential privacy with ε = %(epsilon)s on the respondent's own device: "
            "nobody needs to be trusted, neither the collector nor whoever listens.",
            epsilon=local(f"{float(plan.spec.epsilon):.4g}"),
        ),
        say(
            "Whatever she answered, no report is more than %(odds)s times as likely as under any other answer. A "
            "suspicion of 50 %% about her answers can become %(sure)s %%, and not more.",
            odds=plan.odds,
            sure=f"{100 * sure(plan.odds):.0f}",
        ),
        say(
            "That she took part is not protected. Reports to several collections add up: two of the same kind have "
            "twice the ε."
        ),
        say(
            "Her device draws which question she reports on, whatever her answers are, and makes one report; the "
            "answers never leave it."
        ),
    ]
    if plan.spec.shuffler is not None:
        found.append(_shuffled(plan))
    return tuple(found)


def sure(odds: Odds) -> float:
    """How sure somebody can be at most of what was as likely as not before she read a report."""
    return float(odds.ratio / (1 + odds.ratio))


def _shuffled(plan: LocalPlan) -> str:
    shuffler, size = plan.spec.shuffler, plan.spec.expected_size
    assert shuffler is not None
    found = plan.shuffled(size)
    who = {"name": shuffler.name, "count": spoken().localised(f"{size:,}")}
    if found is None or found.guarantee is None:
        return say(
            "If %(name)s mixes the reports and takes their tokens off, as is trusted here, %(count)s reports are too "
            "few for a stronger guarantee: the one above stands alone.",
            **who,
        )
    epsilon, delta = float(found.guarantee.epsilon), float(found.guarantee.delta)
    return say(
        "If %(name)s mixes the reports and takes their tokens off, as is trusted here, %(count)s reports together "
        "satisfy differential privacy with ε = %(epsilon)s, δ = %(delta)s when one respondent's answers are replaced "
        "by others. Against the shuffler itself only the first holds.",
        **who,
        epsilon=spoken().localised(f"{epsilon:.4g}"),
        delta=spoken().localised(f"{delta:.2g}"),
    )


def sheets(plan: LocalPlan, most: int | None = None) -> tuple[Sheet, ...]:
    """What is reported, what to expect, and what was given up."""
    return (_questions(plan, most), _forecast(plan, most), _given_up(plan, most))


def _questions(plan: LocalPlan, most: int | None) -> Sheet:
    rows = [
        (
            name_of(one.margin),
            one.mechanism.name,
            _KINDS[one.mechanism.name],
            f"{one.weight / WEIGHTS:.2%}",
            number(one.spread(one.margin)),
        )
        for one in plan.questions
    ]
    title = f"Plan: each respondent makes one report, likelihood ratio at most {plan.odds}"
    headers = ("reports on", "mechanism", "what leaves the device", "drawn by", "variance of a report")
    return Sheet(title, headers, _cut(rows, most, "questions"))


def _forecast(plan: LocalPlan, most: int | None) -> Sheet:
    rows = [
        (
            name_of(row.margin),
            str(row.cells),
            _percent(row.respondents),
            _percent(row.population),
            f"±{_percent(row.most)}",
            number(row.l1),
            f"{plan.useful(row.margin):,}",
        )
        for row in plan.forecast
    ]
    title = f"Forecast for {plan.spec.expected_size:,} respondents, in shares of all"
    headers = (
        "table", "cells", "error among respondents", "with sampling", "each cell within, 95 %", "sum of errors",
        "useful from",
    )  # fmt: skip
    return Sheet(title, headers, _cut(rows, most, "tables"))


def _given_up(plan: LocalPlan, most: int | None) -> Sheet:
    rows = []
    for margin, tried in plan.given_up.items():
        axes = tuple(range(len(margin)))
        said = ", ".join(f"{one.name} {number(float(one.spread(axes)))}" for one, _ in tried)
        used = ", ".join(one.name for one, chosen in tried if chosen) or "through larger tables"
        rows.append((name_of(margin), used, said))
    title = "Variance of one report about each residual, by mechanism"
    return Sheet(title, ("residual", "chosen", "all that were weighed"), _cut(rows, most, "residuals"))


def _cut(rows: Sequence[tuple[str, ...]], most: int | None, what: str) -> Sequence[tuple[str, ...]]:
    if most is None or len(rows) <= most:
        return rows
    return [*rows[:most], (f"… and {len(rows) - most} more {what}", *[""] * (len(rows[0]) - 1))]


def _percent(share: float) -> str:
    return f"{number(100 * share)} %"


def plan_json(plan: LocalPlan) -> dict[str, Any]:
    """The plan for scripts."""
    found: dict[str, Any] = {
        "way": plan.way,
        "cost": plan.cost.as_dict(),
        "odds": {"numerator": plan.odds.numerator, "denominator": plan.odds.denominator},
        "plan": plan.hash,
        "questions": [one.as_dict() for one in plan.questions],
        "expected_size": plan.spec.expected_size,
        "forecast": [
            {
                "table": list(row.margin),
                "cells": row.cells,
                "std_error_respondents": row.respondents,
                "std_error_population": row.population,
                "half_width_95": row.half_width,
                "most_half_width_95": row.most,
                "expected_l1": row.l1,
                "useful_from": plan.useful(row.margin),
            }
            for row in plan.forecast
        ],
        "words": list(plan.words()),
        "warnings": list(plan.warnings),
    }
    if (together := plan.shuffled(plan.spec.expected_size)) is not None:
        guarantee = None if together.guarantee is None else together.guarantee.as_dict()
        found["shuffled"] = {"reports": together.reports, "guarantee": guarantee}
    return found
