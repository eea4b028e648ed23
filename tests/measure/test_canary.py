"""A canary in every awkward place: no error, its chain, log, representation or output may sing."""

from __future__ import annotations

import logging
import traceback
from datetime import date
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from margrave.errors import DataError
from margrave.measure.engines.count import count_margins
from margrave.measure.failures import Failures
from margrave.measure.recode import Recoder, recode
from margrave.measure.records import read
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range

WORD = "zanzibar"
NUMBER = 8675309
CANARIES = (WORD, str(NUMBER), f"{NUMBER:,}", "8675", WORD.upper())

BOOK = Codebook(
    (
        CodebookEntry("cat", Categories(("a", "b"))),
        CodebookEntry("int", Range(0, 9)),
        CodebookEntry("bin", Bins((Decimal(0), Decimal(50), Decimal(120)))),
        CodebookEntry("day", Bins((date(2020, 1, 1), date(2021, 1, 1)))),
        CodebookEntry("flag", Categories(("true", "false"), boolean=True)),
    )
)
GOOD = {"cat": "a", "int": 1, "bin": 7, "day": date(2020, 5, 5), "flag": True, "n": 1, "who": "u"}


def sings(text: str) -> bool:
    return any(canary in text for canary in CANARIES)


def silent(error: BaseException) -> None:
    """Checks an error, everything it leads to, and its printed form."""
    seen: BaseException | None = error
    while seen is not None:
        assert not sings(str(seen)) and not sings(repr(seen)) and not sings(repr(seen.args))
        assert not any(sings(note) for note in getattr(seen, "__notes__", []))
        assert seen.__cause__ is None, "an error raised from data has no cause"
        seen = seen.__context__
    lines = traceback.format_exception_only(error)
    assert not sings("".join(lines))


@pytest.fixture(autouse=True)
def nothing_is_logged_or_printed(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    yield
    printed = capfd.readouterr()
    assert not sings(printed.out) and not sings(printed.err)
    assert not caplog.records


def fails(data, **options):
    with pytest.raises(DataError) as caught:
        count_margins(open_source(data), BOOK, [BOOK.domain.names], **options)
    silent(caught.value)
    assert caught.value.__context__ is None
    return caught.value


def frame(**changed):
    return pd.DataFrame([GOOD, {**GOOD, **changed}])


BAD = {
    "category": {"cat": WORD},
    "category number": {"cat": str(NUMBER)},
    "integer": {"int": NUMBER},
    "negative": {"int": -NUMBER},
    "huge": {"int": f"{NUMBER}{'0' * 40}"},
    "bin": {"bin": NUMBER},
    "bin float": {"bin": NUMBER + 0.5},
    "bin text": {"bin": WORD},
    "day": {"day": date(8675, 3, 9)},
    "flag": {"flag": WORD},
}


@pytest.mark.slow
@pytest.mark.parametrize("place", BAD)
@pytest.mark.parametrize("form", ["csv", "parquet", "pandas", "polars", "arrow", "duckdb"])
def test_values_outside_the_domain(tmp_path, place, form):
    texts = form == "csv" or any(isinstance(value, str) for value in BAD[place].values())
    bad = frame(**BAD[place]).astype(str) if texts else frame(**BAD[place])
    table = pa.Table.from_pandas(bad, preserve_index=False)
    if form == "csv":
        bad.to_csv(tmp_path / "d.csv", index=False)
        fails(tmp_path / "d.csv")
    elif form == "parquet":
        pa.parquet.write_table(table, tmp_path / "d.parquet")
        fails(tmp_path / "d.parquet")
    elif form == "duckdb":
        connection = duckdb.connect()
        connection.register("t", table)
        fails(connection.sql("select * from t"))
    else:
        fails({"pandas": bad, "polars": pl.from_arrow(table), "arrow": table}[form])


@pytest.mark.parametrize("count", [-NUMBER, NUMBER + 0.5, WORD, f"{NUMBER}{'0' * 30}", f"{NUMBER}.5"])
def test_bad_counts(count):
    fails(pd.DataFrame([{**GOOD, "n": count}]), count_column="n")


def test_counts_that_overflow():
    top = int(f"9{NUMBER}{'0' * 11}")
    fails(pd.DataFrame([{**GOOD, "n": top}, {**GOOD, "n": top}]), count_column="n")


def csv_lines(*lines: bytes) -> bytes:
    return b"\n".join([b"cat,int,bin,day,flag,n,who", b"a,1,7,2020-05-05,true,1,u", *lines, b""])


@pytest.mark.parametrize(
    "line",
    [
        b"a,1,7,2020-05-05,true,1,u,zanzibar",
        b"zanzibar",
        b"zanzibar,8675309",
        b'a,1,7,2020-05-05,true,1,"zanzibar',
        b"zanzibar\xff,1,7,2020-05-05,true,1,u",
        b"\xff\xfe\x00zanzibar,1,7,2020-05-05,true,1,u",
        b"a,zanzibar\x00,7,2020-05-05,true,1,u",
        b"a,1,7,2020-13-45zanzibar,true,1,u",
        b'a,"1"zanzibar,7,2020-05-05,true,1,u',
    ],
    ids=range(9),
)
def test_bad_lines(tmp_path, line):
    (tmp_path / "d.csv").write_bytes(csv_lines(line))
    fails(tmp_path / "d.csv")


def test_a_field_longer_than_a_block(tmp_path):
    (tmp_path / "d.csv").write_bytes(csv_lines(b'"' + b"zanzibar\n" * (1 << 20)))
    fails(tmp_path / "d.csv")


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv.gz", ".csv.xz", ".csv.bz2", ".csv.zst"])
def test_damaged_files(tmp_path, suffix):
    (tmp_path / f"d{suffix}").write_bytes(b"PAR1" + f"{WORD}{NUMBER}".encode() * 50 + b"PAR1")
    fails(tmp_path / f"d{suffix}")


def test_damaged_pages_of_a_parquet_file(tmp_path):
    path = tmp_path / "d.parquet"
    pa.parquet.write_table(pa.Table.from_pandas(frame(cat=WORD)), path, compression="snappy")
    raw = bytearray(path.read_bytes())
    raw[4:400] = (WORD.encode() * 60)[:396]
    path.write_bytes(bytes(raw))
    fails(path)


def test_a_value_in_the_path_of_a_partition(tmp_path):
    folder = tmp_path / f"cat={WORD}"
    folder.mkdir()
    table = pa.Table.from_pandas(frame()).drop_columns(["cat"])
    pa.parquet.write_table(table, folder / "1.parquet")
    fails(tmp_path)
    (folder / "2.parquet").write_bytes(b"damaged")
    fails(tmp_path)


def test_columns_that_arrow_cannot_convert():
    fails(pd.DataFrame({**{name: [value] * 2 for name, value in GOOD.items()}, "cat": [WORD, {NUMBER: WORD}]}))


def test_a_stream_that_fails_underway():
    table = pa.Table.from_pandas(frame(), preserve_index=False)

    def broken():
        yield table.to_batches()[0]
        raise ValueError(f"could not convert {WORD} {NUMBER}")

    fails(pa.RecordBatchReader.from_batches(table.schema, broken()))
    fails(duckdb.sql(f"select case when range < 9 then 'a' else error('{WORD}') end as cat, 1 as int, 1 as bin, "
                     "date '2020-05-05' as day, true as flag from range(10)"))  # fmt: skip
    lazy = pl.from_arrow(table).lazy().with_columns(pl.lit(WORD).cast(pl.Int64).alias("int"))
    fails(lazy)


def test_nested_columns():
    rows = {name: [value] for name, value in GOOD.items()}
    fails(pa.table({**rows, "cat": [{WORD: NUMBER}]}))
    fails(pa.table({**rows, "cat": [[WORD]]}))


def test_units():
    many = pd.DataFrame([{**GOOD, "who": WORD}, {**GOOD, "who": WORD}, {**GOOD, "who": None}])
    fails(many, unit_column="who", max_records=1)


def test_impossible_patterns_name_only_the_pattern():
    bad = fails(frame(int=3), impossible=[{"cat": frozenset("a"), "int": frozenset("3")}])
    assert "cat = a, int = 3" in str(bad)


def test_representations():
    table = pa.table({"cat": ["a", WORD], "n": [NUMBER, NUMBER]})
    source = open_source(table)
    failures = Failures()
    recoder = Recoder(BOOK["cat"])
    recoded = recoder(table["cat"].chunk(0))
    recoder.report(recoded, failures)
    batches = read(source, BOOK, ("cat",), failures, count_column="n", unit_column="n")
    (coded,) = batches
    held = [source, failures, recoder, recoded, coded, recode(pa.array([WORD]), BOOK["cat"]), batches]
    assert not any(sings(repr(thing)) or sings(str(thing)) for thing in held)
    counts = count_margins(open_source(pa.table({"cat": ["a"], "n": [NUMBER]})), BOOK, [("cat",)], count_column="n")
    assert not sings(repr(counts)) and not sings(str(counts))
