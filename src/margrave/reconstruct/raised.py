"""Simple non-negativity without a full table: every wanted table from its coefficients, the total raised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.domain import Domain
from margrave.algebra.lattice import maximal
from margrave.planning.publication.raises import TABLE, table_raise
from margrave.reconstruct.held import Margins
from margrave.reconstruct.unbiased import Fit

if TYPE_CHECKING:
    from margrave.planning.plan import Plan


def raised_margins(plan: Plan, fit: Fit, domain: Domain) -> tuple[Margins, tuple[str, ...]]:
    """The wanted tables that follow from no other, raised by the method of the plan; and what is to say of it.

    A raise of R adds R / cells to each cell of a table. Where the raise for a full table falls short of the wanted
    tables, it is theirs that is taken: none of them is ever negative.
    """
    tables = {margin: fit.margin(plan.measured_margin(margin)) for margin in maximal(plan.spec.margins)}
    least = max(0.0, *(-float(counts.min()) * counts.size for counts in tables.values()))
    enough = (table_raise(plan) or 0.0) if plan.publishing.method == TABLE else 0.0
    growth = max(least, enough)
    held = Margins(
        domain, {margin: np.maximum(counts + growth / counts.size, 0.0) for margin, counts in tables.items()}
    )
    notes = [f"total raised by {growth:.6g}"]
    if enough:
        notes.append("a non-negative full table with these coefficients exists with probability 95 %")
        notes.append(f"the wanted tables alone needed {least:.6g}")
    else:
        notes.append("the wanted tables are non-negative; a non-negative full table with them need not exist")
    return held, tuple(notes)
