"""Whether records can be fitted, found out before anything is spent. Needs neither data nor numba."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.domain import Domain
from margrave.errors import RefusedError
from margrave.noise import Generator
from margrave.planning.limits import LISTED_ATTRIBUTES, RECORD_READS
from margrave.planning.prediction import record_reads
from margrave.reconstruct.records.start import first_records
from margrave.reconstruct.records.variables import variables
from margrave.reconstruct.records.zeros import zeros

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

_TRIED = 64


def no_records(plan: Plan, domain: Domain) -> str | None:
    """Why records of this domain cannot be fitted to the answers of a plan; None where they can."""
    if not plan.encoding.keeps_cells:
        return "records are not fitted to attributes written in binary: use another strategy"
    if any(plan.accuracy.wide(plan.measured_margin(margin)) is not None for margin in plan.spec.margins):
        return f"records are not fitted to tables of more than {LISTED_ATTRIBUTES} attributes, or as large"
    if any(plan.exact) or plan.cells:
        return "fitted records keep no exact counts but the total"
    if plan.spec.rounding == "none":
        return "records are whole numbers: leave out rounding"
    if plan.spec.nonnegative == "auto" and record_reads(plan) > RECORD_READS:
        return "fitting records to so many tables would take long: it is done only if nonnegative = 'records'"
    if not any(plan.spec.margins):
        return "there is no table of any attribute to fit records to"
    try:
        metadata.version("numba")
    except metadata.PackageNotFoundError:
        return "fitting records needs numba: pip install 'margrave[records]'"
    found = variables(domain, plan.spec.codebook)
    even = [np.full(size, 1 / size) for size in found.sizes()]
    try:
        first_records(even, _TRIED, zeros(found, plan.spec.structural_zeros, plan.spec.domain), Generator.seeded(0))
    except RefusedError as error:
        return str(error)
    return None
