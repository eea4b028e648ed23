"""Profiles for drafting a codebook."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, datetime, timedelta

import pandas as pd
import pyarrow as pa
import pytest

from margrave.crossing import ColumnProfile
from margrave.errors import DataError
from margrave.measure import profile as profiles
from margrave.measure.profile import profile
from margrave.measure.sources.sources import open_source

ROWS = 200
DATA = {
    "cat": ["no", "yes"] * 100,
    "small": [1, 2, 3, 10] * 50,
    "big": list(range(ROWS)),
    "float": [number / 4 for number in range(-100, 100)],
    "day": [date(2020, 1, 1) + timedelta(number) for number in range(ROWS)],
    "name": [f"person {number}" for number in range(ROWS)],
    "empty": [None] * ROWS,
    "code": ["01", "02"] * 100,
    "hole": ["x", None] * 100,
    "flag": [True, False] * 100,
}
EXPECTED = {
    "cat": ("categories", ("no", "yes"), None, None, False, 2),
    "small": ("integers", ("1", "2", "3", "10"), "1", "10", False, 4),
    "big": ("numbers", (), "0", "199", False, None),
    "float": ("numbers", (), "-25.0", "24.75", False, None),
    "day": ("dates", (), "2020-01-01", "2020-07-18", False, None),
    "name": ("identifier", (), None, None, False, None),
    "empty": ("empty", (), None, None, True, 0),
    "code": ("categories", ("01", "02"), None, None, False, 2),
    "hole": ("categories", ("x",), None, None, True, 1),
    "flag": ("categories", ("false", "true"), None, None, False, 2),
}


@pytest.mark.parametrize("form", ["arrow", "batches", "csv", "dictionary"])
def test_every_kind_of_column(tmp_path, form):
    data = table = pa.table(DATA)
    if form == "batches":
        data = pa.Table.from_batches(table.to_batches(max_chunksize=33))
    if form == "csv":
        data = tmp_path / "d.csv"
        pd.DataFrame(DATA).replace({True: "true", False: "false"}).to_csv(data, index=False)
    if form == "dictionary":
        data = pa.table([column.dictionary_encode() for column in table.columns[:-4]], names=table.column_names[:-4])
    found = profile(open_source(data), "survey")
    assert found.source == "survey"
    for column in found.columns:
        wanted = ColumnProfile(column.name, *EXPECTED[column.name])
        if column.name == "small" and form == "csv":
            assert column.kind == "integers"
        assert replace(column, repeats=None) == wanted


def one(values, arrow=None):
    return profile(open_source(pa.table({"c": pa.array(values, arrow)}))).columns[0]


def test_awkward_columns():
    assert one([1.0, 2.0, float("nan")]) == ColumnProfile("c", "integers", ("1", "2"), "1", "2", True, 2)
    assert one([1.5, float("inf")]).kind == "categories"
    assert one([datetime(2020, 1, 1, 5), datetime(2020, 1, 2)]).low == "2020-01-01"
    assert one([[1], [2]]).kind == "identifier"
    assert one(["a", "", " "]).has_missing
    assert one([], pa.string()).kind == "empty"
    assert one([b"\xff", b"a"], pa.binary()).kind == "categories"
    many = pa.Table.from_batches(pa.table({"c": [f"x{n}" for n in range(99)] + [""]}).to_batches(max_chunksize=99))
    assert profile(open_source(many)).columns[0].has_missing
    assert one([*map(float, range(99)), 0.5]).kind == "numbers"


def test_progress_and_duplicate_headers():
    steps = []
    profile(open_source(pa.table(DATA)), progress=lambda done, total: steps.append((done, total)))
    assert steps == [(ROWS, ROWS)]
    with pytest.raises(DataError, match="2 columns called 'a'"):
        profile(open_source(pa.table([[1], [2]], names=["a", "a"])))


_WAYS = {
    "whole": lambda chance: str(chance.randint(-(10**6), 10**6)),
    "fractions": lambda chance: f"{chance.uniform(-50, 900):.2f}",
    "some fractions": lambda chance: chance.choice([str(chance.randint(0, 10**5)), f"{chance.uniform(0, 99):.3f}"]),
    "long": lambda chance: str(chance.randint(0, 10**22)),
    "padded": lambda chance: f"{chance.randint(0, 10**6):07}",
    "commas": lambda chance: f"{chance.randint(0, 999)},{chance.randint(0, 99):02}",
    "dates": lambda chance: f"{chance.randint(1900, 2020)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
    "other dates": lambda chance: f"{chance.randint(1, 28):02}.{chance.randint(1, 12):02}.{chance.randint(1900, 2020)}",
    "texts": lambda chance: f"n{chance.randint(0, 10**6)}",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", [*_WAYS, "one other"])
def test_long_columns_of_text_are_taken_for_what_each_value_is(way, monkeypatch):
    chance = random.Random(way)
    others = ["x", "1,5", "2020-01-01", "007", "1.50", "-0", "", None, "nan", "1e5"]
    for _ in range(len(others) if way == "one other" else 2):
        texts = [_WAYS.get(way, _WAYS["whole"])(chance) for _ in range(6000)]
        if way == "one other":
            texts[chance.randrange(3000, 6000)] = others.pop()
        found = []
        for head in (256, 10**9):
            monkeypatch.setattr(profiles, "_HEAD", head)
            column = profiles._Column("x")
            for at in range(0, 6000, 2000):
                raw = [None if text is None else text.encode() for text in texts[at : at + 2000]]
                column.add(pa.array(raw, pa.binary()))
            found.append([column.profile("."), column.profile(","), column.writes_commas, column.writes_points])
        assert found[0] == found[1]
