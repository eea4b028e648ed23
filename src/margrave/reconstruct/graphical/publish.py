"""What is published of a plan that selected its tables: records of the graphical model of all its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from margrave.algebra.domain import Domain
from margrave.planning.publication.publishing import GRAPHICAL
from margrave.reconstruct.graphical.rows import records_of
from margrave.reconstruct.graphical.selected import model_of
from margrave.reconstruct.held import Records
from margrave.reconstruct.publication import Published
from margrave.reconstruct.unbiased import Fit

if TYPE_CHECKING:
    from margrave.planning.plan import Plan


def publish_model(plan: Plan, fit: Fit, domain: Domain) -> Published:
    """The records of the model."""
    model = model_of(fit, domain, plan.selected)
    wanted = [margin for margin in plan.spec.margins if margin]
    codes = records_of(model, round(model.total), wanted)
    tables = len(dict.fromkeys(plan.selected))
    note = f"{len(codes)} records of a graphical model of {tables} selected tables, {model.tree.cells} cells in all"
    return Published(domain, Records(domain, codes), GRAPHICAL, "controlled", {}, (note,))
