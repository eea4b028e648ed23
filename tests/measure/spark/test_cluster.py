"""On a real cluster: the same counts as on one machine, whatever happens to tasks and executors."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import margrave as mg
from margrave.errors import DataError, UsageError
from margrave.measure.engines.count import count_margins, count_tables
from margrave.measure.sources.sources import open_source
from margrave.measure.spark import jobs, tasks
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from tests.measure.spark.people import BOOK, KEY, NAMES, counted, people, same

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

UNITS = {"unit_column": "who", "max_records": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The records in five files, of several row groups each, below folders that name a column."""
    root = tmp_path_factory.mktemp("people") / "people"
    table = people()
    for number in range(5):
        part = root / f"year=202{number % 2}"
        part.mkdir(parents=True, exist_ok=True)
        pa.parquet.write_table(table.slice(number * 600, 600), part / f"{number}.parquet", row_group_size=170)
    return root


@pytest.fixture(scope="module")
def frame(cluster, folder):
    return cluster.read.parquet(str(folder)).repartition(4)


@pytest.fixture
def one_key(monkeypatch):
    """Both sides choose records by the same key."""
    for module in ("margrave.measure.units", "margrave.measure.spark.jobs"):
        monkeypatch.setattr(f"{module}.new_key", lambda: KEY)


@pytest.mark.parametrize("options", [{}, UNITS, {"count_column": "times"}], ids=["records", "units", "tabulated"])
def test_files_and_frames_are_counted_as_here(folder, frame, one_key, options):
    here = counted(folder, **options)
    same(counted(f"spark:parquet:{folder}", **options), here)
    same(counted(frame, **options), here)
    assert here[()] > 1000


def test_columns_are_told_apart_whatever_their_names(cluster):
    frame = cluster.createDataFrame(pa.table({"x": ["a", "a"], "y": ["b", "c"], "z": ["d", "d"]}))
    frame = frame.toDF("a.b", "A.b", "`")
    values = {"A.b": ("b", "c"), "a.b": ("a",), "`": ("d",)}
    book = Codebook(tuple(CodebookEntry(name, Categories(some)) for name, some in values.items()))
    assert counted(frame, [tuple(values)], book)[tuple(values)].tolist() == [[[1]], [[1]]]


def test_a_frame_without_records_has_no_counts(cluster):
    none = cluster.createDataFrame([], "word string, yes boolean")
    assert counted(none, [("word", "yes")])[("word", "yes")].sum() == 0
    assert counted(none.where("word = 'a'"), [()])[()] == 0


def test_occupied_cells_of_large_tables_are_the_same(folder, frame):
    wanted = [NAMES[:5], NAMES[3:]]
    here, *there = (count_tables(open_source(one), BOOK, wanted, dense_cells=100)[1] for one in (folder, frame))
    for margin in wanted:
        np.testing.assert_array_equal(there[0][margin].cells, here[margin].cells)
        np.testing.assert_array_equal(there[0][margin].counts, here[margin].counts)


def test_what_does_not_fit_is_said_by_column_rule_and_number(folder, frame):
    strict = Codebook(tuple(CodebookEntry(entry.name, entry.rule) for entry in BOOK.entries))
    said = []
    for data in (folder, f"spark:parquet:{folder}", frame):
        with pytest.raises(DataError) as caught:
            counted(data, book=strict)
        said.append(sorted(str(caught.value).splitlines()))
    assert said[0] == said[1] == said[2] and len(said[0]) > 8


def test_impossible_combinations_are_found(frame, monkeypatch):
    monkeypatch.setattr("margrave.measure.impossible._TABLE_CELLS", 0)
    patterns = [{"word": frozenset({"else"}), "level": frozenset({"else"})}]
    with pytest.raises(DataError, match="word = else, level = else is declared impossible: "):
        counted(frame, impossible=patterns)


def test_what_comes_back_does_not_grow_with_partitions(cluster, frame, monkeypatch):
    seen = []
    add = jobs.Sums.add
    monkeypatch.setattr(jobs.Sums, "add", lambda sums, row: (seen.append(len(row[2])), add(sums, row))[1])
    for parts in (2, 9):
        seen.append(0)
        counted(frame.repartition(parts), [("word", "born")])
    last = seen.index(0, 1)
    assert len(seen[:last]) == len(seen[last:]) and abs(sum(seen[:last]) - sum(seen[last:])) < 600


def dying(marker, how):
    """For mapInArrow: the first task that runs it hands on a batch, and then comes to grief."""

    def run(batches):
        for batch in batches:
            yield batch
            (marker.parent / str(time.time_ns())).touch()
            try:
                marker.touch(exist_ok=False)
            except FileExistsError:
                continue
            if how == "slow":
                time.sleep(30)
            elif how == "executor":
                stat = Path(f"/proc/{os.getppid()}/stat").read_text(encoding="utf-8")
                os.kill(int(stat.rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
                time.sleep(30)
            else:
                raise ValueError("a task fails")

    return run


@pytest.mark.parametrize("how", ["task", "executor", "slow"])
def test_nothing_is_counted_twice_or_lost(frame, folder, tmp_path, how, one_key):
    marker = tmp_path / "tried"
    troubled = frame.mapInArrow(dying(marker, how), frame.schema)
    same(counted(troubled, **UNITS), counted(folder, **UNITS))
    assert len(list(tmp_path.iterdir())) > 1 + 4 + 1


def test_a_frame_that_is_not_the_same_each_time_is_refused(frame):
    def shaken(batches):
        import random

        import pyarrow as pa

        for batch in batches:
            words = pa.array([random.choice("aA") for _ in range(batch.num_rows)])
            yield batch.set_column(0, "word", words)

    with pytest.raises(DataError, match="other records each time"):
        counted(frame.mapInArrow(shaken, frame.schema), [("word",)])


def test_partitions_may_move_as_long_as_the_records_are_the_same(cluster, tmp_path, monkeypatch):
    turn = tmp_path / "turn"
    turn.write_text("0")

    def moving(batches):
        import pyarrow as pa

        step = int(turn.read_text(encoding="utf-8"))
        for batch in batches:
            yield pa.record_batch({"word": [("a", "A", "ä")[(number + step) % 3] for number in batch[0].to_pylist()]})

    frame = cluster.range(0, 3, 1, 3).mapInArrow(moving, "word string")
    again = jobs.Cluster.check_again

    def turned(*given):
        turn.write_text("1")
        again(*given)

    monkeypatch.setattr(jobs.Cluster, "check_again", turned)
    assert counted(frame, [("word",)])[("word",)].tolist() == [1, 1, 1, 0, 0]


def test_workers_with_another_margrave_are_refused_before_any_data(frame, monkeypatch):
    monkeypatch.setattr(tasks, "identity", lambda: "0.0.0")
    with pytest.raises(UsageError, match="another version of Margrave"):
        counted(frame, [("word",)])


def test_a_file_that_changes_is_refused(cluster, tmp_path):
    pa.parquet.write_table(people(50), tmp_path / "p.parquet")
    source = open_source(f"spark:parquet:{tmp_path / 'p.parquet'}")
    pa.parquet.write_table(people(60), tmp_path / "p.parquet")
    with pytest.raises(DataError, match="has changed while it was counted"):
        count_margins(source, BOOK, [("word",)])


def spec(source):
    return {
        "data": {"source": source, "unit": {"column": "who", "max_records": 2}},
        "attributes": {
            "word": {"values": ["a", "A", "ä"], "other": "else"},
            "level": {"range": [0, 4], "other": "else"},
        },
        "release": {"tables": [["word", "level"]]},
        "privacy": {"epsilon": 1},
    }


def test_releases_from_a_frame_a_table_of_the_catalogue_and_files(cluster, frame, folder, one_key):
    before = sorted(table.name for table in cluster.catalog.listTables())
    here = mg.release(mg.Spec.from_dict(spec(str(folder))), seed=1)
    for given in (frame, None):
        there = mg.release(mg.Spec.from_dict(spec(f"spark:parquet:{folder}")), given, seed=1)
        assert there.noisy("word", "level").equals(here.noisy("word", "level"))
    assert sorted(table.name for table in cluster.catalog.listTables()) == before


def test_a_table_of_the_catalogue(cluster):
    kept = cluster.createDataFrame(pa.table({"a": ["x", "y", "x"]}))
    kept.write.mode("overwrite").saveAsTable("kept")
    book = Codebook((CodebookEntry("a", Categories(("x", "y"))),))
    for name in ("kept", "default.kept", "spark_catalog.default.kept"):
        assert counted(f"spark:{name}", [("a",)], book)[("a",)].tolist() == [2, 1]
    with pytest.raises(DataError, match="Spark has no such table"):
        counted("spark:absent", [("a",)], book)
    assert counted("spark:kept", [("a",)], book, engine="local")[("a",)].tolist() == [2, 1]
