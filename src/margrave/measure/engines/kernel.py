"""The inner loop: a block of records counted into many tables at once, on every core.

Cell numbers are built in the smallest unsigned type, so that a block's codes and cell numbers stay in the cache, and
tables that begin with the same attributes share the work on those. Numpy counts; once so much is counted that loading
numba is worth its time, a compiled loop does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from margrave.algebra.arrays import Integers
from margrave.algebra.cover import passes
from margrave.algebra.domain import Domain, Margin
from margrave.measure.records import Coded

Count = Callable[[Integers, npt.NDArray[Any], "Integers | None", int], None]
"""Adds a block to one table: by the cell of each record, its weight, and the sum of all weights."""

_MOST_THREADS = 8
_WORTH_THREADS = 1 << 21
_WORTH_LOADING = 1 << 27
_EXACT_FLOAT = 1 << 53


class Kernel:
    """Dense tables while they are being counted, shared out among threads that each own theirs: nothing is locked.

    A context manager: leaving it ends the threads. Until :meth:`counts`, one block may still be on its way.
    """

    def __init__(self, domain: Domain, tables: Sequence[Margin], threads: int | None = None) -> None:
        self._counts = {table: np.zeros(domain.cells(table), dtype=np.int64) for table in tables}
        count = _threads() if threads is None else threads
        self._shares = [_Share(domain, share, self._counts) for share in _shares(domain, sorted(self._counts), count)]
        self._counted = 0
        self._pool: ThreadPoolExecutor | None = None
        self._pending: list[Future[None]] = []

    def __repr__(self) -> str:
        return f"<Kernel of {len(self._counts)} tables>"

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def add(self, block: Coded, amount: int) -> None:
        """Counts a block whose weights add up to ``amount`` into every table."""
        self._finish()
        work = block.rows * len(self._counts)
        self._counted += work
        count = _count_by_loop if self._counted >= _WORTH_LOADING else _count_by_numpy
        if len(self._shares) < 2 or work < _WORTH_THREADS:
            for share in self._shares:
                share.add(block, amount, count)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._shares), thread_name_prefix="margrave-count")
        self._pending = [self._pool.submit(share.add, block, amount, count) for share in self._shares]

    def counts(self) -> dict[Margin, Integers]:
        """The counts of each table, when every block is counted."""
        self._finish()
        return self._counts

    def _finish(self) -> None:
        pending, self._pending = self._pending, []
        for future in pending:
            future.result()


def _threads() -> int:
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return min(cores, _MOST_THREADS)


def _shares(domain: Domain, tables: Sequence[Margin], threads: int) -> Iterator[Sequence[Margin]]:
    """Runs of neighbouring tables of about equal work."""
    work = np.fromiter(accumulate((passes(domain, [table]) for table in tables), initial=0.0), dtype=float)
    ends = [int(np.abs(work - work[-1] * part / threads).argmin()) for part in range(threads + 1)]
    for start, stop in pairwise(ends):
        if start < stop:
            yield tables[start:stop]


class _Share:
    """The tables of one thread, in sorted order, so that a table's leading attributes are often its neighbour's."""

    def __init__(self, domain: Domain, tables: Sequence[Margin], counts: Mapping[Margin, Integers]) -> None:
        self._sizes = {attribute.name: attribute.size for attribute in domain}
        self._tables = [(table, cell_type(domain.cells(table)), counts[table]) for table in tables]

    def __repr__(self) -> str:
        return f"<_Share of {len(self._tables)} tables>"

    def add(self, block: Coded, amount: int, count: Count) -> None:
        known: list[tuple[Margin, npt.NDArray[Any]]] = []
        codes: dict[tuple[str, np.dtype[Any]], npt.NDArray[Any]] = {}
        for table, wide, counts in self._tables:
            if not table:
                counts += amount
                continue
            while known and (known[-1][1].dtype != wide or known[-1][0] != table[: len(known[-1][0])]):
                known.pop()
            start = len(known[-1][0]) if known else 0
            for place in range(start, len(table)):
                name = table[place]
                if (name, wide) not in codes:
                    codes[name, wide] = block.codes[name].astype(wide, copy=False)
                cells = codes[name, wide]
                if known:
                    cells = np.multiply(known[-1][1], self._sizes[name], dtype=wide)
                    cells += codes[name, wide]
                known.append((table[: place + 1], cells))
            count(counts, known[-1][1], block.weights, amount)


def cell_type(cells: int) -> np.dtype[Any]:
    """The smallest type that numbers the cells and that numpy can count: 16 or 32 bits unsigned, or 64 bits signed."""
    for choice in (np.uint16, np.uint32):
        if cells <= np.iinfo(choice).max:
            return np.dtype(choice)
    return np.dtype(np.int64)


def _count_by_numpy(counts: Integers, cells: npt.NDArray[Any], weights: Integers | None, amount: int) -> None:
    """Adds a block to one table. Float sums of whole numbers are exact as long as they stay below 2**53."""
    if counts.size > 4 * cells.size or amount >= _EXACT_FLOAT:
        np.add.at(counts, cells, 1 if weights is None else weights)
    elif weights is None:
        counts += np.bincount(cells, minlength=counts.size)
    else:
        counts += np.bincount(cells, weights=weights, minlength=counts.size).astype(np.int64)


def _count_by_loop(counts: Integers, cells: npt.NDArray[Any], weights: Integers | None, amount: int) -> None:
    from margrave.measure.engines.loops import count_into

    if weights is None and counts.size <= cells.size < 1 << 32:
        count_into(counts, cells)
    else:
        _count_by_numpy(counts, cells, weights, amount)
