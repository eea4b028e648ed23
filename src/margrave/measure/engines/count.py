"""Exact counts of any set of margins, in one pass over the data. Imported here, each engine is known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from margrave.algebra.arrays import Integers
from margrave.algebra.cover import MAX_CELLS, check_cells, cover
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.sparse import SparseTable
from margrave.measure.engines import here as here
from margrave.measure.engines import inside as inside
from margrave.measure.engines.registry import Counting, RowUnits, engine_for
from margrave.measure.engines.sparse import check_numbers
from margrave.measure.impossible import Pattern, Patterns
from margrave.measure.sources.registry import Source
from margrave.measure.spark import jobs as jobs
from margrave.progress import Progress
from margrave.spec.choices import AUTO, Engine
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
    engine: Engine = AUTO,
) -> Counts:
    """The exact counts of the margins, in one streaming pass whose memory does not depend on the number of records.

    ``count_column`` says how many records each row of tabulated data stands for. With ``unit_column`` at most
    ``max_records`` records of each unit are counted; what does not fit in memory then waits in a private temporary
    folder. Records that fit no declared value, or an ``impossible`` pattern, make one DataError at the end of the pass;
    ``checked`` are attributes that must fit though none of the margins has them. ``engine``: who counts.
    """
    wanted = tuple(dict.fromkeys(codebook.domain.margin(margin) for margin in margins))
    units = RowUnits(count_column, unit_column, max_records)
    patterns = Patterns(codebook.domain, impossible)
    check_cells(codebook.domain, tuple(dict.fromkeys([*wanted, *patterns.margins])), max_cells)
    return _count(source, codebook, wanted, (), units, patterns, progress, engine, checked)[0]


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
    engine: Engine = AUTO,
) -> tuple[Counts, dict[Margin, SparseTable]]:
    """As :func:`count_margins`, but of margins above ``dense_cells`` only the occupied cells, found by hashing.

    These may have up to 2**63 cells each: their memory grows with the records and not with the cells.
    """
    wanted = tuple(dict.fromkeys(codebook.domain.margin(margin) for margin in margins))
    dense = tuple(margin for margin in wanted if codebook.domain.cells(margin) <= dense_cells)
    sparse = tuple(margin for margin in wanted if codebook.domain.cells(margin) > dense_cells)
    units = RowUnits(count_column, unit_column, max_records)
    patterns = Patterns(codebook.domain, impossible)
    check_cells(codebook.domain, tuple(dict.fromkeys([*dense, *patterns.margins])))
    check_numbers(codebook.domain, sparse)
    return _count(source, codebook, dense, sparse, units, patterns, progress, engine)


def _count(
    source: Source,
    codebook: Codebook,
    dense: tuple[Margin, ...],
    sparse: tuple[Margin, ...],
    units: RowUnits,
    patterns: Patterns,
    progress: Progress | None,
    engine: Engine,
    checked: Margin = (),
) -> tuple[Counts, dict[Margin, SparseTable]]:
    """What an engine counts in one pass, summed down to the margins, after the patterns are checked."""
    domain = codebook.domain
    needed = tuple(dict.fromkeys([*dense, *patterns.margins]))
    names = domain.margin([*(name for margin in (*needed, *sparse) for name in margin), *patterns.names, *checked])
    wanted = Counting(codebook, cover(domain, needed), sparse, names, units, patterns)
    counted = engine_for(source, wanted, engine).count(source, wanted, progress)
    counts = summed(domain, counted.tables, needed)
    patterns.check(counts)
    return Counts((margin, counts[margin]) for margin in dense), counted.sparse


def summed(domain: Domain, tables: Mapping[Margin, Integers], wanted: Collection[Margin]) -> dict[Margin, Integers]:
    """Each wanted margin: the counted table itself, or a sum of the smallest counted table above it."""
    holders: dict[str, set[Margin]] = {}
    for table in tables:
        for name in table:
            holders.setdefault(name, set()).add(table)

    def sum_of(margin: Margin) -> Integers:
        if margin in tables:
            return tables[margin]
        above: Collection[Margin] = set.intersection(*(holders[name] for name in margin)) if margin else tables
        table = min(above, key=lambda candidate: (domain.cells(candidate), candidate))
        axes = tuple(axis for axis, name in enumerate(table) if name not in margin)
        return np.asarray(tables[table].sum(axis=axes, dtype=np.int64))

    return {margin: sum_of(margin) for margin in wanted}
