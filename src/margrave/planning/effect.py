"""What public facts do to a plan, in words: what they cost, what they make exact, and what they reveal alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Margin
from margrave.algebra.junctions import is_decomposable
from margrave.algebra.words import margin_name
from margrave.budget.events import cost
from margrave.errors import RefusedError, UsageError
from margrave.facts.declared import facts_of, public_facts
from margrave.facts.facts import KnownCell
from margrave.messages.catalogue import say, spoken
from margrave.planning.limits import BOUNDED_CELLS, PROGRAM_BOUNDED_CELLS

if TYPE_CHECKING:
    from margrave.facts.bounds import CellBounds
    from margrave.planning.plan import Plan
    from margrave.spec.spec import Spec

Values = Mapping[Margin | KnownCell, Array | int]


def price_factor(plan: Plan) -> Fraction:
    """How many times as much the measurements cost as they would without the facts."""
    return plan.cost.amount / cost(plan.domain, plan.measurements, plan.protection).amount


def fact_words(plan: Plan) -> tuple[str, ...]:
    """What the facts cost and save, as far as the plan itself tells; nothing without facts."""
    if not plan.spec.public:
        return ()
    factor = float(price_factor(plan))
    unit = plan.cost.symbol
    deviation = factor if plan.measurements[0].noise.pure else factor**0.5
    exact = [margin for margin in plan.spec.margins if bool(plan.certain(margin).all())]
    said = say(
        "The public facts multiply the price in %(unit)s of these measurements by %(factor)s, so the noise has "
        "%(deviation)s times the standard deviation.",
        unit=unit,
        factor=spoken().localised(f"{factor:.3g}"),
        deviation=spoken().localised(f"{deviation:.3g}"),
    )
    most = plan.most_records
    few: tuple[str, ...] = ()
    if most is not None:
        count = spoken().localised(f"{most:,}")
        few = (say("This price counts on there being no more than the %(count)s records given.", count=count),)
    return (f"{said} {_not_measured(exact)}", *few)


def _not_measured(exact: Sequence[Margin]) -> str:
    """What needs no noise; ``exact``: the wanted tables that the facts tell in full."""
    names = ", ".join(map(margin_name, exact))
    if not exact:
        return say("What they tell is not measured.")
    if len(exact) == 1:
        return say("What they tell is not measured; of the wanted tables %(names)s is exact.", names=names)
    return say("What they tell is not measured; of the wanted tables %(names)s are exact.", names=names)


def bounds_of(spec: Spec, values: Values) -> CellBounds | None:
    """Bounds from the facts alone for the table of all attributes in them; None where that takes too long."""
    from margrave.facts.bounds import bounds_from_facts

    facts = facts_of(spec)
    names = spec.domain.margin({name for fact in spec.public for name in fact.margin})
    cells = spec.domain.cells(names)
    axes = tuple(tuple(map(spec.domain.position, margin)) for margin in facts.margins)
    easy = not facts.cells and is_decomposable(axes)
    if cells > (BOUNDED_CELLS if easy else PROGRAM_BOUNDED_CELLS):
        return None
    try:
        return bounds_from_facts(facts, values)
    except (RefusedError, UsageError):  # too hard, or cells that nothing bounds
        return None


def revealed(spec: Spec, values: Values) -> tuple[str, ...]:
    """What a person should know of the facts' values before calling them harmless."""
    found = []
    public = public_facts(spec)
    for fact in public:
        counts = np.asarray(values[fact.margin]) if fact.cell is None else np.array([values[fact.margin, fact.cell]])
        empty, small = int((counts == 0).sum()), int(((counts > 0) & (counts < 3)).sum())
        told = {"table": margin_name(fact.margin)}
        if empty and fact.cell is None:
            found.append(
                say(
                    "the public table %(table)s has %(cells)s of 0, below which everything is known to be 0",
                    **told,
                    cells=_cells(empty),
                )
            )
        if small:
            found.append(say("the public table %(table)s has %(cells)s of 1 or 2", **told, cells=_cells(small)))
    if len(public) > 1:
        bounds = bounds_of(spec, values)
        whole = any(fact.cell is None and bounds is not None and fact.margin == bounds.margin for fact in public)
        found += bounds.warnings if bounds is not None and not whole else ()
    return tuple(found)


def _cells(number: int) -> str:
    return say("a cell") if number == 1 else say("%(number)s cells", number=spoken().localised(f"{number:,}"))
