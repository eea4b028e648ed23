"""Exact counts of any set of margins, in one pass over the data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from margrave.algebra.domain import Domain, Margin
from margrave.design.codebook import Codebook
from margrave.errors import DataError, UsageError
from margrave.measure.cover import MAX_CELLS, Cover, check_cells, cover
from margrave.measure.failures import Failures
from margrave.measure.impossible import Pattern, Patterns
from margrave.measure.records import LARGEST, Coded, Progress, read
from margrave.measure.sources import Source
from margrave.measure.units import bound_units

Array = npt.NDArray[np.int64]

_EXACT_FLOAT = 1 << 53


class Counts(dict[Margin, Array]):
    """Exact 64-bit counts by margin, one axis for each attribute. Shows no count unless asked for one."""

    def __repr__(self) -> str:
        return f"<Counts of {len(self)} margins>"


def count_margins(
    source: Source,
    codebook: Codebook,
    margins: Iterable[Margin],
    *,
    count_column: str | None = None,
    unit_column: str | None = None,
    max_records: int | None = None,
    impossible: Sequence[Pattern] = (),
    progress: Progress | None = None,
    max_cells: int = MAX_CELLS,
) -> Counts:
    """The exact counts of the margins, in one streaming pass whose memory does not depend on the number of records.

    ``count_column`` says how many records each row of tabulated data stands for. With ``unit_column`` at most
    ``max_records`` records of each unit are counted, and memory grows with the records. Records that fit no declared
    value, or an ``impossible`` pattern, make one DataError at the end of the pass.
    """
    _check_units(count_column, unit_column, max_records)
    domain = codebook.domain
    wanted = tuple(dict.fromkeys(domain.margin(margin) for margin in margins))
    patterns = Patterns(domain, impossible)
    needed = tuple(dict.fromkeys([*wanted, *patterns.margins]))
    check_cells(domain, needed, max_cells)
    plan = cover(domain, needed)
    check_cells(domain, plan.tables, max_cells)
    failures = Failures()
    tally = Tally(domain, plan)
    names = domain.margin([*(name for margin in needed for name in margin), *patterns.names])
    batches = read(
        source, codebook, names, failures, count_column=count_column, unit_column=unit_column, progress=progress
    )
    if max_records is not None:
        batches = bound_units(batches, max_records, failures)
    for batch in batches:
        if not failures:
            tally.add(batch)
            patterns.look(batch)
    failures.check()
    counts = tally.margins(needed)
    patterns.check(counts)
    return Counts((margin, counts[margin]) for margin in wanted)


def _check_units(count_column: str | None, unit_column: str | None, max_records: int | None) -> None:
    if (unit_column is None) != (max_records is None):
        raise UsageError("a unit column and max_records go together: give both or neither")
    if unit_column is not None and count_column is not None:
        raise UsageError("tabulated data has no units: give a count column or a unit column, not both")
    if max_records is not None and max_records < 1:
        raise UsageError(f"max_records ({max_records}) must be at least 1")


class Tally:
    """The tables of a cover while they are being counted."""

    def __init__(self, domain: Domain, plan: Cover) -> None:
        self._domain = domain
        self._plan = plan
        self._parts = {table: plan.parts(table) for table in plan.tables}
        self._counts = {table: np.zeros(domain.cells(table), dtype=np.int64) for table in plan.tables}
        self._total = 0

    def __repr__(self) -> str:
        return f"<Tally of {len(self._counts)} tables>"

    def add(self, batch: Coded) -> None:
        """Counts a batch into every table."""
        amount = batch.rows if batch.weights is None else _exact_sum(batch.weights)
        self._total += amount
        if self._total > LARGEST:
            raise DataError(f"the counts add up to more than {LARGEST}: the count column cannot be right")
        cells: dict[Margin, Array] = {}
        for table, parts in self._parts.items():
            counts = self._counts[table]
            if not table:
                counts += amount
                continue
            for part in parts:
                if part not in cells:
                    cells[part] = self._index([(name, batch.codes[name]) for name in part])
            index = cells[parts[0]]
            for part in parts[1:]:
                index = index * self._domain.cells(part) + cells[part]
            _count(counts, index, batch.weights, amount)

    def _index(self, codes: list[tuple[str, npt.NDArray[Any]]]) -> Array:
        """The cell of each record in mixed radix; a table that was not refused has far fewer than 2**63 cells."""
        index = codes[0][1].astype(np.int64)
        for name, code in codes[1:]:
            index = index * self._domain[name].size + code
        return index

    def margins(self, wanted: Collection[Margin]) -> dict[Margin, Array]:
        """Each wanted margin, summed from the smallest counted table above it."""
        holders: dict[str, set[Margin]] = {}
        for table in self._counts:
            for name in table:
                holders.setdefault(name, set()).add(table)
        return {margin: self._sum(margin, holders) for margin in wanted}

    def _sum(self, margin: Margin, holders: Mapping[str, set[Margin]]) -> Array:
        above: Collection[Margin] = self._counts
        if margin:
            above = set.intersection(*(holders[name] for name in margin))
        table = min(above, key=lambda candidate: (self._domain.cells(candidate), candidate))
        axes = tuple(axis for axis, name in enumerate(table) if name not in margin)
        shaped = self._counts[table].reshape(self._domain.shape(table))
        return np.asarray(shaped.sum(axis=axes, dtype=np.int64) if axes else shaped.copy())


def _exact_sum(weights: Array) -> int:
    if weights.size == 0 or int(weights.max()) <= LARGEST // weights.size:
        return int(weights.sum())
    return sum(weights.tolist())


def _count(counts: Array, index: Array, weights: Array | None, amount: int) -> None:
    """Adds a batch to one table. Float sums of whole numbers are exact as long as they stay below 2**53."""
    if counts.size > 4 * index.size or amount >= _EXACT_FLOAT:
        np.add.at(counts, index, 1 if weights is None else weights)
    elif weights is None:
        counts += np.bincount(index, minlength=counts.size)
    else:
        counts += np.bincount(index, weights=weights, minlength=counts.size).astype(np.int64)
