"""A canary in the data of a cluster: no error, log, event, page or file that the cluster writes may sing."""

from __future__ import annotations

from datetime import date
from urllib.request import ProxyHandler, build_opener

import pyarrow as pa
import pyarrow.parquet
import pytest

from margrave.errors import DataError
from margrave.measure.engines.registry import Counting, RowUnits
from margrave.measure.impossible import Patterns
from margrave.measure.sources.sources import open_source
from margrave.measure.spark.jobs import count_on_spark
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range
from tests.measure.spark.people import counted

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

WORD, NUMBER = "zanzibar", 8675309
CANARIES = (WORD, str(NUMBER), f"{NUMBER:,}")
BOOK = Codebook(
    (
        CodebookEntry("cat", Categories(("a", "b"))),
        CodebookEntry("int", Range(0, 9)),
        CodebookEntry("day", Bins((date(2020, 1, 1), date(2021, 1, 1)))),
    )
)
GOOD = {"cat": "a", "int": 1, "day": date(2020, 5, 5), "who": "u", "n": 1}
PAGES = ["jobs/", "stages/", "SQL/", "executors/", "environment/", "api/v1/applications"]
LISTS = ["jobs", "stages?details=true", "sql?details=true&length=1000", "allexecutors", "environment"]


class Singing(Patterns):
    """Comes to grief in the middle of counting, with a value in its mouth."""

    def look(self, batch):
        raise ValueError(f"{WORD} {NUMBER} {batch.codes['cat']}")


def silent(error):
    assert error.__cause__ is None and error.__context__ is None
    assert not [one for one in CANARIES if one in repr(error)]


def pages(session):
    """All that the pages of the cluster show of its jobs."""
    get = build_opener(ProxyHandler({})).open
    address = session.sparkContext.uiWebUrl
    one = f"api/v1/applications/{session.sparkContext.applicationId}/"
    found = [get(f"{address}/{page}").read() for page in [*PAGES, *(one + name for name in LISTS)]]
    assert len(b"".join(found)) > 10_000
    return found


def test_nothing_of_a_value_is_written_shown_or_said(cluster, written, tmp_path, monkeypatch):
    said = []
    bad = [{"cat": WORD}, {"int": NUMBER}, {"day": date(8675, 3, 9)}, {"who": None}, {"n": -NUMBER}]
    place = tmp_path / f"region={WORD}"
    place.mkdir()
    for changed in bad:
        rows = pa.Table.from_pylist([GOOD] * 3 + [{**GOOD, **changed}])
        pa.parquet.write_table(rows, place / "p.parquet")
        options = {"count_column": "n"} if "n" in changed else {"unit_column": "who", "max_records": 1}
        for data in (cluster.createDataFrame(rows), f"spark:parquet:{tmp_path}"):
            with pytest.raises(DataError, match="1 record") as caught:
                counted(data, [("cat", "int")], BOOK, checked=("day",), **options)
            said.append(caught.value)
    (place / "p.parquet").write_bytes(f"PAR1{WORD}PAR1".encode())
    with pytest.raises(DataError, match="cannot be read as Parquet") as caught:
        counted(f"spark:parquet:{tmp_path}", [("cat",)], BOOK)
    said.append(caught.value)
    counting = Counting(BOOK, (("cat",),), (), ("cat",), RowUnits(None, None, None), Singing(BOOK.domain, ()))
    with pytest.raises(DataError, match="a task of the cluster failed") as caught:
        count_on_spark(open_source(cluster.createDataFrame(pa.table({"cat": ["a", "b"]}))), counting)
    said.append(caught.value)
    for error in said:
        silent(error)
    logs = [path.read_bytes() for path in written.rglob("*") if path.is_file()]
    assert {"driver.log", "stderr"} <= {path.name for path in written.rglob("*")}
    assert any(b"SparkListenerTaskEnd" in log for log in logs) and any(b"CoarseGrainedExecutor" in log for log in logs)
    for text in (*logs, *pages(cluster)):
        assert not [one for one in CANARIES if one.encode() in text]


def test_the_canaries_would_be_found(cluster, written):
    """In a program of one's own that fails: this is why nothing may leave a task."""

    def fails(batches):
        raise ValueError("a parrot, " + "".join(reversed("tsuguac")))

    with pytest.raises(Exception, match="caugust"):
        cluster.range(1).mapInArrow(fails, "id long").collect()
    logs = [path for path in written.rglob("*") if path.is_file() and b"caugust" in path.read_bytes()]
    assert {"driver.log", "stderr"} <= {path.name for path in logs}
