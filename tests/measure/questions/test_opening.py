"""Opening a data set: recoding, bounds on the rows of a unit, and what is said to the curator."""

import stat
from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest

from margrave.errors import DataError, RefusedError, UsageError
from margrave.measure.questions.engine import Engine
from margrave.measure.questions.opening import open_data
from margrave.measure.questions.store import STORE
from margrave.planning.questions.data_spec import DataSpec

TEXT = """
unit = "id"
[tables.people]
max_records = 1
[tables.people.columns]
sex = ["f", "m"]
kind = { values = ["a"], other = "else" }
age = { range = [0, 99] }
pay = { number = [-10, 10], step = 0.5 }
born = { days = [2000-01-01, 2000-12-31] }
[tables.visits]
max_records = 2
[tables.visits.columns]
ward = ["a", "b", "c"]
"""
SPEC = DataSpec.load(TEXT)
PEOPLE = {"id": ["1"], "sex": ["f"], "kind": ["a"], "age": ["7"], "pay": ["1.2"], "born": ["2000-02-01"]}
VISITS = {"id": ["1", "1"], "ward": ["a", "b"]}


def opened(tmp_path, people=PEOPLE, visits=VISITS, name="store", spec=SPEC):
    open_data(spec, {"people": pa.table(people), "visits": pa.table(visits)}, tmp_path / name)
    return Engine(tmp_path / name)


def stored(engine, table):
    return sorted(engine._connection.execute(f"SELECT * FROM t{table}").fetchall())


def test_rows_become_whole_numbers(tmp_path):
    people = {
        "id": [1.0, 2.0, 3.0, 4.0],
        "sex": ["f", None, "m", ""],
        "kind": ["a", "zzz", None, "a"],
        "age": [0, None, 99, 5],
        "pay": [0.24, -1e300, float("inf"), float("nan")],
        "born": pd.to_datetime(["2000-01-02", "1990-01-01", "2030-01-01", None]),
    }
    engine = opened(tmp_path, pd.DataFrame(people).pipe(pa.Table.from_pandas).to_pydict())
    rows = {row[0]: row[1:] for row in engine._connection.execute("SELECT * FROM t0").fetchall()}
    # In the order of their names: age, born, kind, pay, sex.
    days = 10957
    found = sorted(rows.values(), key=str)
    assert sorted(found, key=str) == sorted(
        [(0, days + 1, 0, 0, 0), (None, days, 1, -20, None), (99, days + 365, 1, 20, 1), (5, None, 0, None, None)],
        key=str,
    )


def test_a_file_is_read_as_its_table_says_that_it_is_written(tmp_path):
    """And nobody is told how: it is no part of what is declared in public."""
    text = TEXT.replace("[tables.people]\n", '[tables.people]\ndecimal = ","\ndelimiter = ";"\nencoding = "latin-1"\n')
    spec = DataSpec.load(text.replace('"f", "m"', '"f", "hård"'))
    rows = "id;sex;kind;age;pay;born\n1;hård;a;7,0;1,2;2000-02-01\n"
    (tmp_path / "people.txt").write_bytes(rows.encode("latin-1"))
    open_data(spec, {"people": tmp_path / "people.txt", "visits": pa.table(VISITS)}, tmp_path / "store")
    assert stored(Engine(tmp_path / "store"), 0)[0][1:] == (7, 10957 + 31, 0, 2, 1)
    assert "latin" not in str(spec.public_dict()) and spec == DataSpec.load(TEXT.replace('"f", "m"', '"f", "hård"'))


def test_numbers_are_rounded_to_the_step_and_clamped_in_every_type(tmp_path):
    for number, values in enumerate((["0.25", "0.24", "-0.25", "99", "1e400"], [0.25, 0.24, -0.25, 99.0, 1e300])):
        count = len(values)
        people = {"id": list("abcde"), "sex": ["f"] * count, "kind": ["a"] * count, "age": [1] * count}
        people |= {"pay": values, "born": ["2000-01-01"] * count}
        engine = opened(tmp_path, people, name=f"s{number}")
        assert sorted(row[0] for row in engine._connection.execute("SELECT c3 FROM t0").fetchall()) == [0, 0, 1, 20, 20]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("sex", "CANARY", "declared values"),
        ("age", "100", "whole number from 0 to 99"),
        ("pay", "CANARY", "must be a number"),
        ("born", "CANARY", "must be a day"),
        ("id", "", "must name the unit"),
    ],
)
def test_what_cannot_be_recoded_is_said_to_the_curator_without_values(tmp_path, column, value, said):
    with pytest.raises(DataError, match=said) as caught:
        opened(tmp_path, PEOPLE | {column: [value]})
    assert "CANARY" not in str(caught.value) and caught.value.__context__ is None
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_its_owners_alone_and_written_once(tmp_path):
    opened(tmp_path).close()
    place = tmp_path / "store"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE((place / STORE).stat().st_mode) == 0o600
    assert [path.name for path in place.iterdir()] == [STORE]
    with pytest.raises(RefusedError, match="opened once"):
        opened(tmp_path)
    with pytest.raises(UsageError, match="no data is named"):
        open_data(SPEC, {"people": pa.table(PEOPLE)}, tmp_path / "other")


def test_a_table_has_no_more_rows_than_are_declared(tmp_path):
    spec = DataSpec.load(TEXT.replace("max_records = 2", "max_records = 2\nrows = 3"))
    with pytest.raises(DataError, match="more rows than the 3 that are declared"):
        opened(tmp_path, visits=many(range(2), 2), spec=spec)
    assert list(tmp_path.iterdir()) == []


def test_the_engine_is_locked(tmp_path):
    engine = opened(tmp_path)
    for text in (
        "SELECT * FROM read_csv('/etc/passwd')",
        f"ATTACH '{tmp_path}/x.db'",
        f"COPY t0 TO '{tmp_path}/out.csv'",
        "SET memory_limit = '10GB'",
        "SET enable_external_access = true",
        "INSERT INTO t0 SELECT * FROM t0",
    ):
        with pytest.raises(Exception, match=r"(?i)disabled|locked|read-only|permission|cannot"):
            engine._connection.execute(text)


def many(units, rows):
    """Units with as many different visits as there are wards, several times over."""
    ids = [f"u{unit}" for unit in units for _ in range(rows)]
    return {"id": ids, "ward": [["a", "b", "c"][number % 3] for number in range(len(ids))]}


def kept(engine):
    """The rows that each unit keeps, by the salt that stands for it."""
    pairs = engine._connection.execute("SELECT s, c0 FROM t1 JOIN units USING (u)").fetchall()
    found = {}
    for salt, ward in pairs:
        found.setdefault(salt, []).append(ward)
    return {salt: sorted(wards) for salt, wards in found.items()}


def test_rows_beyond_the_bound_are_left_out_by_chance_alone(tmp_path):
    engine = opened(tmp_path, visits=many(range(300), 6))
    held = kept(engine)
    assert len(held) == 300 and all(len(wards) == 2 for wards in held.values())
    times = Counter(ward for wards in held.values() for ward in wards)
    assert all(150 < times[ward] < 250 for ward in range(3))


def test_which_rows_are_kept_depends_on_no_order_and_on_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setattr("margrave.measure.questions.opening.os.urandom", lambda count: bytes(count))
    whole = many(range(40), 6)
    first = kept(opened(tmp_path, visits=whole, name="first"))
    backwards = {name: values[::-1] for name, values in whole.items()}
    assert kept(opened(tmp_path, visits=backwards, name="backwards")) == first
    fewer = many(range(1, 40), 6)
    fewer["ward"] = whole["ward"][6:]
    without = kept(opened(tmp_path, visits=fewer, name="without"))
    assert without.items() < first.items() and len(without) == 39


def test_a_unit_of_a_single_table_is_one_however_many_rows_it_has(tmp_path):
    spec = DataSpec.load('unit = "id"\n[tables.visits]\nmax_records = 2\n[tables.visits.columns]\nward = ["a", "b"]\n')
    rows = {"id": ["1", "1", "1", "1", "2", "2", "3"], "ward": ["a", "a", "b", "b", "a", "b", "a"]}
    open_data(spec, {"visits": pa.table(rows)}, tmp_path / "store")
    engine = Engine(tmp_path / "store")
    assert sorted(Counter(row[0] for row in stored(engine, 0)).values()) == [1, 2, 2]
    assert len(engine._connection.execute("SELECT * FROM units").fetchall()) == 3
