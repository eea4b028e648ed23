"""Counting inside a database: one GROUP BY for each table, of which only the groups travel.

Groups are recoded as records are, by the same code, so what is counted is the same to the last record. Numbers or days
of one bin come as one group: the database gives an edge of the bin for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa

from margrave.algebra.arrays import Integers
from margrave.algebra.cover import BLOCK_ROWS
from margrave.algebra.domain import Margin
from margrave.algebra.sparse import SparseTable
from margrave.measure.engines.here import Tally, count_here
from margrave.measure.engines.registry import Counted, Counting, CountingEngine, register
from margrave.measure.engines.sparse import SparseTally
from margrave.measure.failures import Failures, guarded
from margrave.measure.records import Coded, blocks, read
from margrave.measure.sources.databases.common import Database, DatabaseField, Run
from margrave.measure.sources.registry import Source, check_columns
from margrave.progress import Progress
from margrave.spec.codebook import Bins, CodebookEntry

COUNT = "number of records"


def count_inside(source: Source, wanted: Counting, progress: Progress | None = None) -> Counted:
    """Groups of each table, all of one snapshot. Where records do not fit, they are read once more to say how many."""
    assert isinstance(source, Database)
    check_columns(source, wanted.names)
    failures = Failures()
    with ExitStack() as stack:
        run = guarded(lambda: stack.enter_context(source.connect()), source.trouble)

        def groups(margin: Margin) -> Iterator[Coded]:
            columns = [(source.fields[name], wanted.codebook[name]) for name in margin]
            found = GroupedRows(source, run, tuple(columns), _unused(margin))
            records = read(found, wanted.codebook, margin, failures, count_column=found.count)
            return blocks(records, BLOCK_ROWS)

        counted = _counted(wanted, groups, progress)
    return count_here(source, wanted, progress) if failures else counted


def _counted(wanted: Counting, groups: Callable[[Margin], Iterator[Coded]], progress: Progress | None) -> Counted:
    domain = wanted.codebook.domain
    asked = (*wanted.tables, *wanted.sparse, *_rest(wanted))
    tables: dict[Margin, Integers] = {}
    sparse: dict[Margin, SparseTable] = {}
    for done, margin in enumerate(asked):
        if progress:
            progress(done, len(asked))
        thin = SparseTally(domain, [margin] if margin in wanted.sparse else [])
        with Tally(domain, [margin] if margin in wanted.tables else []) as tally:
            for block in groups(margin):
                tally.add(block)
                thin.add(block)
                if margin == wanted.patterns.names:
                    wanted.patterns.look(block)
            tables |= tally.tables()
            sparse |= thin.margins([margin] if margin in wanted.sparse else [])
    return Counted(tables, sparse)


def _rest(wanted: Counting) -> list[Margin]:
    """What is grouped only to be looked at: patterns that no table shows, and attributes that no table has."""
    looked = [wanted.patterns.names] if wanted.patterns.names else []
    held = {name for margin in (*wanted.tables, *wanted.sparse, *looked) for name in margin}
    return [*looked, *((name,) for name in wanted.names if name not in held)]


def _unused(margin: Margin) -> str:
    return COUNT + "'" * sum(name.startswith(COUNT) for name in margin)


@dataclass(frozen=True)
class GroupedRows:
    """The groups of a table in a database as a source of records: their values, and in ``count`` how many each has."""

    source: Database = field(repr=False)
    run: Run = field(repr=False)
    grouped: tuple[tuple[DatabaseField, CodebookEntry], ...] = field(repr=False)
    count: str
    total: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(entry.name for _, entry in self.grouped), self.count)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The batches of all columns, whichever are asked for."""
        chosen = [f"{representative(one, entry)} AS {one.name}" for one, entry in self.grouped]
        groups = f" GROUP BY {', '.join(str(place + 1) for place in range(len(chosen)))}" if chosen else ""
        query = f"SELECT {', '.join([*chosen, 'COUNT(*)'])} FROM {self.source.table}{groups}"
        for batch in self.source.answers(self.run, query):
            yield pa.RecordBatch.from_arrays(batch.columns, names=list(self.columns))


def representative(one: DatabaseField, entry: CodebookEntry) -> str:
    """In SQL: an edge of the bin that a number or day is in, exactly as recoding has it; all else as it is."""
    rule = entry.rule
    if not isinstance(rule, Bins):
        return one.compared
    edges: Sequence[Any] = rule.edges
    whole = pa.types.is_integer(one.arrow)
    days = isinstance(edges[0], date)
    fits = pa.types.is_date32(one.arrow) if days else whole or one.exact
    if not fits:
        return one.compared
    lows = [math.ceil(edge) if whole else edge for edge in edges]
    highs = [math.floor(edge) if whole else edge for edge in edges]
    if rule.closed == "left":
        inner = [(f"{one.name} < {_literal(high)}", low) for low, high in pairwise(lows)]
    else:
        inner = [(f"{one.name} <= {_literal(high)}", high) for high in highs[1:]]
    outside = f"{one.name} IS NULL OR {one.name} < {_literal(lows[0])} OR {one.name} > {_literal(highs[-1])}"
    cases = " ".join(f"WHEN {test} THEN {_written(edge, one)}" for test, edge in inner[:-1])
    return f"CASE WHEN {outside} THEN {one.expression} {cases} ELSE {_written(inner[-1][1], one)} END"


def _literal(edge: Any) -> str:
    return f"DATE '{edge:%Y-%m-%d}'" if isinstance(edge, date) else f"{Decimal(edge):f}"


def _written(edge: Any, one: DatabaseField) -> str:
    """An edge as the column is read: numbers of any precision are text."""
    return f"'{_literal(edge)}'" if one.numeric else _literal(edge)


def _refusal(source: Source, wanted: Counting) -> str | None:
    if not isinstance(source, Database):
        return "the data is no table of a database"
    if wanted.units.unit_column is not None:
        return "which records of a unit are counted is decided record by record"
    if wanted.units.count_column is not None:
        return "tabulated data is small already"
    return None


def _cheaper(source: Source, wanted: Counting) -> bool:
    assert isinstance(source, Database)
    asked = (*wanted.tables, *wanted.sparse, *_rest(wanted))
    exact = sum(source.fields[name].exact for name in wanted.names if name in source.fields)
    return source.costs.inside(asked) < source.costs.reading(len(wanted.names), exact)


register(CountingEngine("sql", _refusal, _cheaper, count_inside))
