"""Workbooks and files of other programs as sources; how delimited text is written, found out."""

from datetime import date

import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from margrave.errors import DataError, UsageError
from margrave.measure.profile import profile
from margrave.measure.sources.files.sniffed import dialect_of, sniffed
from margrave.measure.sources.sources import open_source


def book(path, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def read(data, columns):
    return pa.Table.from_batches(open_source(data).batches(columns)).to_pydict()


ROWS = [
    ["n", "x", "day", "flag", "mixed"],
    [1, 1.5, date(2020, 1, 2), True, 1],
    [2, None, date(2021, 1, 2), False, "a"],
]


def test_a_sheet_keeps_the_types_of_its_columns(tmp_path):
    path = book(tmp_path / "b.xlsx", People=ROWS, empty=[])
    assert read(path, ["n", "x", "day", "flag", "mixed"]) == {
        "n": [1, 2],
        "x": [1.5, None],
        "day": [date(2020, 1, 2), date(2021, 1, 2)],
        "flag": [True, False],
        "mixed": ["1", "a"],
    }
    assert read(path, []) == {"n": [1, 2]}


def test_of_several_sheets_one_is_named(tmp_path):
    path = book(tmp_path / "b.xlsx", People=ROWS, Other=[["a"], [1]])
    with pytest.raises(UsageError, match=r"several sheets \(People, Other\): name one, as in b.xlsx\?sheet=People"):
        open_source(path)
    assert read(f"{path}?sheet=Other", ["a"]) == {"a": [1]}
    with pytest.raises(UsageError, match="no sheet 'Peple': did you mean 'People'"):
        open_source(f"{path}?sheet=Peple")
    with pytest.raises(UsageError, match="takes \\?sheet= and nothing else"):
        open_source(f"{path}?table=People")


def test_damaged_and_empty_files_say_so_and_nothing_else(tmp_path):
    with pytest.raises(DataError, match="is empty"):
        open_source(book(tmp_path / "e.xlsx", a=[]))
    for name in ("b.xlsx", "b.sav", "b.dta", "b.xpt", "b.sas7bdat"):
        (tmp_path / name).write_bytes(b"secret value")
        with pytest.raises(DataError, match="it may be damaged") as caught:
            open_source(tmp_path / name)
        assert "secret" not in str(caught.value) and caught.value.__context__ is None
    with pytest.raises(DataError, match="does not exist"):
        open_source(tmp_path / "none.xlsx")


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt"])
def test_survey_files_are_read_in_parts(tmp_path, ending, monkeypatch):
    monkeypatch.setattr("margrave.measure.sources.files.survey_files._CHUNK", 7)
    path = str(tmp_path / f"s.{ending}")
    frame = pd.DataFrame({"a": [float(n) for n in range(21)], "b": [n / 2 for n in range(21)], "c": ["x", "", "y"] * 7})
    frame.loc[3, "a"] = float("nan")
    if ending == "xpt":
        pyreadstat.write_xport(frame, path, file_format_version=8)
    elif ending == "dta":
        pyreadstat.write_dta(frame, path)
    else:
        pyreadstat.write_sav(frame, path, compress=ending == "zsav")
    found = read(path, ["b", "a", "c"])
    assert found["b"] == [n / 2 for n in range(21)] and found["c"] == ["x", "", "y"] * 7
    assert found["a"] == [None if n == 3 else n for n in range(21)]
    assert len(read(path, [])["a"]) == 21


def test_packages_that_are_not_there_are_named(tmp_path, monkeypatch):
    import sys

    for module, name in (("python_calamine", "b.xlsx"), ("pyreadstat", "b.sav")):
        (tmp_path / name).write_bytes(b"x")
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(UsageError, match=r"margrave\[files\]"):
            open_source(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "encoding", "delimiter", "found"),
    [
        ("a,b\n1,x\n", "utf-8", None, "utf-8"),
        ("a;b, c\n1;x\n2;y\n", "utf-8", ";", "utf-8"),
        ("a\tb\n1\tö\n", "latin-1", "\t", "iso8859-1"),
        ("a|b\n1|€ö\n", "windows-1252", "|", "cp1252"),
        ("a;b\n1;ö\n", "utf-16", ";", "utf-16"),
        ("a\n1\n", "utf-8", None, "utf-8"),
    ],
)
def test_how_a_file_is_written_is_found_out(tmp_path, text, encoding, delimiter, found):
    (tmp_path / "f.csv").write_bytes(text.encode(encoding))
    dialect = sniffed(tmp_path / "f.csv")
    assert (dialect.delimiter, dialect.encoding) == (delimiter, found)
    assert open_source(tmp_path / "f.csv", dialect=dialect).columns[0] == "a"


def test_an_encoding_that_nobody_can_tell_is_asked_for(tmp_path):
    (tmp_path / "f.csv").write_bytes(b"a,b\n1,\x81\xff\n")
    with pytest.raises(DataError, match="--encoding"):
        dialect_of(tmp_path / "f.csv", {})
    assert dialect_of(tmp_path / "f.csv", {"encoding": "cp437", "delimiter": ","})[0].encoding == "cp437"


def kind(values, sniff=True):
    found = profile(open_source(pa.table({"c": values})), sniff=sniff)
    return found.columns[0], found.dialect.decimal


def test_numbers_with_commas_are_numbers_where_the_comma_is_the_decimal_sign():
    column, decimal = kind([f"{n},5" for n in range(40)])
    assert (column.kind, column.low, column.high, decimal) == ("numbers", "0.5", "39.5", ",")
    assert kind([f"{n},5" for n in range(40)], sniff=False)[0].kind == "commas"
    # Thousands and decimals cannot be told apart: nothing is guessed.
    assert kind([f"{n},500" for n in range(40)])[0].kind == "commas"
    mixed = pa.table({"c": [f"{n},5" for n in range(40)], "d": [f"{n}.5" for n in range(40)]})
    assert profile(open_source(mixed), sniff=True).dialect.decimal == "."


def test_columns_that_are_no_texts_are_not_listed_as_texts():
    assert kind([f"{n}.5" for n in range(53)])[0].kind == "numbers"
    assert kind(["1.5", "10.5", "2.5"])[0].values == ("1.5", "2.5", "10.5")
    assert kind([f"{n % 28 + 1:02}.{n % 12 + 1:02}.2020" for n in range(84)])[0].kind == "days"
    assert kind([f"{n:05}" for n in range(99)])[0].kind == "identifier"  # codes, not numbers


def test_repeated_ids_are_counted_once_and_a_stream_is_left_alone():
    table = pa.table({"id": [n // 3 for n in range(300)], "name": [f"p{n // 100}x{n}" for n in range(300)]})
    found = {column.name: column.repeats for column in profile(open_source(table)).columns}
    assert (found["id"].most, found["id"].usual) == (3, 3) and found["name"].most == 1
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert profile(open_source(stream)).columns[0].repeats is None
