"""What a release will need of the machine, predicted from its plan alone: memory, and processor time.

The rates were measured on one machine (docs/benchmarks.md); another may be faster or slower by a factor of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from margrave.algebra.cover import passes
from margrave.algebra.domain import Margin
from margrave.algebra.lattice import downward_closure
from margrave.planning.limits import (
    FREEZE_READS,
    HELD_READS,
    RECORD_FREEZES,
    RECORD_KINDS,
    RECORD_SETTLES,
    RECORD_STATES,
    SETTLE_READS,
    STATE_READS,
    is_wide,
    record_simulations,
    sweeps,
)
from margrave.planning.publication.publishing import GRAPHICAL, RECORDS, grounds_for, record_reads

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

_PROGRAM = 160 << 20
"""Bytes of the program itself, with its readers of data."""
_BATCH, _PER_VALUE = 1 << 21, 50
"""Values that are read together at most, and the bytes that each takes on its way to being counted."""
_UNITS = 450 << 20
"""Bytes of bounding units, once there are so many records that they wait on disk."""
_COLUMN, _PASS, _UNIT = 8e-9, 2.6e-9, 4e-7
"""Seconds for each record: of reading a column, of counting into a table, of bounding units."""
_WRITTEN, _WRITING = 18, 2e-7
"""Bytes and seconds of a value of the microdata while it is written: five million records of four attributes took 350
MiB and 3.6 s, of eight 670 MiB and 7.2 s.
"""
_NUMBER = 8
_PER_MARGIN = 1400
"""Bytes that a measurement and its answer take beside their numbers."""
_COPIES = 25
"""Arrays of the size of the full table that are held together while it is made non-negative."""
_WIDE_COPIES = 120
"""Arrays of the size of the largest wide table that are held together while it is fitted and written."""
_COMPILER = 140 << 20
"""Bytes of the compiler of the loops that fit records."""
_RECORD_COPIES = 18
"""Arrays of the size of all fitted tables that are held together while records are fitted."""
_TEMPERATURES = 5
"""How many temperatures a fit of records tries, about."""
_ROUGHER = 4
"""How many times as fast a model is fitted between rounds as for what is published."""
_SWEEP, _READ, _VALUE, _KIND = 1.5e-3, 0.5e-9, 7e-9, 2e-9
"""Seconds of a sweep, and in it of reading a number, of weighing a value of a record, and a kind for one of them."""


def memory(plan: Plan) -> int:
    """The bytes of a release at its peak: the program, exact counts and noisy numbers, then the full table."""
    numbers = sum(measurement.query.outputs(plan.domain) for measurement in plan.measurements)
    # Exact counts stand beside the larger tables that they are summed from.
    domain, covering = plan.spec.domain, plan.covering
    counted = sum(map(domain.cells, {*covering, *map(plan.counted_margin, plan.counted)}))
    measuring = _NUMBER * counted + _PER_VALUE * min(_BATCH, len(columns_read(plan)) << 16)
    if _bounds_units(plan):
        measuring += _UNITS
    wide = [plan.domain.cells(margin) for margin in _margins(plan) if _is_wide(plan, margin)]
    widest = max(map(len, plan.spec.margins))
    below = downward_closure(margin for margin in _margins(plan) if not _is_wide(plan, margin))
    kept = sum(plan.domain.cells(margin) for margin in below if len(margin) < widest)
    kept += sum(wide) + _WIDE_COPIES * max(wide, default=0)
    rebuilding = _NUMBER * (numbers + kept + _COPIES * plan.publishing.cells)
    if plan.publishing.records:
        rebuilding += _COMPILER + _NUMBER * _RECORD_COPIES * sum(map(plan.domain.cells, below))
    return _PROGRAM + _PER_MARGIN * len(plan.measurements) + max(measuring, rebuilding)


def seconds(plan: Plan) -> float:
    """Processor time of a release once the data is counted, without writing it to files or fitting records."""
    numbers = sum(measurement.query.outputs(plan.domain) for measurement in plan.measurements)
    cells = sum(map(plan.spec.domain.cells, plan.spec.margins))
    tables = len(plan.spec.margins) + len(plan.measurements)
    once = 35e-9 * numbers + 60e-9 * cells + 110e-6 * tables
    how = plan.publishing
    if how.method == GRAPHICAL:
        return once + how.seconds * (1 + len(plan.rounds) / _ROUGHER)
    again = how.simulations * (once + how.choice.again(grounds_for(plan))) if how.simulations else 0.0
    return once + how.seconds + again


def reading_seconds(plan: Plan, records: int) -> float:
    """Processor time of reading so many records from Parquet, and of counting them."""
    each = _COLUMN * len(columns_read(plan)) + _PASS * passes(plan.spec.domain, plan.covering)
    return records * (each + (_UNIT if _bounds_units(plan) else 0))


def writing(plan: Plan, records: int) -> tuple[int, float]:
    """Bytes and processor time that writing so many records of microdata takes, beside all else."""
    values = records * len({name for margin in plan.spec.margins for name in margin})
    return _WRITTEN * values, _WRITING * values


def record_seconds(plan: Plan, records: int, *, simulated: bool = True) -> float:
    """Processor time of fitting so many records and, unless that is left out, of simulating error bars, if they are."""
    reads = records * record_reads(plan.spec)
    settle, tried = sweeps(RECORD_SETTLES, SETTLE_READS, reads), sweeps(RECORD_STATES, STATE_READS, reads)
    # The last sweeps end early more often than not.
    freeze = sweeps(RECORD_FREEZES, FREEZE_READS, reads) // 2
    held = settle + sweeps(RECORD_STATES, HELD_READS, reads) + freeze
    # The temperature is looked for with two sets of records side by side.
    times = record_simulations(reads) if simulated and plan.publishing.method == RECORDS else 0
    made = 2 * _TEMPERATURES * (settle + tried) + held + times * (3 * settle + held)
    sizes = [plan.spec.domain[name].size for name in {name for margin in plan.spec.margins for name in margin}]
    return 4.0 + made * (_SWEEP + _READ * reads + records * (_VALUE * sum(sizes) + _KIND * RECORD_KINDS * len(sizes)))


def _margins(plan: Plan) -> list[Margin]:
    """The wanted tables as they are measured."""
    return [plan.measured_margin(margin) for margin in plan.spec.margins]


def _is_wide(plan: Plan, margin: Margin) -> bool:
    """Whether a table is rebuilt as a whole, without its residuals one by one."""
    return is_wide(plan.domain.shape(margin))


def columns_read(plan: Plan) -> set[str]:
    """The columns that are read."""
    return {name for table in plan.covering for name in table} | {*plan.read_only}


def _bounds_units(plan: Plan) -> bool:
    return plan.spec.data is not None and plan.spec.data.unit is not None
