"""What a release will need of the machine, predicted from its plan alone: memory, and processor time.

The rates were measured on one machine (docs/benchmarks.md); another may be faster or slower by a factor of two.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from margrave.algebra.lattice import downward_closure

if TYPE_CHECKING:
    from margrave.design.plan import Plan

SECONDS_PER_MILLION = 0.4
"""Processor time of reading and counting a million records of 15 columns from Parquet."""

_PROGRAM = 160 << 20
"""Bytes of the program itself, with its readers of data."""
_NUMBER = 8
_PER_MARGIN = 1400
"""Bytes that a measurement and its answer take beside their numbers."""
_COPIES = 25
"""Arrays of the size of the full table that are held together while it is made non-negative."""
_LARGEST_FULL, _LARGEST_ENTROPY, _LARGEST_CHAIN = 10**7, 1 << 20, 1 << 15
_SMALL, _MEDIUM, _MANY, _FEW = 1 << 12, 1 << 14, 48, 16


def memory(plan: Plan) -> int:
    """The bytes of a release at its peak: the program, exact counts and noisy numbers, then the full table."""
    counted = sum(plan.domain.cells(margin) for margin in plan.counted)
    numbers = sum(measurement.query.outputs(plan.domain) for measurement in plan.measurements)
    # Exact counts stand beside the larger tables that they are summed from, and those take about three times as much.
    measuring = _NUMBER * 4 * counted
    widest = max(map(len, plan.spec.margins))
    below = downward_closure(map(plan.measured_margin, plan.spec.margins))
    kept = sum(plan.domain.cells(margin) for margin in below if len(margin) < widest)
    rebuilding = _NUMBER * (numbers + kept + _COPIES * (full_cells(plan) or 0))
    return _PROGRAM + _PER_MARGIN * len(plan.measurements) + max(measuring, rebuilding)


def seconds(plan: Plan) -> float:
    """Processor time of a release once the data is counted, without writing it to files."""
    numbers = sum(measurement.query.outputs(plan.domain) for measurement in plan.measurements)
    cells = sum(map(plan.spec.domain.cells, plan.spec.margins))
    tables = len(plan.spec.margins) + len(plan.measurements)
    once = 80e-9 * numbers + 130e-9 * cells + 60e-6 * tables
    full = full_cells(plan)
    if full is None:
        return once
    effort, simulations = _fitting(plan, full)
    return (1 + simulations) * (once + effort)


def full_cells(plan: Plan) -> int | None:
    """The size of the full table that is published; None where tables are published unbiased."""
    used = {name for margin in plan.spec.margins for name in margin}
    cells = plan.spec.domain.cells(plan.spec.domain.margin(used))
    exact = any(margin for margin in plan.exact)
    return None if plan.spec.nonnegative == "none" or cells > _LARGEST_FULL or exact else cells


def _fitting(plan: Plan, cells: int) -> tuple[float, int]:
    """Seconds to make the full table non-negative and whole once, and how often that is simulated for error bars."""
    method = _method(plan, cells)
    efforts = {
        "log-linear": 0.45,
        "entropy": 0.3 + 65e-6 * cells,
        "sparse": 0.15 + 5.5e-6 * cells * len(plan.spec.margins),
    }
    # Larger tables take more steps for each cell.
    effort = efforts.get(method, 0.01 + (8e-6 if cells <= _MEDIUM else 60e-6) * cells)
    quick = cells <= _SMALL and method != "log-linear"
    return effort, _MANY if quick else _FEW if cells <= _MEDIUM else 0


def _method(plan: Plan, cells: int) -> str:
    """The method of the spec, or the one that ``auto`` comes to, as far as the plan tells."""
    if plan.spec.nonnegative != "auto":
        return plan.spec.nonnegative
    margins = [measurement.query.margin for measurement in plan.measurements]
    domain = plan.spec.domain
    used = set(plan.measured_margin(domain.margin({name for margin in plan.spec.margins for name in margin})))
    if any(used <= set(margin) for margin in margins):
        return "sparse"
    rows = sum(prod(size - 1 for size in plan.domain.shape(margin)) for margin in downward_closure(margins))
    if rows * cells <= _LARGEST_CHAIN:
        return "log-linear"
    return "entropy" if cells <= _LARGEST_ENTROPY else "least-squares"
