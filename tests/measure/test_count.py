"""Counts equal those of a database, whatever the source, the types and the batches."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from itertools import combinations, product

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.errors import DataError, RefusedError, UsageError
from margrave.measure.engines.count import count_margins
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range

ROWS = 3000
BOOK = Codebook(
    (
        CodebookEntry("text", Categories(("no", "yes", "it's")), missing="?", other="else"),
        CodebookEntry("int", Range(-2, 5), missing="?", other="far"),
        CodebookEntry("float", Bins(tuple(map(Decimal, ("-1", "-0.25", "0.1", "2")))), missing="?", other="far"),
        CodebookEntry("bool", Categories(("true", "false"), boolean=True), missing="?"),
        CodebookEntry(
            "day", Bins((date(2020, 1, 1), date(2020, 2, 15), date(2020, 6, 1)), "right"), missing="?", other="far"
        ),
        CodebookEntry("dict", Categories(("u", "v")), other="else"),
        CodebookEntry("whole", Range(0, 3), missing="?"),
        CodebookEntry("one", Categories(("only",))),
    )
)
SQL = {
    "text": "case when text is null or text = '' then 3 when text = 'no' then 0 when text = 'yes' then 1 "
    "when text = 'it''s' then 2 else 4 end",
    "int": 'case when "int" is null then 8 when "int" between -2 and 5 then "int" + 2 else 9 end',
    "float": 'case when "float" is null or isnan("float") then 3 when "float" >= -1 and "float" < -0.25 then 0 '
    'when "float" >= -0.25 and "float" < 0.1::double then 1 '
    'when "float" >= 0.1::double and "float" <= 2 then 2 else 4 end',
    "bool": 'case when "bool" is null then 2 when "bool" then 0 else 1 end',
    "day": "case when day is null then 2 when day between '2020-01-01' and '2020-02-15' then 0 "
    "when day > '2020-02-15' and day <= '2020-06-01' then 1 else 3 end",
    "dict": "case when dict = 'u' then 0 when dict = 'v' then 1 else 2 end",
    "whole": "case when whole is null or isnan(whole) then 4 else whole::int end",
    "one": "0",
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(7)

    def holes(values):
        return [None if hole else value for value, hole in zip(values, rng.random(ROWS) < 0.1, strict=True)]

    def pick(*values):
        return [values[place] for place in rng.integers(0, len(values), ROWS)]

    return pa.table(
        {
            "text": pa.array(holes(pick("no", "yes", "it's", "", "NO", " yes")), pa.string()),
            "int": pa.array(holes(rng.integers(-4, 8, ROWS).tolist()), pa.int16()),
            "float": pa.array(
                holes(pick(-1.0, -0.25, 0.1, 2.0, 0.0999, -3.5, float("nan"), float("inf"), 1.75)), pa.float64()
            ),
            "bool": pa.array(holes(pick(True, False)), pa.bool_()),
            "day": pa.array(
                holes([date(2019, 12, 1) + timedelta(int(n)) for n in rng.integers(0, 250, ROWS)]), pa.date32()
            ),
            "dict": pa.array(holes(pick("u", "v", "w")), pa.string()).dictionary_encode(),
            "whole": pa.array(holes(pick(0.0, 1.0, 2.0, 3.0, float("nan"))), pa.float32()),
            "one": pa.array(["only"] * ROWS),
            "n": pa.array(rng.integers(0, 5, ROWS), pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def sources(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    pa.csv.write_csv(table, folder / "d.csv")
    with pa.output_stream(str(folder / "d.csv.gz"), compression="gzip") as stream:
        pa.csv.write_csv(table, stream)
    pa.parquet.write_table(table, folder / "d.parquet", row_group_size=700)
    for position in range(3):
        pa.parquet.write_table(table.slice(position * 1000, 1000), folder / f"part-{position}.parquet")
    connection = duckdb.connect()
    connection.register("t", table)
    return {
        "csv": folder / "d.csv",
        "csv.gz": folder / "d.csv.gz",
        "parquet": folder / "d.parquet",
        "glob": str(folder / "part-*.parquet"),
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "lazy": pl.scan_parquet(folder / "d.parquet"),
        "arrow": table,
        "duckdb": connection.sql("select * from t"),
        "small batches": pa.Table.from_batches(table.to_batches(max_chunksize=17)),
    }


def by_database(table, margin, weight="1"):
    connection = duckdb.connect()
    connection.register("t", table)
    domain = BOOK.domain
    counts = np.zeros(domain.shape(margin), dtype=np.int64)
    keys = ", ".join(f"{SQL[name]} as k{place}" for place, name in enumerate(margin))
    query = f"select {keys + ', ' if keys else ''} sum({weight}) from t" + (" group by all" if keys else "")
    for *cell, count in connection.sql(query).fetchall():
        counts[tuple(map(int, cell))] = count
    return counts


MARGINS = [*combinations(BOOK.domain.names, 2), ("int",), (), ("one",), ("text", "int", "float", "bool", "day")]
KINDS = ["csv", "csv.gz", "parquet", "glob", "pandas", "polars", "lazy", "arrow", "duckdb", "small batches"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_counts_equal_the_database(sources, table, kind):
    counts = count_margins(open_source(sources[kind]), BOOK, MARGINS)
    assert list(counts) == MARGINS
    for margin in MARGINS if kind == "parquet" else MARGINS[-6:]:
        assert counts[margin].dtype == np.int64
        np.testing.assert_array_equal(counts[margin], by_database(table, margin), err_msg=str(margin))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas"])
def test_tabulated_counts_equal_the_database(sources, table, kind):
    counts = count_margins(open_source(sources[kind]), BOOK, MARGINS[:5], count_column="n")
    for margin in MARGINS[:5]:
        np.testing.assert_array_equal(counts[margin], by_database(table, margin, "n"))


def test_one_margin_at_a_time_gives_the_same(table):
    together = count_margins(open_source(table), BOOK, MARGINS)
    for margin in MARGINS[::5]:
        np.testing.assert_array_equal(count_margins(open_source(table), BOOK, [margin])[margin], together[margin])


small = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@pytest.mark.slow
@given(small, st.data())
def test_any_margins_of_any_shape(sizes, data):
    names = [f"a{place}" for place in range(len(sizes))]
    book = Codebook(tuple(CodebookEntry(name, Range(0, size - 1)) for name, size in zip(names, sizes, strict=True)))
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes)), max_size=30))
    margins = data.draw(st.lists(st.sets(st.sampled_from(names)), min_size=1, max_size=8))
    chunk = data.draw(st.integers(1, 9))
    arrow = pa.table({name: pa.array([row[place] for row in rows], pa.int64()) for place, name in enumerate(names)})
    batched = pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(max_chunksize=chunk))
    counts = count_margins(open_source(batched), book, [tuple(margin) for margin in margins])
    for margin in margins:
        key = book.domain.margin(margin)
        expected = np.zeros(book.domain.shape(key), dtype=np.int64)
        for row in rows:
            expected[tuple(row[names.index(name)] for name in key)] += 1
        np.testing.assert_array_equal(counts[key], expected)


def test_wide_tables_are_counted_without_a_pass_over_their_cells():
    book = Codebook(tuple(CodebookEntry(f"a{place}", Range(0, 99)) for place in range(4)))
    arrow = pa.table({f"a{place}": [place, 99, 99] for place in range(4)})
    counts = count_margins(open_source(arrow), book, [book.domain.names[:3]])[book.domain.names[:3]]
    assert counts[0, 1, 2] == 1
    assert counts[99, 99, 99] == 2
    with pytest.raises(RefusedError, match=r"100,000,000 cells, more than 1,000,000"):
        count_margins(open_source(arrow), book, [book.domain.names], max_cells=10**6)
    with pytest.raises(RefusedError, match=r"6 tables have 60,000 cells together"):
        count_margins(open_source(arrow), book, combinations(book.domain.names, 2), max_cells=50_000)
    endless = Codebook(tuple(CodebookEntry(f"a{place}", Range(0, 99)) for place in range(40)))
    with pytest.raises(RefusedError, match="cells, more than"):
        count_margins(open_source(arrow), endless, [endless.domain.names])


ONE = Codebook((CodebookEntry("a", Categories(("x", "y"))),))


def tabulated(counts, arrow=None):
    data = pa.table({"a": ["x"] * len(counts), "n": pa.array(counts, arrow)})
    return int(count_margins(open_source(data), ONE, [("a",)], count_column="n")[("a",)][0])


def test_count_columns_of_every_type():
    for arrow in (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(9, 3)):
        assert tabulated([3, 0, 4], arrow) == 7
    assert tabulated(["3", " 4 ", "5.0"]) == 12
    assert tabulated([2**62, 2**62 - 1]) == 2**63 - 1
    assert tabulated([2**53, 1, 1]) == 2**53 + 2


@pytest.mark.parametrize(
    ("counts", "arrow"),
    [
        ([-1], pa.int64()),
        ([None], pa.int64()),
        ([1.5], pa.float64()),
        ([float("nan")], pa.float64()),
        ([float("inf")], pa.float64()),
        (["x"], pa.string()),
        ([""], pa.string()),
        ([2**63], pa.uint64()),
        (["9" * 30], pa.string()),
        ([b"\xff"], pa.binary()),
    ],
)
def test_bad_counts(counts, arrow):
    with pytest.raises(DataError, match=r"'n' must be a whole number from 0 to .*: 1 record breaks this"):
        tabulated(counts, arrow)


def test_counts_that_overflow_or_are_no_numbers():
    with pytest.raises(DataError, match="add up to more than"):
        tabulated([2**62, 2**62])
    with pytest.raises(DataError, match="'n' holds booleans"):
        tabulated([True])


def test_all_failures_are_reported_at_once():
    book = Codebook(
        (
            CodebookEntry("a", Categories(("x", "y"))),
            CodebookEntry("b", Range(1, 9)),
            CodebookEntry("c", Bins((Decimal(0), Decimal(120)))),
        )
    )
    batches = pa.table({"a": ["x", "z", "z", None], "b": [1, 2, 10, 3], "c": ["1", "-1", "", "121"]}).to_batches(
        max_chunksize=1
    )
    with pytest.raises(DataError) as caught:
        count_margins(open_source(pa.Table.from_batches(batches)), book, [("a", "b"), ("c",)])
    text = str(caught.value)
    assert "column 'a' must be one of the 2 declared values: 2 records break this; declare `other`" in text
    assert "column 'a' must not be missing" in text
    assert "column 'b' must be a whole number from 1 to 9: 1 record breaks this" in text
    assert "column 'c' must lie in the bins 0..120: 2 records break this" in text
    assert "column 'c' must not be missing (NULL, NaN or empty text): 1 record" in text


def test_columns_that_no_margin_needs_are_not_read():
    book = Codebook((*ONE.entries, CodebookEntry("absent", Categories(("q",)))))
    assert count_margins(open_source(pa.table({"a": ["x"]})), book, [("a",)])[("a",)].tolist() == [1, 0]
    with pytest.raises(UsageError, match="unknown attribute"):
        count_margins(open_source(pa.table({"a": ["x"]})), ONE, [("zz",)])


def test_impossible_patterns(monkeypatch):
    book = Codebook((CodebookEntry("a", Categories(("x", "y"))), CodebookEntry("b", Range(0, 9))))
    data = pa.table({"a": ["x", "y", "y"], "b": [1, 2, 2], "n": [1, 2, 0]})
    fine = {"a": frozenset({"x"}), "b": frozenset({"2", "3"})}
    bad = {"a": frozenset({"y"}), "b": frozenset({"2", "3"})}
    for limit in (1 << 20, 1):
        monkeypatch.setattr("margrave.measure.impossible._TABLE_CELLS", limit)
        count_margins(open_source(data), book, [("a",)], impossible=[fine])
        with pytest.raises(DataError, match=r"combination a = y, b = 2 or 3 is declared impossible: 2 records"):
            count_margins(open_source(data), book, [("a",)], impossible=[fine, bad])
        with pytest.raises(DataError, match="2 records"):
            count_margins(open_source(data), book, [("a",)], impossible=[bad], count_column="n")


def test_progress_and_interruption(table):
    steps: list[tuple[int, int | None]] = []
    count_margins(open_source(table), BOOK, [("int",)], progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (ROWS, ROWS)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_margins(open_source(table), BOOK, [("int",)], progress=stop)


def test_the_result_shows_no_count():
    counts = count_margins(open_source(pa.table({"a": ["x"] * 777})), ONE, [("a",), ()])
    assert "777" not in repr(counts)
    assert counts[()] == 777


def test_the_empty_margin_alone(table):
    assert count_margins(open_source(table), BOOK, [()])[()] == ROWS
    assert count_margins(open_source(table), BOOK, [()], count_column="n")[()] == sum(table["n"].to_pylist())
    assert count_margins(open_source(table), BOOK, []) == {}


def test_every_cell_of_a_full_table():
    cells = list(product(range(3), range(4)))
    book = Codebook((CodebookEntry("i", Range(0, 2)), CodebookEntry("j", Range(0, 3))))
    data = pa.table({"i": [i for i, _ in cells], "j": [j for _, j in cells]})
    assert (count_margins(open_source(data), book, [("i", "j")])[("i", "j")] == 1).all()
