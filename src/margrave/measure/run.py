"""Measuring: exact counts, then noise, then nothing but noisy whole numbers leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Margin
from margrave.algebra.query import answer
from margrave.crossing import Answer, ExactTables, Measured
from margrave.errors import DataError, RefusedError
from margrave.facts.declared import given_total, is_given
from margrave.measure.engines.count import count_margins, count_tables
from margrave.measure.looking import look
from margrave.measure.sources.files.commas import as_written, number_columns
from margrave.measure.sources.sources import Source, open_source
from margrave.measure.swallowed import warn_of_swallowed
from margrave.noise import Generator, sample_many
from margrave.planning.limits import COUNTED_RECORDS
from margrave.planning.plan import Plan
from margrave.planning.protected import given_facts
from margrave.progress import Progress
from margrave.spec.choices import AUTO
from margrave.spec.spec import Spec


def count(spec: Spec, data: Any, margins: Iterable[Margin], progress: Progress | None = None) -> ExactTables:
    """Exact tables, in one pass; of very large ones the occupied cells. Not private."""
    dense, sparse = count_tables(_opened(spec, data), spec.codebook, margins, **_options(spec), progress=progress)
    return ExactTables(spec.domain, dense, sparse)


def _opened(spec: Spec, data: Any) -> Source:
    """The source, read as the spec says that it is written."""
    numbers = [*number_columns(spec.codebook), *([] if spec.counted is None else [spec.counted])]
    return as_written(open_source(data, dialect=spec.dialect), spec.dialect, numbers)


def _options(spec: Spec) -> dict[str, Any]:
    """How the rows of the data stand for records, and which of these cannot be."""
    section = spec.data
    unit = None if section is None else section.unit
    return {
        "count_column": None if section is None else section.count,
        "unit_column": None if unit is None else unit.column,
        "max_records": None if unit is None else unit.max_records,
        "impossible": spec.structural_zeros,
        "engine": AUTO if section is None else section.engine,
    }


def measure(plan: Plan, data: Any, generator: Generator, progress: Progress | None = None) -> Measured:
    """Ask every query of the plan once, and add its noise."""
    sources = {margin: plan.counted_margin(margin) for margin in plan.counted}
    # Facts whose values the spec gives are not compared with the data: nothing that is published depends on it. Only
    # where their total lowers the price, more records than that are refused; and a total beside tables that are read
    # must be theirs, which tells nothing that these do not.
    declared = () if is_given(plan.spec) else (*plan.exact, *(margin for margin, _ in plan.cells))
    wanted = dict.fromkeys(sources.values())
    # Every cell gets its noise, so every cell is counted, occupied or not.
    tables = dict(
        count_margins(
            _opened(plan.spec, data),
            plan.spec.codebook,
            wanted,
            **_options(plan.spec),
            checked=plan.read_only,
            progress=progress,
        )
    )
    _check_counts(plan, tables)

    def exact(margin: Margin) -> NDArray[np.int64]:
        return plan.encoding.counts(margin, tables[sources[margin]])

    left = Counter(sources[one.query.margin] for one in plan.measurements)
    left.update(sources[margin] for margin in (*declared, *plan.looked))
    requests = [(one.noise, one.query.outputs(plan.domain)) for one in plan.measurements]
    answers: dict[int, Answer] = {}
    for number, noise in sample_many(requests, generator):
        measurement = plan.measurements[number]
        truth = answer(plan.domain, measurement.query, exact(measurement.query.margin))
        answers[number] = Answer(measurement, truth + noise.reshape(truth.shape))
        source = sources[measurement.query.margin]
        left[source] -= 1
        if not left[source]:
            del tables[source]  # Exact counts are forgotten as soon as nothing asks for them.
    ordered = tuple(answers[number] for number in range(len(requests)))
    if declared:
        known = {margin: exact(margin) for margin in plan.exact}
        cells = {(margin, codes): int(exact(margin)[codes]) for margin, codes in plan.cells}
    else:
        known, cells = given_facts(plan)
    if plan.rounds:
        ordered = look(plan, exact, ordered, known, generator, progress)
    return Measured(ordered, known, generator.private, cells)


def _check_counts(plan: Plan, tables: Mapping[Margin, NDArray[np.int64]]) -> None:
    """What is wrong with all records together; more than the price of the facts counts on is, too."""
    records = max(int(counts.sum()) for counts in tables.values())
    if records > COUNTED_RECORDS:
        raise RefusedError(f"more than {COUNTED_RECORDS} records: the noisy sums could overflow")
    if not records:
        raise DataError("the data has no records: there is nothing to release")
    total = given_total(plan.spec)
    if total is not None and not is_given(plan.spec) and records != total:
        raise DataError(
            "release.public: the given total is not the number of records in the data, from which the other facts are "
            "read: correct its count, or write [] in its place"
        )
    if plan.most_records is not None and records > plan.most_records:
        raise DataError(
            "release.public: the data has more records than the facts give, and the price counts on their number: "
            "correct the facts, or let them be read from the data"
        )
    warn_of_swallowed(plan.spec.codebook, tables)


def available_memory() -> int | None:
    """Bytes that programs may still take, without what the system only keeps as a cache; None where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return None
