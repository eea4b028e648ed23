"""Whether the tables of a plan can be published, found out before anything is spent. Needs no data."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from margrave.facts.declared import facts_of, given_cells, given_table, is_given, loose_cells
from margrave.planning.publication.publishing import unkept
from margrave.spec.spec import Spec, possible_mask

if TYPE_CHECKING:
    from margrave.planning.plan import Plan


def publishable(plan: Plan) -> str | None:
    """Why the plan's tables are published as they are, unbiased; None where they are made non-negative and whole.

    Needs no data. What cannot be done is refused here, before anything is spent.
    """
    check_given(plan.spec)
    plan.publishing.check()
    if plan.publishing.records:
        from margrave.reconstruct.records.possible import check_records

        check_records(plan)
    return plan.publishing.why_not


@lru_cache(maxsize=4)
def check_given(spec: Spec) -> None:
    """Refuse given facts that no table of counts has, as far as that can be found out. Opens no data."""
    if not is_given(spec):
        return
    facts = facts_of(spec)
    cells = given_cells(spec)
    loose = loose_cells(facts)
    if unkept(spec.domain, facts.whole, tuple(margin for margin, _ in loose)):
        return
    from margrave.reconstruct.exact import ExactCounts, check_feasible

    names = spec.domain.margin({name for margin in (*facts.whole, *(margin for margin, _ in loose)) for name in margin})
    known = ExactCounts(
        spec.domain.restrict(names),
        {margin: given_table(spec, margin) for margin in facts.whole},
        {cell: cells[cell] for cell in loose},
    )
    check_feasible(known, possible_mask(spec, names))
