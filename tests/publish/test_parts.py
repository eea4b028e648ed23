"""Parts of a bundle: what is written as CSV and Parquet is read back, whatever the names and values are."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import margrave as mg
from margrave.crossing import Answer, Measured
from margrave.errors import BundleError, MargraveError
from margrave.publish.bundle.parts.parts import csv_bytes, parquet_bytes, read_parquet
from margrave.publish.verification.verify import verify
from margrave.spec.spec import Spec

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**40), 2**40).map(float)


@given(st.lists(st.tuples(texts, st.integers(-(2**62), 2**62), numbers), min_size=1, max_size=8))
def test_what_is_written_is_read_back(rows):
    words, whole, broken = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({'a, "name"': words, "whole": whole, "broken": broken})
    read = list(csv.reader(io.StringIO(csv_bytes(table).decode(), newline="")))
    assert read[0] == table.column_names
    assert [row[0] for row in read[1:]] == words
    assert [int(row[1]) for row in read[1:]] == whole
    assert [float(row[2]) for row in read[1:]] == broken
    assert parquet_bytes(table) == parquet_bytes(table)
    assert read_parquet(parquet_bytes(table), "x", len(rows)).equals(table)


values = st.lists(texts.filter(lambda text: text.strip() and text != "*"), min_size=2, max_size=3, unique_by=str.strip)
names = texts.map(str.strip).filter(lambda text: text and "," not in text and text != "*")


def made_up(spec):
    """A release of no data at all."""
    plan = mg.plan(spec)
    shapes = [one.query.shape(plan.domain) for one in plan.measurements]
    outputs = [np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) for shape in shapes]
    answers = tuple(Answer(one, numbers) for one, numbers in zip(plan.measurements, outputs, strict=True))
    return mg.Release(plan, Measured(answers, {}, private=False))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(names, min_size=2, max_size=3, unique=True), st.data())
def test_any_names_and_values_make_the_round_trip(tmp_path_factory, attributes, data):
    try:
        spec = Spec.from_dict(
            {
                "attributes": {name: {"values": data.draw(values)} for name in attributes},
                "release": {"all": 2, "strategy": "residual"},
                "privacy": {"rho": 1},
            }
        )
    except MargraveError:
        return
    out = made_up(spec)
    place = out.save(tmp_path_factory.mktemp("any") / data.draw(st.sampled_from(["out", "out.zip"])))
    verify(place)
    loaded = mg.Release.load(place)
    assert loaded.plan == out.plan
    for one, other in zip(out.measured.answers, loaded.measured.answers, strict=True):
        np.testing.assert_array_equal(one.outputs, other.outputs)


def test_a_parquet_file_must_be_as_long_as_announced():
    content = parquet_bytes(pa.table({"value": [1, 2, 3]}))
    assert read_parquet(content, "x", 3).num_rows == 3
    with pytest.raises(BundleError, match="has 3 rows where the plan has 4"):
        read_parquet(content, "x", 4)
    with pytest.raises(BundleError, match="does not have the columns other"):
        read_parquet(content, "x", 3, ["other"])
    for spoilt in (b"", b"PAR1", content[:-1], content[1:], b"PAR1" + content[4:-8] + bytes(4) + b"PAR1"):
        with pytest.raises(BundleError, match="not a readable Parquet file"):
            read_parquet(spoilt, "x", 3)


def test_numbers_that_are_not_whole_are_no_measurements(folder, reseal):
    path = folder / "measurements.parquet"
    table = read_parquet(path.read_bytes(), "x", 12)
    place = table.column_names.index("value")
    path.write_bytes(parquet_bytes(table.set_column(place, "value", pa.array([0.5] * 12))))
    reseal(folder)
    with pytest.raises(BundleError, match="64-bit whole numbers"):
        mg.Release.load(folder)


def test_measurements_in_another_order_are_refused(folder, reseal):
    path = folder / "measurements.parquet"
    table = read_parquet(path.read_bytes(), "x", 12)
    path.write_bytes(parquet_bytes(table.take(list(range(11, -1, -1)))))
    reseal(folder)
    with pytest.raises(BundleError, match="in their order"):
        mg.Release.load(folder)


def test_letters_that_are_no_text_are_refused(folder, reseal):
    path = folder / "release.json"
    path.write_bytes(path.read_bytes().replace(b'"young"', b'"\\ud800"'))
    with pytest.raises(BundleError, match="half a character"):
        mg.Release.load(folder)
