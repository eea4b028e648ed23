"""What tasks hand on, added up in any order and any grouping."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from margrave.algebra.sparse import SparseTable
from margrave.errors import DataError
from margrave.measure.engines.registry import Counted, Counting, RowUnits
from margrave.measure.failures import Failures
from margrave.measure.impossible import Patterns
from margrave.measure.looks import Look
from margrave.measure.records import LARGEST
from margrave.measure.spark import rows
from margrave.measure.spark.notes import Notes
from margrave.measure.spark.rows import Sums, batches, pack, rows_of, unpack, written
from margrave.spec.codebook import Codebook, CodebookEntry, Range

BOOK = Codebook((CodebookEntry("a", Range(0, 19)), CodebookEntry("b", Range(0, 6)), CodebookEntry("c", Range(0, 99))))
DOMAIN = BOOK.domain
WANTED = Counting(
    BOOK, (("a", "b"), ("c",), ()), (("b", "c"),), DOMAIN.names, RowUnits(None, None, None), Patterns(DOMAIN, ())
)


@pytest.mark.parametrize("most", [0, 1, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, LARGEST])
def test_counts_come_back_from_the_smallest_type(most):
    counts = np.array([0, most, most // 2], dtype=np.int64)
    assert unpack(pack(counts)).tolist() == counts.tolist()
    assert len(pack(counts)) == 1 + 3 * next(size for size in (1, 2, 4, 8) if most < 1 << 8 * size)


def task(seed):
    chance = np.random.default_rng(seed)
    tables = {margin: chance.integers(0, 4, DOMAIN.shape(margin)) for margin in WANTED.tables}
    cells = np.flatnonzero(chance.random(700) < 0.3)
    return Counted(tables, {("b", "c"): SparseTable(DOMAIN, ("b", "c"), cells, chance.integers(1, 9, len(cells)))})


def added(given):
    sums = Sums(len(WANTED.tables))
    for batch in batches(given):
        for row in rows_of(batch):
            sums.add(row)
    return sums


def test_rows_are_added_up_in_any_order_and_any_groups(monkeypatch):
    monkeypatch.setattr(rows, "CHUNK", 13)
    found = [task(seed) for seed in range(7)]
    every = [row for one in found for row in written(one, WANTED)]
    random.Random(1).shuffle(every)
    parts = [every[start::3] for start in range(3)]
    sums = added([row for part in parts for row in added(part).rows()])
    for number, margin in enumerate(WANTED.tables):
        whole = sum(one.tables[margin] for one in found)
        assert sums.dense(number, DOMAIN.cells(margin)).tolist() == whole.reshape(-1).tolist()
    cells, counts = sums.occupied(3)
    dense = np.zeros(700, dtype=np.int64)
    for one in found:
        dense[one.sparse["b", "c"].cells] += one.sparse["b", "c"].counts
    assert cells.tolist() == np.flatnonzero(dense).tolist() and counts.tolist() == dense[cells].tolist()


def test_no_row_holds_more_cells_than_a_chunk(monkeypatch):
    monkeypatch.setattr(rows, "CHUNK", 10)
    monkeypatch.setattr(rows, "_BUCKETS", 2)
    every = list(written(task(1), WANTED))
    assert max(len(unpack(content)) for table, _, content in every if table < 3) == 10
    assert max(len(content) // 16 for table, _, content in every if table == 3) == 10
    again = [content for table, _, content in added(every).rows() if table == 3]
    assert max(len(content) // 16 for content in again) == 10


def notes(number):
    failures = Failures()
    failures.saw(10)
    failures.add("column 'b'", "rule", "remedy", number, {Look.TEXT: number})
    failures.add("column 'a'", "rule", "remedy", 1)
    return Notes(
        1, number << 62, failures, [number, 1], ["int64"], [("data", f"{number}")], [(f"{number:x}", number, "same")]
    )


def test_notes_are_added_up_in_any_order_and_stay_small():
    texts = set()
    for order in ([1, 2, 3, 4, 5, 6], [6, 3, 1, 5, 2, 4]):
        whole = Notes()
        for number in order:
            whole.add(Notes.read(notes(number).written()))
        assert whole.tasks == 6 and whole.total == 21 << 62 and whole.matches == [21, 6]
        assert whole.types == ["int64"] and len(whole.errors) == 4
        assert whole.lots == [("1", 1, "same"), ("2", 2, "same"), ("3", 3, "same"), ("4", 4, "same")]
        whole.errors = []
        with pytest.raises(DataError) as caught:
            whole.check(["a", "b"])
        texts.add(str(caught.value))
    (text,) = texts
    assert [line.split("'")[1] for line in text.splitlines()[1:]] == ["a", "b"] and "21 records" in text


def test_what_all_tasks_together_cannot_have_is_refused():
    with pytest.raises(DataError, match="add up to more than"):
        Notes(total=LARGEST + 1).check(())
    with pytest.raises(DataError, match="different types"):
        Notes(types=["int64", "large_binary"]).check(())


def test_the_rest_of_a_failure_comes_back_too():
    for one, other in combinations([notes(1), notes(2)], 2):
        assert Failures.from_plain(one.failures.plain()).plain() == one.failures.plain()
        assert one.failures.plain() != other.failures.plain()
