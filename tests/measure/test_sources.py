"""Every kind of source, and what each bad input gets."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from margrave.errors import DataError, UsageError
from margrave.measure.engines.count import count_margins
from margrave.measure.sources.registry import check_columns, file_kinds, register, source_kinds
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range

BOOK = Codebook((CodebookEntry("a", Categories(("x", "y")), missing="m"), CodebookEntry("b", Range(0, 3), missing="m")))
FRAME = pd.DataFrame({"b": [0, 1, 2, 3, 0], "junk": [None, "q", 1, {}, 2.5], "a": ["x", "y", "x", None, "y"]})
EXPECTED = [[1, 0, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 1, 0]]
TEXT = "b,junk,a\n0,,x\n1,q,y\n2,1,x\n3,z,\n0,2.5,y\n"


def counted(source):
    return count_margins(source, BOOK, [("a", "b")])[("a", "b")].tolist()


def table() -> pa.Table:
    return pa.table({"b": FRAME["b"], "junk": [1, 2, 3, 4, 5], "a": FRAME["a"]})


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("d.csv", bytes),
        ("d.CSV", bytes),
        ("d.csv.gz", gzip.compress),
        ("d.csv.bz2", bz2.compress),
        ("d.txt.xz", lzma.compress),
        ("d.csv.zst", lambda raw: pa.compress(raw, "zstd", asbytes=True)),
    ],
)
def test_delimited_text(tmp_path, name, pack):
    write(tmp_path / name, pack(TEXT.encode()))
    assert counted(open_source(name, tmp_path)) == EXPECTED
    assert counted(open_source(tmp_path / name)) == EXPECTED


@pytest.mark.parametrize("delimiter", ["\t", ";", "|"])
def test_delimiters_are_seen_in_the_header(tmp_path, delimiter):
    path = write(tmp_path / ("d.tsv" if delimiter == "\t" else "d.txt"), TEXT.replace(",", delimiter))
    assert counted(open_source(path)) == EXPECTED


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + TEXT,
        TEXT.replace("\n", "\r\n"),
        TEXT.rstrip("\n"),
        "\n\n" + TEXT,
        TEXT.replace("\n", "\n\n"),
        TEXT.replace("q", '"a,\nb ""c"""'),
        TEXT.replace("junk", "a b").replace("q", "é"),
    ],
)
def test_forms_of_text_that_mean_the_same(tmp_path, text):
    assert counted(open_source(write(tmp_path / "d.csv", text))) == EXPECTED


def test_one_column_and_blank_lines(tmp_path):
    path = write(tmp_path / "d.csv", "\na\nx\n\ny\n")
    counts = count_margins(open_source(path), BOOK, [("a",)])
    assert counts[("a",)].tolist() == [1, 1, 1]


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "\ufeffa,b\r\n"])
def test_a_header_alone_counts_nothing(tmp_path, text):
    source = open_source(write(tmp_path / "d.csv", text))
    assert source.columns == ("a", "b")
    assert sum(map(sum, counted(source))) == 0


def test_parquet_and_arrow_files(tmp_path):
    pa.parquet.write_table(table(), tmp_path / "d.parquet")
    pa.feather.write_feather(table(), tmp_path / "d.feather")
    pa.feather.write_feather(table(), tmp_path / "d.arrow", compression="zstd")
    for name in ("d.parquet", "d.feather", "d.arrow"):
        assert counted(open_source(tmp_path / name)) == EXPECTED
    assert open_source(tmp_path / "d.parquet").total == 5


def test_folders_and_globs(tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "_SUCCESS").write_text("")
    pa.parquet.write_table(table().slice(0, 2), folder / "1.parquet")
    texts = table().set_column(0, "b", pa.array(["0", "1", "2", "3", "0"]))
    pa.parquet.write_table(texts.slice(2), folder / "2.parquet")
    for data in ("many", "many/*.parquet", "m*/?.parquet"):
        source = open_source(data, tmp_path)
        assert source.total == 5
        assert counted(source) == EXPECTED
    write(tmp_path / "1.csv", "a,b\nx,0\ny,1\nx,2\n")
    write(tmp_path / "2.csv", "b,a\n3,\n0,y\n")
    assert counted(open_source("*.csv", tmp_path)) == EXPECTED


def test_a_partitioned_folder(tmp_path):
    for name in ("x", "y"):
        (tmp_path / f"a={name}").mkdir()
        pa.parquet.write_table(pa.table({"b": [0, 1]}), tmp_path / f"a={name}" / "part.parquet")
    assert counted(open_source(tmp_path))[:2] == [[1, 1, 0, 0, 0]] * 2


def test_objects_in_memory():
    connection = duckdb.connect()
    connection.register("t", table())
    objects = [
        FRAME,
        FRAME.astype({"a": "category"}),
        FRAME.set_index("junk"),
        pl.from_arrow(table()),
        pl.from_arrow(table()).lazy(),
        pl.from_arrow(table()).with_columns(pl.col("a").cast(pl.Categorical)),
        table(),
        table().to_batches()[0],
        table().to_reader(),
        pa.dataset.dataset(table()),
        connection.sql("select * from t"),
    ]
    for data in objects:
        assert counted(open_source(data)) == EXPECTED, type(data)


def test_no_two_kinds_accept_the_same_data(tmp_path):
    connection = duckdb.connect()
    connection.register("t", table())
    given = [FRAME, pl.from_arrow(table()), pl.from_arrow(table()).lazy(), table(), table().to_batches()[0]]
    given += [table().to_reader(), pa.dataset.dataset(table()), connection.sql("select * from t")]
    given += ["postgresql://h/d.duckdb?table=t", "x.ddb?table=t", tmp_path / "x.duckdb", "C:/x.duckdb?table=t"]
    for data in given:
        assert len([kind.name for kind in source_kinds() if kind.accepts(data) and not kind.general]) == 1, data
    names = ("d.csv", "d.csv.gz", "d.parquet", "d.feather", "d.v2.TXT")
    assert [len([kind for kind in file_kinds() if kind.accepts(Path(name))]) for name in names] == [1] * len(names)
    assert not any(kind.accepts(Path(name)) for kind in file_kinds() for name in ("gz", "d.gz", "d.parquet.gz", "d"))


def test_a_kind_is_registered_once():
    for kind in (*source_kinds(), *file_kinds()):
        with pytest.raises(UsageError, match="already"):
            register(kind)


def test_a_stream_is_read_once():
    source = open_source(table().to_reader())
    assert counted(source) == EXPECTED
    with pytest.raises(UsageError, match="only once"):
        counted(source)
    lasting = [FRAME, table(), pl.from_arrow(table()).lazy(), duckdb.from_arrow(table())]
    for source in map(open_source, lasting):
        assert counted(source) == counted(source) == EXPECTED


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("d.csv", "", "is empty.*header"),
        ("d.csv", "\n\n", "is empty.*header"),
        ("d.csv", "a,b,a\nx,1,y\n", "2 columns called 'a'"),
        ("d.csv", "A,b\nx,1\n", "no column 'a'"),
        ("d.csv", "a,bb\nx,1\n", "no column 'b': did you mean 'bb'"),
        ("d.csv", TEXT.encode("utf-16"), "UTF-16"),
        ("d.csv", b"a,b\xff\nx,1\n", "header that is not UTF-8"),
        ("d.csv", b"a,b\n\xff,1\ny\xfe,2\nx,1\n", "'a' must be UTF-8 text: 2 records break"),
        ("d.csv", "a,b\nx\ny,1,2\nx,1\n", "2 records have more or fewer fields than the 2"),
        ("d.csv", "a,b\n" + "x,1,2\n" * 1000, "1000 records|1,000 records have"),
        ("d.csv", 'a,b,c\nx,1,"q\nx,1,q\nx,1,q\n', "ends inside a field"),
        ("d.csv", 'a,b,c\nx,1,"q\nx,1,q', "ends inside a field"),
        ("d.csv", 'a,b,c\nx,"1,q\nx,1,q\n', "more or fewer fields"),
        ("d.csv.gz", b"not gzip", "cannot be read"),
        ("d.csv.gz", gzip.compress(TEXT.encode() * 9000)[:-40], "cannot be read"),
        ("d.parquet", b"PAR1 nonsense PAR1", "cannot be read as Parquet"),
        ("d.feather", b"nonsense", "cannot be read as an Arrow IPC"),
    ],
)
def test_bad_files(tmp_path, name, content, words):
    path = write(tmp_path / name, content)
    with pytest.raises(DataError, match=words):
        counted(open_source(path))


def test_bad_paths(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.csv does not exist"):
        open_source("nothing.csv", tmp_path)
    with pytest.raises(DataError, match="without Parquet files"):
        open_source(tmp_path)
    with pytest.raises(DataError, match="no file matches"):
        open_source("*.parquet", tmp_path)
    with pytest.raises(UsageError, match="unknown extension") as caught:
        open_source(write(tmp_path / "d.docx", "x"))
    assert all(word in str(caught.value) for word in (".csv,", ".parquet,", ".feather,", ".duckdb,", "(.gz"))
    with pytest.raises(UsageError, match="cannot be a URL of this kind"):
        open_source("mysql://host/db?table=t")
    with pytest.raises(UsageError, match="cannot be a int"):
        open_source(3)


def test_files_of_a_chain_must_all_have_the_columns(tmp_path):
    write(tmp_path / "1.csv", "a,b\nx,0\n")
    write(tmp_path / "2.csv", "a,c\nx,0\n")
    with pytest.raises(DataError, match="file 2 of 2: the data has no column 'b'"):
        counted(open_source("*.csv", tmp_path))


def test_a_duplicate_that_nobody_wants_is_no_matter(tmp_path):
    path = write(tmp_path / "d.csv", "a,b,z,z\nx,0,1,1\n")
    assert counted(open_source(path))[0][0] == 1
    with pytest.raises(DataError, match="2 columns called 'z'"):
        check_columns(open_source(path), ["z"])
    frame = pd.DataFrame([["x", 0, 1, 1]], columns=["a", "b", "z", "z"])
    assert counted(open_source(frame))[0][0] == 1


def test_a_frame_that_arrow_cannot_hold():
    with pytest.raises(DataError, match="every column needs one type"):
        count_margins(open_source(FRAME), Codebook((CodebookEntry("junk", Categories(("q",))),)), [("junk",)])


def test_batches_hold_only_what_was_asked(tmp_path):
    pa.parquet.write_table(table(), tmp_path / "d.parquet")
    for data in (tmp_path / "d.parquet", write(tmp_path / "d.csv", TEXT), FRAME, table()):
        (batch,) = open_source(data).batches(["a", "b"])
        assert batch.schema.names == ["a", "b"]
        assert sum(batch.num_rows for batch in open_source(data).batches([])) == 5


def test_reprs_show_no_data(tmp_path):
    write(tmp_path / "1.csv", "a,b\nx,0\n")
    write(tmp_path / "2.csv", "a,b\nx,0\n")
    for data in (tmp_path / "1.csv", "*.csv", pd.DataFrame({"a": ["SECRET"]}), pa.table({"a": ["SECRET"]})):
        assert "SECRET" not in repr(open_source(data, tmp_path))


def test_dates_in_text_and_in_parquet_count_alike(tmp_path):
    from datetime import date

    book = Codebook((CodebookEntry("d", Bins((date(2020, 1, 1), date(2020, 2, 1), date(2020, 3, 1)))),))
    frame = pa.table({"d": pa.array([date(2020, 1, 5), date(2020, 2, 1)], pa.date32())})
    pa.parquet.write_table(frame, tmp_path / "d.parquet")
    write(tmp_path / "d.csv", "d\n2020-01-05\n2020-02-01\n")
    for name in ("d.csv", "d.parquet"):
        assert count_margins(open_source(tmp_path / name), book, [("d",)])[("d",)].tolist() == [1, 1]
