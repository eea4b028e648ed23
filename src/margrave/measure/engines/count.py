"""Exact counts of any set of margins, in one pass over the data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.algebra.cover import BLOCK_ROWS, MAX_CELLS, check_cells, cover
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.sparse import SparseTable
from margrave.errors import UsageError
from margrave.measure.engines.kernel import Kernel
from margrave.measure.engines.sparse import SparseTally, check_numbers
from margrave.measure.engines.spill import remove_orphans
from margrave.measure.failures import Failures
from margrave.measure.impossible import Pattern, Patterns
from margrave.measure.records import Coded, blocks, checked_total, exact_amount, read
from margrave.measure.sources.sources import Source
from margrave.measure.units import bound_units
from margrave.progress import Progress
from margrave.spec.codebook import Codebook

DENSE_CELLS = 1 << 24
"""Exact tables of more cells than this are counted by hashing, for the occupied cells alone."""


class Counts(dict[Margin, Integers]):
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
    checked: Margin = (),
    progress: Progress | None = None,
    max_cells: int = MAX_CELLS,
) -> Counts:
    """The exact counts of the margins, in one streaming pass whose memory does not depend on the number of records.

    ``count_column`` says how many records each row of tabulated data stands for. With ``unit_column`` at most
    ``max_records`` records of each unit are counted; what does not fit in memory then waits in a private temporary
    folder. Records that fit no declared value, or an ``impossible`` pattern, make one DataError at the end of the pass;
    ``checked`` are attributes that must fit though none of the margins has them.
    """
    wanted = tuple(dict.fromkeys(codebook.domain.margin(margin) for margin in margins))
    units = Units(count_column, unit_column, max_records)
    patterns = Patterns(codebook.domain, impossible)
    check_cells(codebook.domain, tuple(dict.fromkeys([*wanted, *patterns.margins])), max_cells)
    counts, _ = _count(source, codebook, wanted, (), units, patterns, progress, checked)
    return Counts((margin, counts[margin]) for margin in wanted)


def count_tables(
    source: Source,
    codebook: Codebook,
    margins: Iterable[Margin],
    *,
    count_column: str | None = None,
    unit_column: str | None = None,
    max_records: int | None = None,
    impossible: Sequence[Pattern] = (),
    progress: Progress | None = None,
    dense_cells: int = DENSE_CELLS,
) -> tuple[Counts, dict[Margin, SparseTable]]:
    """As :func:`count_margins`, but of margins above ``dense_cells`` only the occupied cells, found by hashing.

    These may have up to 2**63 cells each: their memory grows with the records and not with the cells.
    """
    wanted = tuple(dict.fromkeys(codebook.domain.margin(margin) for margin in margins))
    dense = [margin for margin in wanted if codebook.domain.cells(margin) <= dense_cells]
    sparse = [margin for margin in wanted if codebook.domain.cells(margin) > dense_cells]
    units = Units(count_column, unit_column, max_records)
    patterns = Patterns(codebook.domain, impossible)
    check_cells(codebook.domain, tuple(dict.fromkeys([*dense, *patterns.margins])))
    check_numbers(codebook.domain, sparse)
    counts, occupied = _count(source, codebook, dense, sparse, units, patterns, progress)
    return Counts((margin, counts[margin]) for margin in dense), occupied


@dataclass(frozen=True)
class Units:
    """How rows stand for records: ``count_column`` of tabulated data, or ``unit_column`` with ``max_records``."""

    count_column: str | None
    unit_column: str | None
    max_records: int | None

    def __post_init__(self) -> None:
        if (self.unit_column is None) != (self.max_records is None):
            raise UsageError("a unit column and max_records go together: give both or neither")
        if self.unit_column is not None and self.count_column is not None:
            raise UsageError("tabulated data has no units: give a count column or a unit column, not both")
        if self.max_records is not None and self.max_records < 1:
            raise UsageError(f"max_records ({self.max_records}) must be at least 1")


def _count(
    source: Source,
    codebook: Codebook,
    dense: Sequence[Margin],
    sparse: Sequence[Margin],
    units: Units,
    patterns: Patterns,
    progress: Progress | None,
    checked: Margin = (),
) -> tuple[dict[Margin, Integers], dict[Margin, SparseTable]]:
    """One pass over the data for all dense and sparse margins and for the patterns."""
    domain = codebook.domain
    needed = tuple(dict.fromkeys([*dense, *patterns.margins]))
    names = domain.margin([*(name for margin in (*needed, *sparse) for name in margin), *patterns.names, *checked])
    failures = Failures()
    remove_orphans()
    batches = read(
        source,
        codebook,
        names,
        failures,
        count_column=units.count_column,
        unit_column=units.unit_column,
        progress=progress,
    )
    if units.max_records is not None:
        batches = bound_units(batches, units.max_records, failures)
    thin = SparseTally(domain, sparse)
    with closing(batches), Tally(domain, cover(domain, needed)) as tally:
        for block in blocks(batches, BLOCK_ROWS):
            if not failures:
                tally.add(block)
                thin.add(block)
                patterns.look(block)
        failures.check()
        counts = tally.margins(needed)
    patterns.check(counts)
    return counts, thin.margins(sparse)


class Tally:
    """The tables of a cover while they are being counted. A context manager, for the threads that count."""

    def __init__(self, domain: Domain, tables: Collection[Margin], threads: int | None = None) -> None:
        self._domain = domain
        self._kernel = Kernel(domain, list(tables), threads)
        self._total = 0

    def __repr__(self) -> str:
        return f"<Tally of {len(self._kernel.counts)} tables>"

    def __enter__(self) -> Tally:
        return self

    def __exit__(self, *_: object) -> None:
        self._kernel.__exit__()

    def add(self, block: Coded) -> None:
        """Counts a block into every table."""
        amount = exact_amount(block)
        self._total = checked_total(self._total + amount)
        self._kernel.add(block, amount)

    def margins(self, wanted: Collection[Margin]) -> dict[Margin, Integers]:
        """Each wanted margin: the counted table itself, or a sum of the smallest counted table above it."""
        self._kernel.finish()
        holders: dict[str, set[Margin]] = {}
        for table in self._kernel.counts:
            for name in table:
                holders.setdefault(name, set()).add(table)
        return {margin: self._sum(margin, holders) for margin in wanted}

    def _sum(self, margin: Margin, holders: Mapping[str, set[Margin]]) -> Integers:
        counts = self._kernel.counts
        if margin in counts:
            return counts[margin].reshape(self._domain.shape(margin))
        above: Collection[Margin] = set.intersection(*(holders[name] for name in margin)) if margin else counts
        table = min(above, key=lambda candidate: (self._domain.cells(candidate), candidate))
        axes = tuple(axis for axis, name in enumerate(table) if name not in margin)
        return np.asarray(counts[table].reshape(self._domain.shape(table)).sum(axis=axes, dtype=np.int64))
