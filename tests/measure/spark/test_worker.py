"""What a task does, without a cluster around it."""

from __future__ import annotations

import json
import pickle
import sys
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from margrave.algebra.cover import cover
from margrave.errors import DataError, DataWarning, UsageError
from margrave.measure.engines.registry import Counting, RowUnits
from margrave.measure.impossible import Patterns
from margrave.measure.sources.sources import open_source
from margrave.measure.spark import pieces, tasks, worker
from margrave.measure.spark.jobs import Cluster, count_on_spark
from margrave.measure.spark.rows import RECORDS, Sums, batches, rows_of
from margrave.measure.spark.worker import TaskWork, first, second, summed
from margrave.measure.units import bound_units, hashed
from tests.measure.spark.people import BOOK, KEY, NAMES, counted, people

PAIRS = list(combinations(NAMES, 2))


def work(unit=None, most=None, **options):
    units = RowUnits(None, unit, most)
    wanted = Counting(BOOK, cover(BOOK.domain, PAIRS), (), NAMES, units, Patterns(BOOK.domain, ()))
    return TaskWork(wanted, (*NAMES, *([unit] if unit else [])), key=KEY, lot=b"lot", **options)


@pytest.fixture(autouse=True)
def a_task(monkeypatch):
    monkeypatch.setattr(worker, "_number", lambda: 0)


def through(step, given, rows):
    return [row for batch in batches(step(given, rows)) for row in rows_of(batch)]


def test_units_are_bounded_as_here_whatever_task_their_records_come_from(monkeypatch):
    monkeypatch.setattr(worker, "_RECORDS", 50)
    table = people(2000)
    given = work("who", 2, parts=5)
    chosen = table.select([*NAMES, "who"])
    sent = [row for part in range(4) for row in through(first, given, chosen.slice(part * 500, 500).to_batches(90))]
    assert {row[1] for row in sent if row[0] == RECORDS} == set(range(5))
    assert all(len(row[2]) <= 50 * worker._width(given.wanted) for row in sent if row[0] == RECORDS)
    receivers = [[row for row in sent if row[1] % 2 == side] for side in (0, 1)]
    counts = [row for some in receivers for row in through(second, given, batches(some))]
    sums = Sums(len(given.wanted.tables))
    for row in through(summed, len(given.wanted.tables), batches(counts)):
        sums.add(row)
    monkeypatch.setattr("margrave.measure.units.new_key", lambda: KEY)
    here = counted(table, given.wanted.tables, unit_column="who", max_records=2)
    for number, margin in enumerate(given.wanted.tables):
        assert sums.dense(number, here[margin].size).tolist() == here[margin].reshape(-1).tolist()
    assert sums.notes.tasks == 4 and sums.notes.total == here[given.wanted.tables[0]].sum() < 2000


def test_hashes_stand_for_units_also_where_records_wait_on_disk():
    given = work("who", 2, parts=1)
    sent = through(first, given, people(1000).select([*NAMES, "who"]).to_batches())
    kept = []
    for memory in (1 << 30, 1 << 10):
        coded = worker._received(given, batches(sent), [])
        found = bound_units(coded, 2, worker.Failures(), KEY, memory)
        records = (zip(*(codes.tolist() for codes in part.codes.values()), strict=True) for part in found)
        kept.append(sorted(record for part in records for record in part))
    assert kept[0] == kept[1] and len(kept[0]) < 1000
    ids = pa.array(["x", "y", "x"]).cast(pa.large_binary())
    assert len(np.unique(hashed(ids, KEY), axis=0)) == 2 and not (hashed(ids, KEY) == hashed(ids, KEY[::-1])).any()


def test_what_a_task_finds_does_not_depend_on_the_order_of_its_records():
    for unit in (None, "who"):
        given = work(unit, 2 if unit else None)
        table = people(300).select(list(given.columns))
        turned = table.take(np.random.default_rng(1).permutation(300))
        changed = pa.concat_tables([table.slice(1), table.slice(5, 1)])
        digests = []
        for one in (table, turned, changed):
            (note,) = [row[2] for row in through(first, given, one.to_batches(70)) if row[0] == -1]
            digests.append(json.loads(note)["lots"][0][2])
        assert digests[0] == digests[1] != digests[2]


def test_a_task_that_is_not_asked_again_reads_nothing():
    assert through(first, work(only=frozenset({1})), iter(())) == []


def test_whatever_goes_wrong_in_a_task_becomes_a_note_without_a_value():
    class Sung(Exception):
        pass

    def singing():
        raise Sung("zanzibar")
        yield

    rows = [row for batch in worker.perform("first", pickle.dumps(work()), singing()) for row in rows_of(batch)]
    ((number, _, content),) = rows
    assert number == -1 and b"a task of the cluster failed" in content and b"zanzibar" not in content


def test_a_worker_without_margrave_says_so(monkeypatch):
    function = tasks.task("look", None)
    (found,) = [row for batch in function([]) for row in rows_of(batch)]
    assert json.loads(found[2])["tasks"] == 1
    monkeypatch.setitem(sys.modules, "margrave.measure.spark.worker", None)
    (found,) = [row for batch in function([]) for row in rows_of(batch)]
    assert json.loads(found[2]) == {"errors": [["usage", tasks.NONE]]}


def test_every_row_group_is_read_once_however_files_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "_LEAST", 1)
    table = people(1000)
    for number, size in enumerate((7, 400, 50)):
        (tmp_path / f"y={number}").mkdir()
        rows = table.slice(number * 300, 300)
        pa.parquet.write_table(rows, tmp_path / f"y={number}" / "p.parquet", row_group_size=size)
    files = pieces.listed(str(tmp_path))
    for slots in (1, 2, 5, 40):
        shares = files.shares(slots)
        assert len(shares) <= 2 * slots + 1 and sum(p.stop - p.start for s in shares for p in s) == sum(
            one.size for one in files.files
        )
        read = [
            batch
            for share in shares
            for batch in pieces.Pieces(("many", "y"), pickle.loads(pickle.dumps(files)), share).batches(["y", "many"])
        ]
        whole = pa.Table.from_batches(read).to_pandas()
        assert sorted(whole["many"]) == sorted(table["many"].to_pylist()[:900])
        assert whole["y"].value_counts().to_dict() == {"0": 300, "1": 300, "2": 300}


def test_files_that_do_not_agree_are_told_by_their_number(tmp_path):
    pa.parquet.write_table(pa.table({"word": ["a"]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"other": ["a"]}), tmp_path / "2.parquet")
    with pytest.raises(DataError, match="file 2 of 2: the data has no column 'word'"):
        counted(f"spark:parquet:{tmp_path}", [("word",)], engine="local")
    with pytest.raises(DataError, match="is no Parquet file, and no folder with any"):
        open_source(f"spark:parquet:{tmp_path / 'absent'}")


def test_a_file_that_is_written_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "p.parquet"
    pa.parquet.write_table(people(100), path, row_group_size=50)
    files = pieces.listed(str(path))
    reading = pieces.Pieces(("many",), files, files.files).batches(["many"])
    next(reading)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(DataError, match="has changed while it was counted"):
        list(reading)


class Settings:
    """Of a session that encrypts nothing."""

    conf = {}  # noqa: RUF012


def test_encryption_is_asked_for():
    with pytest.warns(DataWarning, match=r"spark.io.encryption.enabled = true"):
        Cluster(Settings())._check_encryption()
    Settings.conf["spark.io.encryption.enabled"] = "true"
    Cluster(Settings())._check_encryption()


def test_names_of_tables_and_other_engines():
    for name in ("spark:", "spark: ", "spark:/people"):
        with pytest.raises(UsageError, match="a table of Spark is written"):
            open_source(name)
    with pytest.raises(UsageError, match="the data is not on Spark"):
        counted(people(5), [("word",)], engine="spark")
    assert callable(count_on_spark)
