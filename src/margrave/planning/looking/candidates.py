"""Which tables a plan that looks at the data may choose between, and how much each of them matters. Public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.algebra.query import Query
from margrave.planning.limits import MODEL_CELLS
from margrave.planning.strategies.demand import residual_query

_STEPS = 16
"""Weights of tables are whole numbers up to this."""


@dataclass(frozen=True)
class Selectable:
    """The tables, and the whole number by which the loss of each is multiplied."""

    margins: tuple[Margin, ...]
    weights: tuple[int, ...]

    @property
    def weight(self) -> int:
        """The largest weight: how far one record can move a loss."""
        return max(self.weights)


def candidates_of(domain: Domain, wanted: Mapping[Margin, float]) -> Selectable:
    """Every pair of attributes of a wanted table that a model can hold.

    Larger tables have so many cells that their noise drowns the model (docs/adaptive.md). A pair counts for as many
    wanted tables as it shares attributes with, each with its weight and for each attribute.
    """
    room = MODEL_CELLS - sum(domain[name].size for name in {name for table in wanted for name in table})
    found = [one for one in downward_closure(wanted) if len(one) == 2 and domain.cells(one) <= room]
    shared = [sum(weight * len({*one} & {*table}) for table, weight in wanted.items()) for one in found]
    most = max(shared, default=1.0)
    if min(shared, default=most) > most * (1 - 1e-9):
        return Selectable(tuple(found), (1,) * len(found))
    return Selectable(tuple(found), tuple(max(1, round(_STEPS * one / most)) for one in shared))


def dividing(domain: Domain, offered: Selectable) -> tuple[Query, ...]:
    """What can get parts of the rest of a budget: the residuals of single attributes and of all candidates."""
    return tuple(residual_query(domain, one) for one in downward_closure(offered.margins) if one)
