"""What is published of a plan that selected its tables: records of the graphical model of all its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from margrave.algebra.arrays import Codes, Counts
from margrave.algebra.domain import Domain, Margin
from margrave.errors import RefusedError
from margrave.planning.publication.publishing import GRAPHICAL
from margrave.reconstruct.graphical.model import GraphicalModel
from margrave.reconstruct.graphical.rows import records_of
from margrave.reconstruct.graphical.selected import model_of
from margrave.reconstruct.held import Records
from margrave.reconstruct.publication import Published
from margrave.reconstruct.unbiased import Fit

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

NARROW = "error bars of tables that were not selected leave out how far the model is from the truth"
_AGAIN = 1e-6
"""How exactly models are fitted that only tell how far errors go."""


@dataclass(frozen=True, eq=False)
class _Expected:
    """The expected counts of a model, for simulations: the records of it would be within rounding of these."""

    model: GraphicalModel

    def margin(self, margin: Margin) -> Counts:
        return self.model.margin(margin)

    def full(self) -> Counts:
        return self.model.margin(self.model.domain.names)

    def records(self) -> Codes:
        raise RefusedError("expected counts have no records")

    def content(self) -> bytes:
        return b"".join(table.tobytes() for table in self.model.calibrated.counts)


def publish_model(plan: Plan, fit: Fit, domain: Domain, like: Published | None) -> Published:
    """The records of the model; where error bars are simulated, ``like`` what is published, its expected counts."""
    if like is not None:
        model = model_of(fit, domain, plan.selected, tolerance=_AGAIN)
        return Published(domain, _Expected(model), GRAPHICAL, "controlled", {})
    model = model_of(fit, domain, plan.selected)
    wanted = [margin for margin in plan.spec.margins if margin]
    codes = records_of(model, round(model.total), wanted)
    tables = len(dict.fromkeys(plan.selected))
    note = f"{len(codes)} records of a graphical model of {tables} selected tables, {model.tree.cells} cells in all"
    return Published(domain, Records(domain, codes), GRAPHICAL, "controlled", {}, (note, NARROW))
