"""The engine: jobs of a cluster, of which only sums come back.

No exception of Spark is passed on, since it may quote data. Nothing of the session is changed: no view, no setting.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from warnings import catch_warnings, simplefilter, warn

import numpy as np

from margrave.algebra.sparse import SparseTable
from margrave.errors import DataError, DataWarning
from margrave.measure.engines.registry import Counted, Counting, CountingEngine, register
from margrave.measure.failures import guarded
from margrave.measure.sources.files.commas import Commas
from margrave.measure.sources.registry import Source, check_columns
from margrave.measure.spark.rows import CHUNK, FORM, NOTES, Sums, rows_of
from margrave.measure.spark.sources import SparkFiles, SparkFrame
from margrave.measure.spark.tasks import task
from margrave.measure.spark.worker import TaskWork
from margrave.measure.units import new_key
from margrave.progress import Progress
from margrave.progress import counted as steps

Answer = TypeVar("Answer")

_MOST_TASKS = 1024
"""Partitions beyond this, or beyond eight for each task that runs at a time, are read by one task several together:
each task hands on counts of all tables."""
_PARTS = 4
"""Parts that records are sent in, for each task that receives them."""
_TWICE = 16
"""Of so many tasks one is counted twice, of fewer one as well."""
_TROUBLE = (
    "Spark cannot count the data: a query of its own fails, the cluster is gone, or the tables are larger than its "
    "spark.driver.maxResultSize; its own log has the reason"
)
_VARIES = (
    "the frame of Spark gives other records each time that it is computed, so that a task which is tried again would "
    "count wrongly: save it as a table, and count that"
)
_OPEN = (
    "the cluster keeps exact counts in files while they are added up, and does not encrypt them: set "
    "spark.io.encryption.enabled = true, and spark.network.crypto.enabled = true for what it sends"
)


def count_on_spark(source: Source, wanted: Counting, progress: Progress | None = None) -> Counted:
    """Three steps: a look at the workers, the counting, and a part of it once more."""
    data, numbers = _data(source)
    assert data is not None
    names = [*wanted.names, *(name for name in (wanted.units.count_column, wanted.units.unit_column) if name)]
    columns = list(dict.fromkeys(names))
    check_columns(data, columns)
    cluster = Cluster(_asked(lambda: data.session))
    work = TaskWork(wanted, tuple(columns) or data.columns[:1], numbers, key=new_key(), lot=os.urandom(16))
    done = steps(progress, 3)
    slots = cluster.slots()
    done()
    if isinstance(data, SparkFiles):
        shares = data.files.shares(slots)
        work = replace(work, columns=data.columns, files=(data.files, shares))
        frame = _asked(lambda: cluster.session.range(0, len(shares), 1, len(shares)))
    else:
        tasks = max(_MOST_TASKS, 8 * slots)
        frame = _asked(lambda: data.chosen(columns).coalesce(tasks))
    sums = cluster.counted(frame, work, slots)
    sums.notes.check(columns)
    done()
    if work.files is None:
        cluster.check_again(frame, work, slots, sums)
    done()
    wanted.patterns.found(sums.notes.matches)
    return _tables(sums, wanted)


@dataclass(frozen=True)
class Cluster:
    """A session of Spark, classic or connected."""

    session: Any = field(repr=False)

    def slots(self) -> int:
        """About how many tasks run at a time; on the way, whether workers have the same Margrave, before any data."""
        self._check_encryption()
        numbers = _asked(lambda: self.session.range(1 << 10))
        notes = self._run(_asked(lambda: numbers.mapInArrow(task("look", None), FORM)), 0).notes
        notes.check(())
        return max(1, notes.tasks)

    def _check_encryption(self) -> None:
        """Ask for it, in the way in which Python warns whoever runs the program."""
        on = _asked(lambda: self.session.conf.get("spark.io.encryption.enabled", "false"))
        if str(on).lower() != "true":
            warn(_OPEN, DataWarning, stacklevel=2)

    def counted(self, frame: Any, work: TaskWork, slots: int) -> Sums:
        """The sums of all tasks, added up on the cluster."""
        dense, chunks = len(work.wanted.tables), sum(_chunks(work.wanted))
        receivers = min(4 * slots, int(self._setting("spark.sql.shuffle.partitions", "200")))
        work = replace(work, parts=_PARTS * receivers)

        def planned() -> Any:
            rows = frame.mapInArrow(task("first", work), FORM)
            if work.wanted.units.unit_column is not None:
                rows = rows.repartition(receivers, "table", "chunk").mapInArrow(task("second", work), FORM)
            adders = max(1, min(slots, chunks))
            return rows.repartition(adders, "table", "chunk").mapInArrow(task("sum", dense), FORM)

        return self._run(_asked(planned), dense)

    def check_again(self, frame: Any, work: TaskWork, slots: int, sums: Sums) -> None:
        """Refuse a frame of which some tasks, drawn by lot, find something else when they count again.

        Where only the partitions differ, as they may after a shuffle, all is counted again to know.
        """
        twice = sums.notes.lots[: max(1, sums.notes.tasks // _TWICE)]
        again = replace(work, only=frozenset(number for _, number, _ in twice))
        rows = _asked(lambda: frame.mapInArrow(task("first", again), FORM).where(f"`table` = {NOTES}"))
        found = self._run(rows, len(work.wanted.tables)).notes
        found.check(work.columns)
        if found.lots == sorted(twice):
            return
        other = self.counted(frame, work, slots)
        other.notes.check(work.columns)
        if not _same(_tables(sums, work.wanted), _tables(other, work.wanted)):
            raise DataError(_VARIES)

    def _setting(self, name: str, default: str) -> str:
        return str(_asked(lambda: self.session.conf.get(name, default)))

    def _run(self, rows: Any, dense: int) -> Sums:
        sums = Sums(dense)
        for batch in _asked(rows.toArrow).to_batches():
            for row in rows_of(batch):
                sums.add(row)
        return sums


def _asked(step: Callable[[], Answer]) -> Answer:
    """What Spark answers. Its errors, which may quote data, are not passed on, nor its advice about versions."""
    with catch_warnings():
        simplefilter("ignore", FutureWarning)
        return guarded(step, _TROUBLE)


def _chunks(wanted: Counting) -> Sequence[int]:
    return [-(-wanted.codebook.domain.cells(margin) // CHUNK) for margin in (*wanted.tables, *wanted.sparse)]


def _tables(sums: Sums, wanted: Counting) -> Counted:
    domain = wanted.codebook.domain
    tables = {
        margin: sums.dense(number, domain.cells(margin)).reshape(domain.shape(margin))
        for number, margin in enumerate(wanted.tables)
    }
    sparse = {
        margin: SparseTable(domain, margin, *sums.occupied(number))
        for number, margin in enumerate(wanted.sparse, start=len(wanted.tables))
    }
    return Counted(tables, sparse)


def _same(one: Counted, other: Counted) -> bool:
    dense = all(np.array_equal(counts, other.tables[margin]) for margin, counts in one.tables.items())
    return dense and all(
        np.array_equal(table.cells, other.sparse[margin].cells)
        and np.array_equal(table.counts, other.sparse[margin].counts)
        for margin, table in one.sparse.items()
    )


def _data(source: Source) -> tuple[SparkFrame | SparkFiles | None, frozenset[str]]:
    """The data on a cluster behind a source, and its columns with decimal commas; None for all other sources."""
    plain = source.source if isinstance(source, Commas) else source
    numbers = source.numbers if isinstance(source, Commas) else frozenset()
    return plain if isinstance(plain, SparkFrame | SparkFiles) else None, numbers


def _refusal(source: Source, wanted: Counting) -> str | None:
    return None if _data(source)[0] is not None else "the data is not on Spark"


register(CountingEngine("spark", _refusal, lambda *_: True, count_on_spark))
