"""Files that are written otherwise: decimal commas, other delimiters, other encodings; and what is said of misfits."""

import gzip

import pandas as pd
import pyarrow as pa
import pytest

import margrave as mg
from margrave import pipeline
from margrave.errors import DataError, DataWarning, SpecError, UsageError
from margrave.measure.sources.files.commas import exchanged
from margrave.spec.dialect import Dialect
from margrave.spec.spec import Spec

TEXT = "Größe;Ort;n\n1,75;Köln;1\n1,80;Köln;1\n2,0;Bonn;1\n1,2;Düren;1\n"


def spec(data="", attributes='"Größe" = { bins = [1, 1.8, 3] }\nOrt = ["Köln", "Bonn", "Düren"]', table='"Größe"'):
    return Spec.parse(
        f"[data]\nconfidential = false\n{data}\n[attributes]\n{attributes}\n[release]\ntables = [[{table}]]\n"
        "[privacy]\nepsilon = 1.0\n"
    )


def counts(declared, data):
    (margin,) = declared.margins
    return list(pipeline.count(declared, data).counts[margin].ravel())


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "windows-1252", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("delimiter", [";", "|", "\t", "~"])
def test_a_file_is_read_as_the_spec_says_that_it_is_written(tmp_path, encoding, delimiter):
    path = tmp_path / "e.csv.gz"
    path.write_bytes(gzip.compress(TEXT.replace(";", delimiter).encode(encoding)))
    data = f"decimal = ','\ndelimiter = {delimiter!r}\nencoding = {encoding!r}".replace("'\\t'", '"\\t"')
    assert counts(spec(data), path) == [2, 2]
    assert counts(spec(data, table='"Ort"'), path) == [2, 1, 1]


def test_a_point_is_no_decimal_sign_where_the_comma_is_one(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("Größe;Ort\n1.75;Bonn\n1.234,5;Bonn\n", encoding="utf-8")
    with pytest.raises(DataError, match="2 records break this"):
        counts(spec("decimal = ','"), path)


def test_commas_are_read_in_frames_too_and_in_counts():
    frame = pd.DataFrame({"Größe": ["1,75", "2,5"], "n": ["2", "3,0"]})
    assert counts(spec("decimal = ','\ncount = 'n'"), frame) == [2, 3]
    assert counts(spec("decimal = ','"), pa.table({"Größe": [1.75, 2.5]})) == [1, 1]


def test_what_is_not_written_in_digits_stays_as_it_is():
    assert [exchanged(text) for text in (b"1,5", b" -1.5 ", b"k.A.", b"a,b", b"1,5e3")] == [
        b"1.5", b" -1,5 ", b"k.A.", b"a,b", b"1.5e3",
    ]  # fmt: skip


def test_a_wrong_encoding_is_named_and_no_value_is(tmp_path):
    path = tmp_path / "e.csv"
    path.write_bytes("Größe;Ort\n1;Kö\x81ln\n".encode("latin-1"))
    with pytest.raises(DataError, match="its encoding is cp1252") as caught:
        counts(spec("encoding = 'windows-1252'\ndelimiter = ';'", table='"Ort"'), path)
    assert "ln" not in str(caught.value).replace("delimited", "").replace("line", "").replace(str(path), "")
    with pytest.raises(DataError, match="name its encoding under"):
        counts(spec(), path)


@pytest.mark.parametrize("data", [pa.table({"Größe": [1.5]}), "people.parquet"])
def test_only_delimited_text_has_a_dialect(tmp_path, data):
    if data == "people.parquet":
        pd.DataFrame({"Größe": [1.5]}).to_parquet(tmp_path / data)
        data = tmp_path / data
    with pytest.raises(UsageError, match="delimiter and encoding are of delimited text"):
        counts(spec("encoding = 'latin-1'"), data)
    if not isinstance(data, pa.Table):
        with pytest.raises(UsageError, match="folders"):
            counts(spec("delimiter = ';'"), tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("decimal = ';'", "must be one of '.', ','"),
        ("decimal = 1", "must be one of"),
        ("delimiter = ''", "one sign such as"),
        ("delimiter = '::'", "one sign such as"),
        ("delimiter = '5'", "one sign such as"),
        ("delimiter = 5", "must be text"),
        ("encoding = 'latin1252'", "is not known"),
        ("encoding = 'base64'", "is not known"),
        ("encoding = 8", "must be text"),
    ],
)
def test_what_is_no_dialect_is_a_problem_of_the_spec(line, words):
    with pytest.raises(SpecError, match=words):
        spec(line)


@pytest.mark.parametrize("wrong", [{"decimal": ";"}, {"delimiter": "ab"}, {"encoding": "no such"}])
def test_a_dialect_is_checked_at_birth(wrong):
    with pytest.raises(UsageError):
        Dialect(**wrong)


def test_a_dialect_goes_through_a_file_and_back():
    declared = spec("decimal = ','\ndelimiter = ';'\nencoding = 'latin-1'")
    assert Spec.parse(declared.to_toml()).dialect == declared.dialect == Dialect(",", ";", "iso8859-1")
    assert "data" not in declared.public_dict()


LOOKS = {
    "numbers with commas": ["1,75", "18,5", "2,25"],
    "dates in another order": ["31.12.2024", "1/2/24", "2024/02/03"],
    "text": ["forty", "about 3", "n/a"],
    "dates": ["2024-12-31"],
}


@pytest.mark.parametrize(("look", "texts"), LOOKS.items())
def test_where_most_of_a_column_breaks_a_rule_its_kind_is_said_and_no_value(look, texts):
    declared = spec(attributes="age = { range = [0, 99] }", table='"age"')
    with pytest.raises(DataError) as caught:
        counts(declared, pd.DataFrame({"age": texts * 10 + ["5"]}))
    said = str(caught.value)
    assert f"they look like {look}" in said and "`other`" not in said
    assert not any(text in said for text in texts)


def test_values_in_other_capitals_and_with_blanks_are_told_apart():
    declared = spec(attributes='ort = ["Bonn", "Trier"]', table='"ort"')
    with pytest.raises(DataError, match="declared values in other capitals: declare the values as the data"):
        counts(declared, pd.DataFrame({"ort": ["BONN", "trier", "Bonn", "Bonn", "Bonn"]}))
    with pytest.raises(DataError, match="declared values with blanks around them"):
        counts(declared, pd.DataFrame({"ort": ["Bonn ", " Trier", "Bonn"]}))


def test_of_few_records_that_break_a_rule_other_is_still_advised():
    declared = spec(attributes="age = { range = [0, 99] }", table='"age"')
    with pytest.raises(DataError, match="1 record breaks this; declare `other` for this attribute"):
        counts(declared, pd.DataFrame({"age": ["x", *["5"] * 9]}))


@pytest.mark.parametrize("extra", ["other", "missing"])
def test_a_column_that_goes_nearly_whole_into_one_value_is_said_to_the_curator_and_to_nobody_else(extra, tmp_path):
    plan = mg.plan(spec(attributes=f"age = {{ range = [0, 9], {extra} = 'rest' }}", table='"age"'))
    bad = {"other": "1,5", "missing": ""}[extra]
    with pytest.warns(DataWarning, match="nearly every record went into 'rest' of column 'age'"):
        out = mg.release(plan, pd.DataFrame({"age": [bad] * 95 + ["5"] * 5}))
    out.save(tmp_path / "out")
    assert not any(b"nearly every" in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    mg.release(plan, pd.DataFrame({"age": [bad] * 80 + ["5"] * 20}))
    mg.release(plan, pd.DataFrame({"age": [bad] * 40}))
