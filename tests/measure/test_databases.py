"""DuckDB files and PostgreSQL by URL: read only, the same counts as from memory, and no credential anywhere."""

from __future__ import annotations

import builtins
import logging
import subprocess
import sys
from datetime import date
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from margrave.errors import DataError, UsageError
from margrave.measure.engines.count import count_margins
from margrave.measure.sources.databases import duckdb_files
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range

SECRET = "hunter2"
BOOK = Codebook(
    (
        CodebookEntry("mood", Categories(("happy", "sad")), missing="?"),
        CodebookEntry("age", Bins((Decimal(0), Decimal("17.5"), Decimal(120)))),
        CodebookEntry("rooms", Range(1, 9), other="more"),
        CodebookEntry("born", Bins((date(1900, 1, 1), date(1980, 1, 1), date(2030, 1, 1)))),
        CodebookEntry("member", Categories(("true", "false"), boolean=True)),
        CodebookEntry("score", Categories(("1", "2.5"))),
    )
)
NAMES = BOOK.domain.names


def records(rows=2000):
    rng = np.random.default_rng(5)
    moods = np.array(["happy", "sad", None], dtype=object)[rng.integers(0, 3, rows)]
    return pa.table(
        {
            "person": pa.array(rng.integers(0, 900, rows)),
            "mood": pa.array(moods.tolist(), pa.string()),
            "age": pa.array([Decimal(int(n)) / 2 for n in rng.integers(0, 200, rows)], pa.decimal128(5, 1)),
            "rooms": pa.array(rng.integers(1, 12, rows), pa.int32()),
            "born": pa.array([date(1950 + int(n), 3, 1) for n in rng.integers(0, 60, rows)]),
            "member": pa.array(rng.integers(0, 2, rows).astype(bool)),
            "score": pa.array([("1.00", "2.50")[n] for n in rng.integers(0, 2, rows)]),
            'odd "name"': pa.array([SECRET] * rows),
        }
    )


PEOPLE = records()


def in_memory():
    data = PEOPLE.set_column(6, "score", PEOPLE["score"].cast(pa.decimal128(4, 2)))
    return count_margins(open_source(data), BOOK, [NAMES])[NAMES]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("duck") / "survey.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", PEOPLE)
        connection.execute("create table people as select * replace (score::decimal(4,2) as score) from given")
        connection.execute('create schema "my.schema"')
        connection.execute('create view "my.schema"."a ""view""" as select * from people')
        connection.execute("create view other as select * from read_csv('/etc/passwd')")
        connection.execute(f"create view failing as select error('{SECRET}') as mood from people")
    return path


@pytest.fixture(scope="module")
def url(server):
    """The people in a schema of the test server, and views that behave badly."""
    address = server.new_schema("people_of_measure")
    with server.connect() as connection:
        connection.execute("set search_path to people_of_measure")
        connection.execute("create type mood as enum ('happy', 'sad')")
        connection.execute(
            "create table people (person bigint, mood mood, age numeric, rooms int, born date, member boolean, "
            'score numeric(4, 2), "odd ""name""" text, id uuid default gen_random_uuid())'
        )
        with (
            connection.cursor() as cursor,
            cursor.copy(
                'copy people (person, mood, age, rooms, born, member, score, "odd ""name""") from stdin'
            ) as into,
        ):
            for row in PEOPLE.to_pylist():
                into.write_row(list(row.values()))
        connection.execute(
            "create function writes() returns text language sql volatile as "
            "$$ insert into people (person) values (1) returning 'sad' $$"
        )
        connection.execute("create view writing as select writes() as mood")
        connection.execute(
            f"create view failing as select ('{SECRET}' || person)::int::text as mood from people where person > 3"
        )
        connection.execute("create view wide as select 'happy' as mood from generate_series(1, 300000)")
    return address


def counted(source, **options):
    return count_margins(open_source(source), BOOK, [NAMES], **options)[NAMES]


@pytest.mark.slow
def test_a_duckdb_file_counts_like_memory(file):
    for data in (f"{file}?table=people", f'{file}?table="my.schema"."a%20""view"""', f"{file}?table=main.people"):
        np.testing.assert_array_equal(counted(data), in_memory())
    source = open_source("survey.duckdb?table=people", file.parent)
    assert source.columns[:2] == ("person", "mood")
    assert next(batch.schema.names for batch in source.batches(["age", "mood"])) == ["age", "mood"]
    assert sum(batch.num_rows for batch in source.batches([])) == PEOPLE.num_rows
    assert str(file) not in repr(source)


@pytest.mark.slow
def test_postgresql_counts_like_memory(url):
    np.testing.assert_array_equal(counted(f"{url}&table=people"), in_memory())
    np.testing.assert_array_equal(counted(f"{url}&table=people_of_measure.people"), in_memory())
    np.testing.assert_array_equal(counted(f"{url.replace('postgresql', 'postgres')}&table=%22people%22"), in_memory())
    source = open_source(f"{url}&table=people")
    assert len(source.columns) == 9
    assert sum(batch.num_rows for batch in source.batches([])) == PEOPLE.num_rows
    ids = pa.Table.from_batches(source.batches(["id", 'odd "name"']))
    assert all(len(one) == 36 for one in ids["id"].to_pylist())


def test_units_of_a_database(file, url):
    for data in (f"{file}?table=people", f"{url}&table=people"):
        total = count_margins(open_source(data), BOOK, [()], unit_column="person", max_records=1)[()]
        assert total == len(set(PEOPLE["person"].to_pylist()))


def test_postgresql_is_streamed_and_can_be_left_early(url):
    sizes = []
    batches = open_source(f"{url}&table=wide").batches(["mood"])
    for batch in batches:
        sizes.append(batch.num_rows)
        if len(sizes) == 3:
            break
    batches.close()
    assert max(sizes) <= 1 << 16
    assert count_margins(open_source(f"{url}&table=wide"), BOOK, [("mood",)])[("mood",)].tolist() == [300_000, 0, 0]


def test_nothing_can_be_written(file, url, server):
    before = file.read_bytes()
    silent(lambda: count_margins(open_source(f"{url}&table=writing"), BOOK, [("mood",)]))
    with server.connect() as connection:
        assert connection.execute("select count(*) from people_of_measure.people").fetchone() == (PEOPLE.num_rows,)
    counted(f"{file}?table=people")
    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["survey.duckdb"]


def test_duckdb_loads_no_extension_and_reads_no_other_file(file):
    silent(lambda: open_source(f"{file}?table=other"))
    with duckdb_files._connected(file) as run:
        reader = run("select name, value from duckdb_settings()")
        settings = {row["name"]: row["value"] for row in reader.read_all().to_pylist()}
    assert settings["autoinstall_known_extensions"] == settings["autoload_known_extensions"] == "false"
    assert settings["enable_external_access"] == "false"


def silent(call, kind=DataError):
    """The call fails with an error in which, and behind which, there is no secret."""
    with pytest.raises(kind) as caught:
        call()
    error: BaseException | None = caught.value
    assert error.__context__ is None and error.__cause__ is None
    assert SECRET not in str(error) and "postgres" not in str(error).replace("postgresql://user@host/db", "")
    return str(error)


@pytest.mark.parametrize("table", ["failing", "absent", "people_of_measure.absent"])
def test_errors_of_a_server_are_not_repeated(url, table, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    silent(lambda: count_margins(open_source(f"{url}&table={table}"), BOOK, [("mood",)]))
    assert not caplog.records and capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://someone:{SECRET}@localhost:1/db?table=people",
        f"postgresql://someone:{SECRET}@localhost:port/db?table=people",
        f"postgresql://someone:{SECRET}@localhost:1/db?table=people&bogus=1",
        f"postgresql://someone:{SECRET}@[::1/db?table=people",
        f"postgres://localhost:1/db?password={SECRET}&table=people",
    ],
)
def test_credentials_are_not_repeated(address, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    text = silent(lambda: open_source(address))
    assert "someone" not in text and "localhost" not in text
    assert not caplog.records and capfd.readouterr() == ("", "")


def test_a_wrong_login_and_the_representation(url):
    other = url.replace("margrave@", f"stranger:{SECRET}@")
    assert "stranger" not in silent(lambda: open_source(f"{other}&table=people"))
    right = open_source(f"{url.replace('margrave@', f'margrave:{SECRET}@')}&table=people")
    assert SECRET not in repr(right) and "margrave" not in repr(right)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (f"postgresql://me:{SECRET}@host/db", "needs one table"),
        (f"postgresql://me:{SECRET}@host/db?table=a&table=b", "needs one table"),
        (f"postgresql://me:{SECRET}@host/db?table=", "is written people"),
        (f"postgresql://me:{SECRET}@host/db?table=a..b", "is written people"),
        (f'postgresql://me:{SECRET}@host/db?table="a', "is written people"),
        (f"postgresql://me:{SECRET}@host/db?table=a.", "is written people"),
        (f"postgresq://me:{SECRET}@host/db?table=a", "URL of this kind"),
        (f"postgresql:/me:{SECRET}@host/db?table=a", "URL of this kind"),
        ("survey.duckdb", "needs one table"),
        ("survey.duckdb?table=a&threads=9", "nothing else"),
    ],
)
def test_bad_names(data, words):
    assert words in silent(lambda: open_source(data), UsageError)


def test_a_table_name_is_never_sql(file, url):
    for data in (f"{file}?table=", f"{url}&table="):
        silent(lambda data=data: open_source(data + "people; drop table people"))
        silent(lambda data=data: open_source(data + "people) to stdout; select (1"))


def test_bad_duckdb_files(tmp_path, file):
    assert "does not exist" in silent(lambda: open_source("no.duckdb?table=t", tmp_path))
    (tmp_path / "bad.duckdb").write_bytes(b"nonsense " + SECRET.encode())
    assert "cannot be read as DuckDB" in silent(lambda: open_source("bad.duckdb?table=t", tmp_path))
    assert "check the name of the table" in silent(lambda: open_source(f"{file}?table=absent"))
    silent(lambda: count_margins(open_source(f"{file}?table=failing"), BOOK, [("mood",)]))


@pytest.mark.parametrize(("data", "extra"), [("postgresql://h/d?table=t", "postgres"), ("x.duckdb?table=t", "duckdb")])
def test_a_missing_driver_names_its_extra(tmp_path, monkeypatch, data, extra):
    (tmp_path / "x.duckdb").touch()
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith(("adbc", "duckdb")):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=rf"pip install 'margrave\[{extra}\]'"):
        open_source(data, tmp_path)


@pytest.mark.slow
def test_drivers_are_loaded_only_for_a_database():
    program = (
        "import sys, margrave.measure.engines.count, margrave.measure.sources.sources; "
        "sys.exit(any(name.split('.')[0] in ('duckdb', 'adbc_driver_manager', 'numba') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
