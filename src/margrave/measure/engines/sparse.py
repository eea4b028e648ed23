"""Counts of cuboids too large to hold: only the cells that some record is in, found by hashing."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from margrave.algebra.arrays import Integers
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import maximal
from margrave.algebra.sparse import SparseTable
from margrave.errors import RefusedError
from margrave.measure.records import LARGEST, Coded

_MERGE_ROWS = 1 << 20


def numbers(domain: Domain, margin: Margin, codes: dict[str, Integers]) -> Integers:
    """The cell of each record."""
    cells = np.zeros(len(codes[margin[0]]) if margin else 0, dtype=np.int64)
    for name in margin:
        cells = cells * domain[name].size + codes[name]
    return cells


def check_numbers(domain: Domain, margins: Collection[Margin]) -> None:
    """Refuses cuboids whose cells 64 bits cannot number; needs no data."""
    for margin in margins:
        if domain.cells(margin) > LARGEST:
            raise RefusedError(
                f"the table of {len(margin)} attributes has {domain.cells(margin):.3g} cells, more than 64 bits can "
                "number: ask for fewer attributes at once"
            )


class SparseTally:
    """Sparse tables while they are being counted: each block is hashed, and the results are merged now and then.

    Merging waits until as many cells have come in as there are already, so its total work stays linear.
    """

    def __init__(self, domain: Domain, margins: Collection[Margin]) -> None:
        self._domain = domain
        self._runs: dict[Margin, list[tuple[Integers, Integers]]] = {margin: [] for margin in maximal(margins)}
        self._fresh = dict.fromkeys(self._runs, 0)

    def __repr__(self) -> str:
        return f"<SparseTally of {len(self._runs)} tables>"

    def add(self, block: Coded) -> None:
        """Counts a block into every table."""
        for margin, runs in self._runs.items():
            cells = numbers(self._domain, margin, {name: block.codes[name] for name in margin})
            if not margin:
                cells = np.zeros(block.rows, dtype=np.int64)
            runs.append(_grouped(cells, block.weights))
            self._fresh[margin] += len(runs[-1][0])
            if self._fresh[margin] > max(_MERGE_ROWS, len(runs[0][0])):
                self._merge(margin)

    def _merge(self, margin: Margin) -> SparseTable:
        merged = _merged(self._domain, margin, self._runs[margin])
        self._runs[margin][:] = [(merged.cells, merged.counts)]
        self._fresh[margin] = 0
        return merged

    def margins(self, wanted: Collection[Margin]) -> dict[Margin, SparseTable]:
        """Each wanted margin, summed from the counted table above it that has the fewest occupied cells."""
        tables = {margin: self._merge(margin) for margin in self._runs}
        found = {}
        for margin in wanted:
            above = [table for held, table in tables.items() if set(margin) <= set(held)]
            best = min(above, key=lambda table: len(table.cells))
            found[margin] = best if best.margin == margin else _project(best, margin)
        return found


def _project(table: SparseTable, margin: Margin) -> SparseTable:
    """The table of a margin inside another."""
    codes = table.codes()
    cells = numbers(table.domain, margin, {name: codes[:, table.margin.index(name)] for name in margin})
    return _merged(table.domain, margin, [(cells if margin else np.zeros_like(table.counts), table.counts)])


def _grouped(cells: Integers, weights: Integers | None) -> tuple[Integers, Integers]:
    if weights is None:
        found = pc.value_counts(pa.array(cells))
        return np.asarray(found.field("values")), np.asarray(found.field("counts"))
    table = pa.table({"cell": cells, "count": weights}).group_by("cell").aggregate([("count", "sum")])
    return np.asarray(table["cell"]), np.asarray(table["count_sum"])


def _merged(domain: Domain, margin: Margin, runs: list[tuple[Integers, Integers]]) -> SparseTable:
    """All runs as one, cells in increasing order and without zeros."""
    none = np.zeros(0, dtype=np.int64)
    cells, counts = _grouped(
        np.concatenate([none, *(cells for cells, _ in runs)]), np.concatenate([none, *(counts for _, counts in runs)])
    )
    order = np.argsort(cells)
    order = order[counts[order] > 0]
    return SparseTable(domain, margin, cells[order], counts[order])
