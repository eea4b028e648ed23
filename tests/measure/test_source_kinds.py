"""The same records from every kind of source: what does not fit is found, and units are told apart, in the same way."""

from __future__ import annotations

import math

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import margrave as mg
from margrave.errors import DataError
from margrave.measure.engines.count import count_margins
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Codebook, CodebookEntry, Range

BOOK = Codebook((CodebookEntry("a", Range(0, 1)),))
FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _csv(table, folder):
    path = folder / "data.csv"
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    lines = (",".join("" if cell is None else str(cell) for cell in row) for row in rows)
    path.write_text("\n".join([",".join(table.column_names), *lines, ""]), encoding="utf-8")
    return path


def _parquet(table, folder):
    pyarrow.parquet.write_table(table, folder / "data.parquet")
    return folder / "data.parquet"


def _batches(table, folder):
    return pa.Table.from_batches(table.to_batches(max_chunksize=1), table.schema)


KINDS = {
    "csv": _csv,
    "parquet": _parquet,
    "batches": _batches,
    "pandas": lambda table, folder: table.to_pandas(),
    "polars": lambda table, folder: pl.from_arrow(table),
    "duckdb": lambda table, folder: duckdb.from_arrow(table),
}

ONE = """
[attributes]
country = {{ {rule} }}
a = ["0", "1"]
[release]
tables = [["country", "a"]]
[privacy]
epsilon = 1
"""
RULES = {
    "values": 'values = ["7"]',
    "range": "range = [7, 7]",
    "bins": "bins = [7, 8]",
    "other": 'values = ["7"], other = "7"',
}


def _fits(value, rule):
    if rule == "other":
        return True
    return value in (7, 8) if rule == "bins" else value == 7


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
@given(st.lists(st.sampled_from([7, 7, 7, 8, 9, None]), min_size=1, max_size=4))
@FEW
def test_a_value_that_is_not_declared_is_found_also_where_only_one_is_declared(tmp_path, kind, rule, values):
    spec = mg.Spec.parse(ONE.format(rule=RULES[rule]))
    table = pa.table({"country": pa.array(values, pa.int64()), "a": ["0"] * len(values)})
    data = KINDS[kind](table, tmp_path)
    if all(_fits(value, rule) for value in values):
        mg.count(spec, data)
    else:
        with pytest.raises(DataError, match="column 'country' must"):
            mg.count(spec, data)


def test_a_public_fact_about_a_one_valued_attribute_is_read_with_its_column():
    spec = mg.Spec.parse(ONE.format(rule=RULES["values"]).replace("[privacy]", 'public = [["country"]]\n[privacy]'))
    with pytest.raises(DataError, match="column 'country' must be the one declared value"):
        mg.release(spec, pa.table({"country": ["7", "8"], "a": ["0", "1"]}), seed=1)


def _counted(data):
    return int(count_margins(open_source(data), BOOK, [()], unit_column="who", max_records=1)[()])


IDS = st.one_of(
    st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.5, 2.0**-1074, math.inf]), min_size=1, max_size=8),
    st.lists(st.sampled_from([0, 1, -1, 2**53, 2**53 + 1]), min_size=1, max_size=8),
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "csv"])
@given(IDS)
@FEW
def test_equal_numbers_are_one_unit(tmp_path, kind, ids):
    assert _counted(KINDS[kind](pa.table({"who": ids, "a": [0] * len(ids)}), tmp_path)) == len(set(ids))


@pytest.mark.parametrize("make", [lambda ids: ids.cast("float16"), lambda ids: ids.cast("float32"),
                                  lambda ids: ids, lambda ids: ids.dictionary_encode()])  # fmt: skip
def test_minus_zero_is_zero_whatever_the_type_of_the_ids(make):
    assert _counted(pa.table({"who": make(pa.array([0.0, -0.0, 1.0])), "a": [0, 0, 0]})) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nan", [math.nan, -math.nan, None])
def test_no_number_is_no_unit(tmp_path, kind, nan):
    table = pa.table({"who": pa.array([0.0, nan], pa.float64(), from_pandas=False), "a": [0, 0]})
    if kind == "csv" and nan is not None:
        return  # the text "nan" is an id like any other
    with pytest.raises(DataError, match="must name the unit of every record"):
        _counted(KINDS[kind](table, tmp_path))


@given(st.lists(st.sampled_from(["0", "-0", "0.0", "-0.0", "1", "01", "1.0", "nan"]), min_size=1, max_size=8))
@FEW
def test_text_is_compared_as_bytes_in_every_kind_of_source(tmp_path, ids):
    table = pa.table({"who": ids, "a": [0] * len(ids)})
    assert {kind: _counted(make(table, tmp_path)) for kind, make in KINDS.items()} == dict.fromkeys(KINDS, len({*ids}))


@pytest.mark.parametrize("other", [pa.array([1.0]), pa.array(["1"]), pa.array([1], pa.int32())])
def test_ids_of_two_types_in_two_files_are_refused(tmp_path, other):
    for name, ids in (("x", pa.array([1])), ("y", other)):
        pyarrow.parquet.write_table(pa.table({"who": ids, "a": [0]}), tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match="different types in different files"):
        _counted(tmp_path / "*.parquet")
