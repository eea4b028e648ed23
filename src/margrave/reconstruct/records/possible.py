"""Whether records can be fitted here, found out before anything is spent. Needs no data, and loads no compiler."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from margrave.errors import RefusedError
from margrave.noise import Generator
from margrave.planning.publication.publishing import used_domain
from margrave.reconstruct.records.start import first_records
from margrave.reconstruct.records.variables import variables
from margrave.reconstruct.records.zeros import zeros

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

_TRIED = 64


def check_records(plan: Plan) -> None:
    """Refuse a plan whose tables will be those of records where none can be found, or the compiler is not there."""
    if not has_compiler():
        raise RefusedError(
            "fitting records needs numba, which is installed with margrave and is not there: pip install numba, or "
            "publish unbiased tables with nonnegative = 'none'"
        )
    found = variables(used_domain(plan), plan.spec.codebook)
    even = [np.full(size, 1 / size) for size in found.sizes()]
    first_records(even, _TRIED, zeros(found, plan.spec.structural_zeros, plan.spec.domain), Generator.seeded(0))


def has_compiler() -> bool:
    """Whether numba is installed, by the list of installed packages: asking for it would load it."""
    try:
        return bool(version("numba"))
    except PackageNotFoundError:
        return False
