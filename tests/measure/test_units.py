"""Bounded contributions: at most m records of each unit, whatever the order of the file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.errors import DataError, UsageError
from margrave.measure.engines.count import count_margins
from margrave.measure.failures import Failures
from margrave.measure.records import read
from margrave.measure.sources.sources import open_source
from margrave.measure.units import bound_units
from margrave.spec.codebook import Codebook, CodebookEntry, Range

BOOK = Codebook((CodebookEntry("a", Range(0, 3)), CodebookEntry("b", Range(0, 1))))
ROW = st.tuples(st.sampled_from(["u", "v", "w"]), st.integers(0, 3), st.integers(0, 1))


def arrow(rows, chunk=1000):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    table = pa.table({"who": pa.array(columns[0], pa.string()), "a": pa.array(columns[1], pa.int8()),
                      "b": pa.array(columns[2], pa.int8())})  # fmt: skip
    return pa.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)


def kept(rows, most, key=b"k" * 32, chunk=1000):
    failures = Failures()
    batches = read(open_source(arrow(rows, chunk)), BOOK, ("a", "b"), failures, unit_column="who")
    bounded = bound_units(batches, most, failures, key)
    return sorted(
        pair for batch in bounded for pair in zip(*(batch.codes[name].tolist() for name in ("a", "b")), strict=True)
    )


@pytest.mark.slow
@given(st.lists(ROW, max_size=30), st.integers(1, 4), st.randoms(use_true_random=False), st.integers(1, 7))
def test_the_choice_bounds_every_unit_and_ignores_the_order(rows, most, random, chunk):
    shuffled = rows[:]
    random.shuffle(shuffled)
    chosen = kept(rows, most)
    assert chosen == kept(shuffled, most, chunk=chunk)
    sizes = [sum(row[0] == unit for row in rows) for unit in "uvw"]
    assert len(chosen) == sum(min(size, most) for size in sizes)
    apart = [kept([row for row in rows if row[0] == unit], most) for unit in "uvw"]
    assert chosen == sorted(pair for part in apart for pair in part), "a unit's records do not depend on other units"


@pytest.mark.slow
def test_the_choice_is_uniform_and_fresh():
    rows = [("u", 0, 0)] * 3 + [("u", 1, 0)]
    hits = sum((1, 0) in kept(rows, 1, key=number.to_bytes(32, "big")) for number in range(2000))
    assert abs(hits - 500) < 5 * np.sqrt(2000 * 0.25 * 0.75)
    results = {
        int(count_margins(open_source(arrow(rows)), BOOK, [("a",)], unit_column="who", max_records=1)[("a",)][1])
        for _ in range(200)
    }
    assert results == {0, 1}


def test_counts_of_bounded_units():
    rows = [(str(unit), unit % 4, 0) for unit in range(100) for _ in range(unit % 5 + 1)]
    counts = count_margins(open_source(arrow(rows)), BOOK, [("a",), ()], unit_column="who", max_records=2)
    assert counts[()] == sum(min(unit % 5 + 1, 2) for unit in range(100))
    loose = count_margins(open_source(arrow(rows)), BOOK, [()], unit_column="who", max_records=99)
    assert loose[()] == len(rows)
    assert count_margins(open_source(arrow([])), BOOK, [()], unit_column="who", max_records=1)[()] == 0
    assert count_margins(open_source(arrow(rows)), BOOK, [()], unit_column="who", max_records=1)[()] == 100


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([1, 1, 2], pa.int64()),
        pa.array([1.0, 1.0, 2.0], pa.float64()),
        pa.array(["1", "1", "2"]).dictionary_encode(),
        pa.array([b"\xff", b"\xff", b"2"], pa.binary()),
        pa.array([True, True, False]),
        pa.array([1, 1, 2], pa.date32()),
        pa.array([2**31 - 1, 2**31 - 1, 2], pa.int32()).cast(pa.date32()),
        pa.array([1, 1, 2], pa.decimal128(5)),
    ],
)
def test_ids_of_every_type(ids):
    table = pa.table({"who": ids, "a": [0, 0, 0], "b": [0, 0, 0]})
    counts = count_margins(open_source(table), BOOK, [("a",)], unit_column="who", max_records=1)
    assert counts[("a",)].tolist() == [2, 0, 0, 0]


@pytest.mark.parametrize("ids", [["u", None], ["u", ""], [1.0, float("nan")], [None, None]])
def test_records_without_a_unit_fail(ids):
    table = pa.table({"who": ids, "a": [0, 0], "b": [0, 0]})
    with pytest.raises(DataError, match="'who' must name the unit of every record: "):
        count_margins(open_source(table), BOOK, [("a",)], unit_column="who", max_records=1)


@pytest.mark.slow
def test_bad_calls():
    source = open_source(arrow([("u", 0, 0)]))
    with pytest.raises(UsageError, match="give both or neither"):
        count_margins(source, BOOK, [()], unit_column="who")
    with pytest.raises(UsageError, match="not both"):
        count_margins(source, BOOK, [()], unit_column="who", max_records=1, count_column="a")
    with pytest.raises(UsageError, match=r"max_records \(0\) must be at least 1"):
        count_margins(source, BOOK, [()], unit_column="who", max_records=0)
    with pytest.raises(DataError, match="no column 'whom': did you mean 'who'"):
        count_margins(source, BOOK, [()], unit_column="whom", max_records=1)
