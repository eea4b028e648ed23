"""Counting inside a database: the same counts and the same errors as from records that are read."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import margrave as mg
from margrave.errors import DataError, SpecError, UsageError
from margrave.measure.engines import inside
from margrave.measure.engines.count import count_margins, count_tables
from margrave.measure.engines.registry import Counting, RowUnits, engine_for
from margrave.measure.impossible import Patterns
from margrave.measure.sources.databases.common import opened
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Range

pytestmark = pytest.mark.slow

EDGES = (Decimal("-1.5"), Decimal(0), Decimal("2.5"), Decimal(7))
BORN = (date(1950, 1, 1), date(1980, 6, 1), date(2001, 1, 1))
BOOK = Codebook(
    (
        CodebookEntry("word", Categories(("a", "A", "ä")), missing="none", other="else"),
        CodebookEntry("yes", Categories(("true", "false"), boolean=True)),
        CodebookEntry("whole_left", Bins(EDGES), other="else", missing="99"),
        CodebookEntry("whole_right", Bins(EDGES, closed="right"), other="else"),
        CodebookEntry("exact_left", Bins(EDGES), other="else"),
        CodebookEntry("exact_right", Bins(EDGES, closed="right"), other="else", missing="none"),
        CodebookEntry("born_left", Bins(BORN), other="else"),
        CodebookEntry("born_right", Bins(BORN, closed="right"), other="else"),
        CodebookEntry("range", Range(0, 4), other="else"),
        CodebookEntry("real", Bins(EDGES), other="else"),
    )
)
NAMES = BOOK.domain.names
PAIRS = [*combinations(NAMES, 2), ()]
COLUMNS = (
    "word {text}, yes boolean, whole_left bigint, whole_right int, exact_left numeric(6, 2), exact_right {exact}, "
    "born_left date, born_right date, range smallint, real double precision"
)


def rows(number, seed=1):
    chance = np.random.default_rng(seed)

    def some(values):
        return [values[place] for place in chance.integers(0, len(values), number)]

    quarters = [None, *(Decimal(quarter) / 4 for quarter in range(-9, 33))]
    numbers = [None, 99, *range(-3, 9)]
    days = [None, *(day + timedelta(step) for day in BORN for step in (-1, 0, 1))]
    columns = [
        some(["a", "A", "ä", "a ", "", None, "zz"]),
        some([True, False]),
        some(numbers),
        some(numbers),
        some(quarters),
        some(quarters),
        some(days),
        some(days),
        some([None, 0, 1, 4, 5]),
        some([None, -1.5, 0.0, -0.0, 2.5, 7.0, 7.5]),
    ]
    return list(zip(*columns, strict=True))


@pytest.fixture(scope="module")
def duck(tmp_path_factory):
    path = tmp_path_factory.mktemp("inside") / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"create table people ({COLUMNS.format(text='text', exact='decimal(20, 4)')})")
        connection.executemany(f"insert into people values ({', '.join('?' * len(NAMES))})", rows(700))
        connection.execute("create table folded (word varchar collate nocase)")
        connection.execute("insert into folded values ('a'), ('A'), ('A')")
    return path


@pytest.fixture(scope="module")
def post(server):
    address = server.new_schema("inside")
    with server.connect() as connection:
        connection.execute("set search_path to inside")
        connection.execute(f"create table people ({COLUMNS.format(text='char(3)', exact='numeric')})")
        with connection.cursor() as cursor, cursor.copy("copy people from stdin") as into:
            for row in rows(700):
                into.write_row(row)
    return address


@pytest.fixture(params=["duck", "post"])
def place(request):
    """How a table of a database is named."""
    found = request.getfixturevalue(request.param)
    return lambda table: f"{found}{'&' if '?' in str(found) else '?'}table={table}"


def test_every_type_is_counted_as_its_records_are(place):
    there, here = (count_margins(open_source(place("people")), BOOK, PAIRS, engine=name) for name in ("sql", "local"))
    assert there.keys() == here.keys()
    for margin, counts in here.items():
        np.testing.assert_array_equal(there[margin], counts, err_msg=str(margin))
        assert counts.sum() == 700


def test_occupied_cells_of_large_tables_are_the_same(place):
    wanted = [NAMES[:4], NAMES[3:]]
    results = [
        count_tables(open_source(place("people")), BOOK, wanted, engine=name, dense_cells=100)[1]
        for name in ("sql", "local")
    ]
    for margin in wanted:
        there, here = (result[margin] for result in results)
        np.testing.assert_array_equal(there.cells, here.cells)
        np.testing.assert_array_equal(there.counts, here.counts)


def test_no_collation_takes_two_texts_for_one(duck):
    for name in ("sql", "local"):
        counts = count_margins(open_source(f"{duck}?table=folded"), BOOK, [("word",)], engine=name)
        assert counts[("word",)][:2].tolist() == [1, 2]


def test_what_does_not_fit_is_said_by_column_rule_and_number(place):
    strict = Codebook(
        (
            CodebookEntry("word", Categories(("a", "A", "ä"))),
            CodebookEntry("whole_left", Bins(EDGES)),
            CodebookEntry("exact_right", Bins(EDGES)),
        )
    )
    said = []
    for name in ("sql", "local"):
        with pytest.raises(DataError) as caught:
            count_margins(open_source(place("people")), strict, combinations(strict.domain.names, 2), engine=name)
        said.append(str(caught.value))
    assert said[0] == said[1] and "column 'whole_left' must lie in the bins" in said[0]


def test_attributes_and_combinations_that_no_table_shows_are_looked_at(place, monkeypatch):
    monkeypatch.setattr("margrave.measure.impossible._TABLE_CELLS", 0)
    patterns = [{"yes": frozenset({"true"}), "whole_left": frozenset({"else"})}]
    for name in ("sql", "local"):
        with pytest.raises(DataError, match="yes = true, whole_left = else is declared impossible"):
            count_margins(open_source(place("people")), BOOK, [("range",)], impossible=patterns, engine=name)
    strict = Codebook((*BOOK.entries[:-2], CodebookEntry("range", Range(0, 4))))
    with pytest.raises(DataError, match="'range' must not be missing"):
        count_margins(open_source(place("people")), strict, [("yes",)], checked=("range",), engine="sql")


def test_all_tables_are_of_one_moment(post, server, monkeypatch):
    """Somebody adds a record after the first table."""
    first = inside.representative

    def adding(one, entry):
        if entry.name == "range":
            with server.connect() as connection:
                connection.execute("insert into inside.people (yes) values (true)")
        return first(one, entry)

    monkeypatch.setattr(inside, "representative", adding)
    source = open_source(f"{post}{'&' if '?' in post else '?'}table=people")
    counts = count_margins(source, BOOK, [("yes",), ("range",)], engine="sql")
    assert counts[("yes",)].sum() == counts[("range",)].sum()
    with server.connect() as connection:
        connection.execute("delete from inside.people where range is null and word is null and born_left is null")


def test_what_only_records_can_tell_is_refused_inside(duck):
    source = open_source(f"{duck}?table=people")
    with pytest.raises(UsageError, match="record by record"):
        count_margins(source, BOOK, [()], unit_column="word", max_records=1, engine="sql")
    with pytest.raises(UsageError, match="tabulated"):
        count_margins(source, BOOK, [()], count_column="range", engine="sql")
    with pytest.raises(UsageError, match="no table of a database"):
        count_margins(open_source(pa.table({"yes": ["true"]})), BOOK, [("yes",)], engine="sql")


def test_few_tables_are_counted_inside_and_many_are_read(duck):
    source = open_source(f"{duck}?table=people")

    def chosen(*tables):
        names = BOOK.domain.margin({name for table in tables for name in table})
        wanted = Counting(BOOK, tables, (), names, RowUnits(None, None, None), Patterns(BOOK.domain, ()))
        return engine_for(source, wanted).name

    assert chosen(("word", "yes", "range")) == "sql"
    quick = [name for name in NAMES if not name.startswith("exact")]
    assert chosen(*combinations(quick, 2)) == "local"


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery", "trino", "databricks", "tsql"])
def test_what_is_asked_can_be_written_in_the_sql_of_warehouses(duck, dialect):
    """Written in another dialect and read from there again, it still counts the same."""
    sqlglot = pytest.importorskip("sqlglot")
    source = open_source(f"{duck}?table=people")
    said = []

    @contextmanager
    def connect():
        with source.connect() as run:

            def asked(query):
                said.append(query)
                return run(sqlglot.transpile(query, read=dialect, write="duckdb")[0])

            yield asked

    there = opened(connect, source.table, "trouble", source.costs, dialect)
    wanted = [("word", "whole_left"), ("whole_right", "born_left"), ("range", "yes", "born_right")]
    found = count_margins(there, BOOK, wanted, engine="sql")
    for margin, counts in count_margins(source, BOOK, wanted, engine="local").items():
        np.testing.assert_array_equal(found[margin], counts)
    assert len(said) == 4 and ("`people`" in said[1]) == (dialect in ("bigquery", "databricks"))


def test_a_spec_says_who_counts(duck):
    spec = {
        "data": {"source": f"{duck}?table=people", "engine": "sql"},
        "attributes": {"yes": {"values": ["true", "false"]}},
        "release": {"tables": [["yes"]]},
        "privacy": {"epsilon": 1},
    }
    assert mg.count(mg.Spec.from_dict(spec)).counts[("yes",)].sum() == 700
    spec["data"]["engine"] = "cluster"
    with pytest.raises(SpecError, match="unknown choice 'cluster'"):
        mg.Spec.from_dict(spec)
