"""Counting on this machine: batches are recoded and counted as they come, on every core."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import closing

from margrave.algebra.arrays import Integers
from margrave.algebra.cover import BLOCK_ROWS
from margrave.algebra.domain import Domain, Margin
from margrave.measure.engines.kernel import Kernel
from margrave.measure.engines.registry import Counted, Counting, CountingEngine, register
from margrave.measure.engines.sparse import SparseTally
from margrave.measure.engines.spill import remove_orphans
from margrave.measure.failures import Failures
from margrave.measure.records import Coded, blocks, checked_total, exact_amount, read
from margrave.measure.sources.registry import Source
from margrave.measure.units import bound_units
from margrave.progress import Progress


def count_here(source: Source, wanted: Counting, progress: Progress | None = None) -> Counted:
    """One streaming pass, whose memory does not depend on the number of records.

    Where records of a unit are bounded, what does not fit in memory waits in a private temporary folder.
    """
    units = wanted.units
    failures = Failures()
    remove_orphans()
    batches = read(
        source,
        wanted.codebook,
        wanted.names,
        failures,
        count_column=units.count_column,
        unit_column=units.unit_column,
        progress=progress,
    )
    if units.max_records is not None:
        batches = bound_units(batches, units.max_records, failures)
    with closing(batches):
        counted, _ = tallied(batches, wanted, failures)
    failures.check()
    return counted


def tallied(
    batches: Iterable[Coded], wanted: Counting, failures: Failures, threads: int | None = None
) -> tuple[Counted, int]:
    """The tables of all records, and how many these are; as soon as one does not fit, the rest is only looked at."""
    domain = wanted.codebook.domain
    thin = SparseTally(domain, wanted.sparse)
    with Tally(domain, wanted.tables, threads) as tally:
        for block in blocks(batches, BLOCK_ROWS):
            if not failures:
                tally.add(block)
                thin.add(block)
                wanted.patterns.look(block)
        return Counted(tally.tables(), thin.margins(wanted.sparse)), tally.total


class Tally:
    """The tables of a cover while they are being counted. A context manager, for the threads that count."""

    def __init__(self, domain: Domain, tables: Collection[Margin], threads: int | None = None) -> None:
        self._domain = domain
        self._kernel = Kernel(domain, list(tables), threads)
        self.total = 0

    def __repr__(self) -> str:
        return f"<Tally into {self._kernel!r}>"

    def __enter__(self) -> Tally:
        return self

    def __exit__(self, *_: object) -> None:
        self._kernel.__exit__()

    def add(self, block: Coded) -> None:
        """Counts a block into every table."""
        amount = exact_amount(block)
        self.total = checked_total(self.total + amount)
        self._kernel.add(block, amount)

    def tables(self) -> dict[Margin, Integers]:
        """Each table, when every block is counted."""
        return {table: counts.reshape(self._domain.shape(table)) for table, counts in self._kernel.counts().items()}


register(CountingEngine("local", lambda *_: None, lambda *_: True, count_here, general=True))
