"""Recoding, checked value by value against a plain reading of the documented rules."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.errors import DataError, UsageError
from margrave.measure.recode import code_type, recode
from margrave.spec.codebook import Bins, Categories, CodebookEntry, Range

AGE = CodebookEntry("age", Bins(tuple(map(Decimal, (0, 18, 65, 120)))), missing="unknown", other="odd")
ROOMS = CodebookEntry("rooms", Range(1, 9), missing="none", other="10+")
SMOKE = CodebookEntry("smoke", Categories(("no", "yes")), missing="?", other="else")


def names(values, entry, arrow=None):
    """The declared value that each raw value becomes."""
    column = pa.array(values, type=arrow)
    recoded = recode(column, entry)
    assert recoded.codes.dtype == code_type(entry.attribute.size)
    return [entry.attribute.values[code] for code in recoded.codes]


@pytest.mark.parametrize("arrow", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()])
def test_categories_match_text_exactly(arrow):
    raw = ["no", "yes", " no", "No", "", None, "no\n"]
    raw = [value.encode() if value is not None and "binary" in str(arrow) else value for value in raw]
    assert names(raw, SMOKE, arrow) == ["no", "yes", "else", "else", "?", "?", "else"]


def test_dictionaries_and_run_ends_are_read_through():
    plain = pa.array(["no", None, "yes", "yes", "x", "", "no"])
    wanted = ["no", "?", "yes", "yes", "else", "?", "no"]
    encoded = plain.dictionary_encode()
    long = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["no", "yes", *map(str, range(50))]))
    null_inside = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["no", None]))
    for column, expected in (
        (encoded, wanted),
        (pa.compute.run_end_encode(plain), wanted),
        (long, ["no", "yes"]),
        (null_inside, ["no", "?", "?"]),
    ):
        codes = recode(column, SMOKE).codes
        assert [SMOKE.attribute.values[code] for code in codes] == expected


def test_range_reads_numbers_in_text():
    raw = [
        "7",
        " 7",
        "07",
        "+7",
        "7.0",
        "7e0",
        "7.5",
        "0",
        "10",
        "seven",
        "",
        " ",
        "nan",
        "inf",
        "9" * 40,
        "1e999999999",
    ]
    expected = ["7"] * 6 + ["10+"] * 4 + ["none"] * 3 + ["10+"] * 3
    assert names(raw, ROOMS) == expected


NUMBERS = [
    *(pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.decimal32(5, 1), pa.decimal128(10, 2), pa.decimal256(50, 0)),
]


@pytest.mark.parametrize("arrow", NUMBERS)
def test_range_and_bins_agree_on_every_number_type(arrow):
    assert names([1, 9, 10, 0, None, 5], ROOMS, arrow) == ["1", "9", "10+", "10+", "none", "5"]
    assert names([0, 17, 18, 64, 65, 120, 121, None], AGE, arrow) == [
        "0-17", "0-17", "18-64", "18-64", "65-120", "65-120", "odd", "unknown"]  # fmt: skip


def test_floats_that_are_no_numbers():
    raw = [float("nan"), float("inf"), -float("inf"), 7.5, -0.0]
    assert names(raw, ROOMS, pa.float64()) == ["none", "10+", "10+", "10+", "10+"]
    assert names(raw, AGE, pa.float64()) == ["unknown", "odd", "odd", "0-17", "0-17"]


def test_a_float_stands_for_the_decimal_that_people_write():
    entry = CodebookEntry("share", Bins(tuple(map(Decimal, ("0", "0.1", "0.3", "1")))))
    first, second, third = entry.rule.values
    for arrow in (pa.float32(), pa.float64()):
        assert names([0.1, 0.3, 0.2999], entry, arrow) == [second, third, second]
    assert names(["0.1", "0.3", "0.29999999999999999999"], entry) == [second, third, second]
    right = CodebookEntry("share", Bins(tuple(map(Decimal, ("0", "0.1", "0.3", "1"))), closed="right"))
    first, second, third = right.rule.values
    for arrow in (pa.float32(), pa.float64(), None):
        raw = [0.0, 0.1, 0.3, 1.0] if arrow else ["0", "0.1", "0.3", "1"]
        assert names(raw, right, arrow) == [first, first, second, third]


def test_huge_integers_are_compared_exactly():
    huge = CodebookEntry("n", Range(2**64, 2**64 + 2), other="o")
    assert names([str(2**64 - 1), str(2**64), str(2**64 + 2), str(2**64 + 3)], huge)[1:3] == [
        str(2**64),
        str(2**64 + 2),
    ]
    edge = CodebookEntry("n", Range(2**63 - 2, 2**63 - 1), other="o")
    assert names([2**63 - 1, 2**63, 2**64 - 1], edge, pa.uint64()) == [str(2**63 - 1), "o", "o"]
    close = CodebookEntry("n", Range(2**53, 2**53 + 2), other="o")
    assert names([2**53 + 1, 2**53 + 3], close, pa.int64()) == [str(2**53 + 1), "o"]
    bins = CodebookEntry("n", Bins((Decimal(0), Decimal(2**53 + 1), Decimal(2**70))), other="o")
    assert names([2**53, 2**53 + 1], bins, pa.int64()) == list(bins.rule.values)
    assert names([2**53, 2**53 + 1], bins, pa.uint64()) == list(bins.rule.values)


def test_booleans():
    flag = CodebookEntry("flag", Categories(("true", "false"), boolean=True), other="else")
    assert names([True, False, None], flag) == ["true", "false", "else"]
    assert names(["True", "TRUE", "false", "true", "FALSE", "t", "1"], flag) == [
        "true", "true", "false", "true", "false", "else", "else"]  # fmt: skip
    shouted = CodebookEntry("flag", Categories(("TRUE", "FALSE")))
    assert names([True, False], shouted) == ["TRUE", "FALSE"]
    assert names([1, 0], flag) == ["else", "else"]


def test_numbers_match_declared_values_by_value():
    entry = CodebookEntry("code", Categories(("1", "2.50", "03")), other="else")
    assert names([1, 3, 4], entry, pa.int64()) == ["1", "03", "else"]
    assert names([1.0, 2.5, 0.5], entry, pa.float64()) == ["1", "2.50", "else"]
    assert names([Decimal("2.5")], entry, pa.decimal128(5, 1)) == ["2.50"]
    assert names(["1.0", "2.5", "3"], entry) == ["else"] * 3
    twice = CodebookEntry("code", Categories(("1", "01", "1.0")), other="else")
    assert names([1], twice, pa.int8()) == ["1"]
    assert names([2], CodebookEntry("code", Categories(("02", "2.0")), other="else"), pa.int8()) == ["else"]


def test_dates():
    entry = CodebookEntry(
        "when", Bins((date(2020, 1, 1), date(2020, 7, 1), date(2020, 12, 31))), missing="m", other="o"
    )
    first, second = entry.rule.values
    days = [date(2020, 1, 1), date(2020, 6, 30), date(2020, 7, 1), date(2020, 12, 31), date(2021, 1, 1), None]
    expected = [first, first, second, second, "o", "m"]
    assert names(days, entry, pa.date32()) == expected
    assert names(days, entry, pa.date64()) == expected
    assert names([day and day.isoformat() for day in days], entry) == expected
    late = [day and datetime(day.year, day.month, day.day, 23, 59) for day in days]
    for unit in ("s", "ms", "us", "ns"):
        assert names(late, entry, pa.timestamp(unit)) == expected
    assert names([moment and moment.isoformat() for moment in late], entry) == expected
    assert names(["2020-06-30T23:59:00-05:00", "2020-06-30 23:59Z", "2020-6-30", "2020-02-30", "20200101"], entry) == [
        first, first, "o", "o", "o"]  # fmt: skip
    zoned = pa.array([datetime(2020, 7, 1, 2)], pa.timestamp("us", "America/New_York"))
    assert entry.attribute.values[recode(zoned, entry).codes[0]] == first
    extreme = pa.array([2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())
    assert recode(extreme, entry).codes.tolist() == [3, 3]
    dictionary = pa.array(days, pa.date32()).dictionary_encode()
    assert [entry.attribute.values[code] for code in recode(dictionary, entry).codes] == expected


def test_dates_as_categories():
    entry = CodebookEntry("when", Categories(("2020-01-01", "2020-01-02 03:04:05")), other="o")
    assert names([date(2020, 1, 1), date(2020, 1, 2)], entry, pa.date32()) == ["2020-01-01", "o"]
    moments = [datetime(2020, 1, 1), datetime(2020, 1, 2, 3, 4, 5)]
    assert names(moments, entry, pa.timestamp("ns")) == ["2020-01-01", "2020-01-02 03:04:05"]


def test_the_names_of_missing_and_other_and_the_labels_of_bins_are_accepted():
    assert names(["?", "else"], SMOKE) == ["?", "else"]
    assert names(["unknown", "18-64", "odd", "20"], AGE) == ["unknown", "18-64", "odd", "18-64"]
    coded = CodebookEntry("rooms", Range(1, 9), missing="-1")
    assert names([-1, 3], coded, pa.int16()) == ["-1", "3"]
    assert names(["-1", " -1", "3"], coded) == ["-1", "-1", "3"]
    assert names([-1.0, 3.0], coded, pa.float32()) == ["-1", "3"]


def test_failures_are_counted_by_rule():
    entry = CodebookEntry("smoke", Categories(("no", "yes")))
    found = recode(pa.array([b"no", b"x", b"y", b"", None, b"\xff"], pa.binary()), entry)
    assert (found.missing, found.outside, found.undecodable) == (2, 2, 1)
    found = recode(pa.array([1, 10, None]), CodebookEntry("rooms", Range(1, 9)))
    assert (found.missing, found.outside) == (1, 1)
    found = recode(pa.nulls(3), CodebookEntry("rooms", Range(1, 9)))
    assert found.missing == 3
    assert names([b"\xff", b"no"], SMOKE, pa.binary()) == ["else", "no"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"a": 1}]),
        pa.array([[1]]),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([1], pa.duration("s")),
        pa.array([1], pa.time32("s")),
    ],
)
def test_other_types_are_refused_by_column(column):
    with pytest.raises(DataError, match="column 'smoke' holds"):
        recode(column, SMOKE)


def test_types_that_contradict_the_rule():
    with pytest.raises(DataError, match=r"'rooms' holds booleans.*numbers"):
        recode(pa.array([True]), ROOMS)
    with pytest.raises(DataError, match="'age' holds dates"):
        recode(pa.array([date(2020, 1, 1)]), AGE)
    with pytest.raises(DataError, match=r"'when' holds integers.*dates"):
        recode(pa.array([1]), CodebookEntry("when", Bins((date(2020, 1, 1), date(2021, 1, 1)))))
    with pytest.raises(DataError, match="years 1 to 9999"):
        recode(pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), SMOKE)
    with pytest.raises(UsageError, match="time of day"):
        recode(pa.array(["2020-01-01"]), CodebookEntry("when", Bins((datetime(2020, 1, 1, 5), datetime(2021, 1, 1)))))


def test_codes_take_the_smallest_type():
    assert [code_type(size).name for size in (1, 2, 256, 257, 65536, 65537)] == [
        "uint8", "uint8", "uint8", "uint16", "uint16", "uint32"]  # fmt: skip
    one = CodebookEntry("one", Categories(("only",)))
    assert recode(pa.array(["only", "only"]), one).codes.tolist() == [0, 0]
    assert recode(pa.array([], pa.string()), one).codes.tolist() == []


edges = st.lists(st.decimals(-100, 100, places=2), min_size=2, max_size=6, unique=True).map(sorted)


@given(edges, st.sampled_from(["left", "right"]), st.lists(st.decimals(-110, 110, places=2), max_size=20))
def test_bins_agree_with_the_definition_in_every_representation(edges, closed, raw):
    entry = CodebookEntry("x", Bins(tuple(edges), closed), other="o")
    last = len(edges) - 2

    def slow(value):
        for index, (left, right) in enumerate(pairwise(edges)):
            above = value > left or (value == left and (closed == "left" or index == 0))
            below = value < right or (value == right and (closed == "right" or index == last))
            if above and below:
                return index
        return last + 1

    raw = raw + list(edges)
    expected = [slow(value) for value in raw]
    assert recode(pa.array([float(value) for value in raw], pa.float64()), entry).codes.tolist() == expected
    assert recode(pa.array([str(value) for value in raw], pa.string()), entry).codes.tolist() == expected
    assert recode(pa.array(raw, pa.decimal128(10, 2)), entry).codes.tolist() == expected
    whole = [value.to_integral_value() for value in raw]
    assert recode(pa.array([int(value) for value in whole], pa.int64()), entry).codes.tolist() == [
        slow(value) for value in whole
    ]


@given(st.integers(-200, 200), st.integers(0, 300), st.lists(st.integers(-128, 127)))
def test_range_agrees_with_the_definition(low, span, raw):
    entry = CodebookEntry("x", Range(low, low + span), other="o")
    expected = [value - low if low <= value <= low + span else span + 1 for value in raw]
    for arrow in (pa.int8(), pa.float32(), pa.int64()):
        assert recode(pa.array(raw, arrow), entry).codes.tolist() == expected
    assert recode(pa.array(list(map(str, raw)), pa.string()), entry).codes.astype(np.int64).tolist() == expected


@given(
    st.sampled_from([1, 2, 15, 255, 256, 257, 300]).flatmap(
        lambda size: st.tuples(
            st.just(size), st.randoms(), st.lists(st.one_of(st.none(), st.integers(0, size - 1)), max_size=40)
        )
    )
)
def test_dictionaries_in_any_order_and_of_any_size_give_the_declared_places(drawn):
    size, chance, places = drawn
    values = tuple(f"value {number}" for number in range(size))
    mixed = [*values]
    chance.shuffle(mixed)
    entry = CodebookEntry("a", Categories((*values, "none")), missing="none")
    for dictionary in (mixed, [*values]):
        where = {value: place for place, value in enumerate(dictionary)}
        indices = pa.array([None if place is None else where[values[place]] for place in places], pa.int32())
        found = recode(pa.DictionaryArray.from_arrays(indices, pa.array(dictionary)), entry)
        assert found.codes.tolist() == [size if place is None else place for place in places]
        assert found.codes.dtype == code_type(size + 1)
