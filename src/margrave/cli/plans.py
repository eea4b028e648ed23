"""``margrave plan``: what a release would do, cost and be worth."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margrave.cli.arguments import AsJson, SpecPath, amounts
from margrave.cli.terminal import heading, notice, print_json, print_table, say, warn_of_formulas

if TYPE_CHECKING:
    from margrave.budget.units import Budget
    from margrave.planning.guarantee import Guarantee
    from margrave.planning.plan import Plan

_SWEEP = "0.05,0.1,0.2,0.5,1,2,5,10"


def plan(
    spec: SpecPath,
    target: Annotated[
        str | None, typer.Option(help="Find the least budget with every cell within, say, 5@95%.", show_default=False)
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            help=f"Show error against budget for a list of ε (or ρ), or 'default' ({_SWEEP}).", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show cost, noise and forecast error of a release. Opens no data."""
    from margrave.errors import UsageError
    from margrave.planning.planner import make_plan
    from margrave.planning.target import Target, plan_for
    from margrave.reconstruct.published import publishable
    from margrave.spec.spec import Spec
    from margrave.spec.texts import formulas

    loaded = Spec.load(spec)
    if target is not None and sweep is not None:
        raise UsageError("give --target or --sweep, not both")
    if sweep is not None:
        _sweep(loaded, _SWEEP if sweep == "default" else sweep, as_json)
        return
    found = make_plan(loaded) if target is None else plan_for(loaded, Target.parse(target))
    publishable(found)
    warn_of_formulas(formulas(found.spec.domain))
    if as_json:
        print_json(plan_json(found))
    else:
        show_plan(found)
        if target is not None:
            lines = ", ".join(f"{name} = {text}" for name, text in found.spec.budget.as_dict().items())
            notice(f"Write this budget into [privacy] to release by it: {lines}")


def _sweep(spec: Any, text: str, as_json: bool) -> None:
    from margrave.budget.units import amount, exact_text
    from margrave.planning.describe import number
    from margrave.planning.target import sweep

    rows: list[dict[str, Any]] = []
    for found in sweep(spec, amounts(text, "--sweep")):
        worst = max(row.half_width for row in found.forecast)
        value: Fraction = amount(found.spec.budget)
        rows.append({"budget": exact_text(value), "rmse": found.rmse, "half_width": worst, "strategy": found.strategy})
    if as_json:
        print_json(rows)
        return
    unit = "ρ" if "rho" in spec.budget.as_dict() else "ε"
    table = [(r["budget"], number(r["rmse"]), f"±{number(r['half_width'])}", r["strategy"]) for r in rows]
    print_table((unit, "RMSE per cell", "95 % within (worst table)", "strategy"), table)


def show_plan(found: Plan, most: int = 40) -> None:
    """A plan in the terminal."""
    from margrave.planning.describe import (
        FORECAST_HEADERS,
        MEASUREMENT_HEADERS,
        forecast_rows,
        measurement_rows,
        name_of,
        number,
    )
    from margrave.planning.effect import fact_words
    from margrave.planning.guarantee import approximate
    from margrave.planning.planner import without_facts
    from margrave.planning.prediction import as_records, reading_seconds, record_seconds

    heading(f"Plan: {found.strategy} strategy, cost {approximate(found.guarantee)}")
    print_table(MEASUREMENT_HEADERS, measurement_rows(found, most))
    heading(f"Forecast: RMSE {number(found.rmse)} per cell")
    print_table(FORECAST_HEADERS, forecast_rows(found, most))
    theory = found.theory()
    if theory:
        heading("What the theorem promises for the linear program's tables, with probability 95 %")
        print_table(("table", "L1 at most"), [(name_of(margin), number(bound)) for margin, bound in theory.items()])
    for sentence in (*found.promise.words(), *fact_words(found)):
        say(sentence)
    if found.spec.public:
        say(f"RMSE per cell: {number(found.rmse)}; {number(without_facts(found).rmse)} if nothing were public.")
    say(
        f"Memory: about {_bytes(found.memory)}; time: about {_seconds(found.seconds)} after reading, plus about "
        f"{reading_seconds(found, 10**6):.2g} s per million records."
    )
    if as_records(found):
        times = [f"{_seconds(record_seconds(found, count))} for {count:,}" for count in (10_000, 100_000)]
        say(f"Fitting records, and their error bars: about {' and '.join(times)} of them.")
    for warning in found.warnings:
        notice(f"Warning: {warning}.")


def _bytes(amount: int) -> str:
    return f"{amount / 2**30:.1f} GiB" if amount >= 1 << 30 else f"{amount / 2**20:.0f} MiB"


def _seconds(amount: float) -> str:
    return f"{amount / 60:.0f} min" if amount >= 120 else f"{max(amount, 0.1):.2g} s"


def _numbers(budget: Budget) -> dict[str, float]:
    """A budget in plain numbers; the exact one is the cost."""
    return {name: float(value) for name, value in vars(budget).items()}


def _beliefs(promise: Guarantee) -> list[dict[str, Any]]:
    """How far suspicions can grow, of one unit and of several together; no numbers where nothing is promised."""
    from margrave.planning.belief import SUSPICIONS

    found = []
    for suspicion in promise.suspicions:
        for units in promise.suspected_together:
            bound = promise.belief(suspicion, units)
            told = None if bound.says_little else bound.factor
            after = {} if told is None else {f"{before:g}": bound.after(before) for before in SUSPICIONS}
            found.append(
                {"about": suspicion.topic, "units": units, "odds": told, "except": bound.chance, "after": after}
            )
    return found


def _facts_json(found: Plan) -> dict[str, Any]:
    """What public facts cost and save; nothing without facts."""
    from margrave.planning.effect import price_factor
    from margrave.planning.planner import without_facts
    from margrave.publish.bundle.manifest import disclosure_json

    if not found.spec.public:
        return {}
    return {
        "disclosed": [disclosure_json(one) for one in found.disclosures],
        "price_factor": float(price_factor(found)),
        "rmse_without_facts": without_facts(found).rmse,
    }


def plan_json(found: Plan) -> dict[str, Any]:
    """A plan for scripts."""
    from margrave.publish.bundle.manifest import measurement_json

    guarantee = found.promise
    return {
        "strategy": found.strategy,
        "cost": found.cost.as_dict(),
        "guarantee": _numbers(found.guarantee),
        "groups": {str(size): _numbers(budget) for size, budget in guarantee.groups.items()},
        "words": list(guarantee.words()),
        "beliefs": _beliefs(guarantee),
        "measurements": [measurement_json(one) for one in found.measurements],
        "exact": [list(margin) for margin in found.exact],
        **_facts_json(found),
        "rmse": found.rmse,
        "forecast": [
            {
                "table": list(row.margin),
                "cells": row.cells,
                "std_error": row.std_error,
                "half_width_95": row.half_width,
                "all_cells_95": row.all_cells,
                "expected_l1": row.expected_l1,
            }
            for row in found.forecast
        ],
        "memory_bytes": found.memory,
        "seconds_after_reading": found.seconds,
        "warnings": list(found.warnings),
    }
