"""``margrave plan``: what a release would do, cost and be worth."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margrave.cli.arguments import AsJson, SpecPath, amounts
from margrave.cli.terminal import heading, notice, print_json, print_table, say, warn_of_formulas, watching

if TYPE_CHECKING:
    from margrave.planning.asked import Asked
    from margrave.planning.plan import Plan

_SWEEP = "0.05,0.1,0.2,0.5,1,2,5,10"


def plan(
    spec: SpecPath,
    target: Annotated[
        str | None,
        typer.Option(
            help="Find the least budget (of a local spec: the fewest respondents) with every cell within, say, 5@95%.",
            show_default=False,
        ),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            help=f"Show error against budget for a list of ε (or ρ), or 'default' ({_SWEEP}).", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    words: Annotated[bool, typer.Option("--words", help="Say at the end what the words of plans mean.")] = False,
) -> None:
    """Show cost, noise and forecast error of a release. Opens no data."""
    from margrave.errors import UsageError
    from margrave.planning.target import Target
    from margrave.planning.ways.registry import load_spec, spec_way
    from margrave.reconstruct.planned import plan as checked_plan

    if target is not None and sweep is not None:
        raise UsageError("give --target or --sweep, not both")
    loaded = load_spec(spec)
    way = spec_way(loaded.way)
    if sweep is not None:
        _sweep(way.sweep(loaded, amounts(_SWEEP if sweep == "default" else sweep, "--sweep")), as_json)
        return
    with watching("Planning"):
        found = checked_plan(loaded if target is None else way.plan_for(loaded, Target.parse(target)))
        found.forecast  # noqa: B018 - the longest part of what is shown is made while the bar moves
    warn_of_formulas(way.formulas(found))
    if as_json:
        print_json(plan_json(found))
    else:
        show_plan(found)
        if target is not None:
            notice(way.reached(found))
        if words:
            _show_words()
        else:
            notice("What the words mean: the same with --words.")


def _sweep(plans: Iterable[Plan], as_json: bool) -> None:
    from margrave.algebra.words import number
    from margrave.budget.numbers import exact_text
    from margrave.budget.units import amount

    rows: list[dict[str, Any]] = []
    unit = "ε"
    for found in plans:
        worst = max(row.half_width for row in found.forecast)
        value: Fraction = amount(found.spec.budget)
        unit = "ρ" if "rho" in found.spec.budget.as_dict() else "ε"
        rows.append({"budget": exact_text(value), "rmse": found.rmse, "half_width": worst, "strategy": found.strategy})
    if as_json:
        print_json(rows)
        return
    table = [(r["budget"], number(r["rmse"]), f"±{number(r['half_width'])}", r["strategy"]) for r in rows]
    print_table((unit, "RMSE per cell", "95 % within (worst table)", "strategy"), table)


def show_plan(found: Asked, most: int = 40) -> None:
    """A plan in the terminal, whichever way of asking it is of."""
    from margrave.planning.ways.registry import spec_way

    for sheet in found.sheets(most):
        heading(sheet.title)
        print_table(sheet.headers, sheet.rows)
    for sentence in (*found.words(), *spec_way(found.way).remarks(found).words):
        say(sentence)
    for warning in found.warnings:
        notice(f"Warning: {warning}.")


def _show_words() -> None:
    """The glossary, as the report and the docs have it."""
    from margrave.planning.glossary import GLOSSARY

    heading("What the words mean")
    for term in GLOSSARY:
        say(f"{term.word}: {term.meaning}")


def plan_json(found: Asked) -> dict[str, Any]:
    """A plan for scripts."""
    from margrave.planning.ways.registry import spec_way

    return {**found.to_json(), **(spec_way(found.way).remarks(found).json or {})}
