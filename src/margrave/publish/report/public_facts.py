"""The public facts of a release: their values, and what these reveal without anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Margin
from margrave.algebra.words import margin_name
from margrave.facts.bounds import CellBounds
from margrave.facts.declared import public_facts
from margrave.facts.facts import KnownCell
from margrave.messages.catalogue import say
from margrave.planning.effect import bounds_of, fact_words, revealed
from margrave.publish.report.html import details, paragraph, section, table

if TYPE_CHECKING:
    from margrave.publish.released import Released

_MOST_ROWS = 250


def fact_values(release: Released) -> dict[Margin | KnownCell, Array | int]:
    """The exact counts of every public fact."""
    plan, found = release.plan, dict[Margin | KnownCell, Array | int]()
    domain, encoding = plan.spec.domain, plan.encoding
    for fact in public_facts(plan.spec):
        if fact.cell is None:
            found[fact.margin] = np.rint(release.unbiased(fact.margin)).astype(np.int64)
            continue
        codes = domain.codes(fact.margin, fact.cell)
        known = encoding.margin(fact.margin), encoding.cell(fact.margin, codes)
        counted = release.measured.cells.get(known)
        if counted is None:
            counted = round(float(release.unbiased(fact.margin)[codes]))
        found[fact.margin, fact.cell] = counted
    return found


def fact_bounds(release: Released) -> CellBounds | None:
    """The least and the largest count that each cell over the facts' attributes can have, given the facts alone."""
    return bounds_of(release.plan.spec, fact_values(release)) if release.plan.spec.public else None


def facts_section(release: Released) -> str:
    """The part of the report about public facts; empty without any."""
    plan = release.plan
    if not plan.spec.public:
        return ""
    said = say(
        "Some counts here are exact, because they are public: no noise was added to them, and nothing protects them. "
        "All tables, and the records, agree with them."
    )
    warnings = [say("Warning: %(what)s.", what=text) for text in revealed(plan.spec, fact_values(release))]
    return section(
        "facts",
        say("What is public already"),
        paragraph(said),
        *map(paragraph, fact_words(plan)),
        *(paragraph(text, "note") for text in warnings),
        _bounds(release),
    )


def _bounds(release: Released) -> str:
    bounds = fact_bounds(release)
    if bounds is None:
        return ""
    domain = release.domain
    rows = []
    for place, (low, high) in enumerate(zip(bounds.low.ravel(), bounds.high.ravel(), strict=True)):
        codes = np.unravel_index(place, domain.shape(bounds.margin)) if bounds.margin else ()
        values = [domain[name].values[int(code)] for name, code in zip(bounds.margin, codes, strict=True)]
        rows.append((*values, str(low), str(high)))
    title = say("What the public facts alone say about %(table)s", table=margin_name(bounds.margin))
    said = say("The first %(some)s of %(all)s cells.", some=_MOST_ROWS, all=len(rows))
    more = paragraph(said, "note") if len(rows) > _MOST_ROWS else ""
    shown = table((*bounds.margin, say("at least"), say("at most")), rows[:_MOST_ROWS], texts=len(bounds.margin))
    return details(title, shown + more)
