"""A plan says who will count, and what that takes: as it is then decided where the data is."""

from __future__ import annotations

from itertools import combinations

import pytest

import margrave as mg
from margrave.planning.forecast.engines import DUCKDB_FILE, POSTGRESQL, costs_of, predicted
from margrave.planning.ways.release import remarks

NAMES = "abcdefgh"


def plan(tables, **data):
    spec = {
        "attributes": {name: {"values": ["0", "1", "2"]} for name in NAMES},
        "release": {"tables": [list(table) for table in tables]},
        "privacy": {"epsilon": 1},
    }
    return mg.plan(mg.Spec.from_dict(spec | ({"data": data} if data else {})))


PAIRS = list(combinations(NAMES, 2))
ONE = ["ab"]
POSTGRES, DUCK = "postgresql://me@host/db?table=people", "people.duckdb?table=people"


@pytest.mark.parametrize(
    ("tables", "data", "engine"),
    [
        (ONE, {}, "auto"),
        (ONE, {"source": "people.csv"}, "local"),
        (ONE, {"source": POSTGRES}, "sql"),
        (PAIRS, {"source": POSTGRES}, "local"),
        (PAIRS, {"source": POSTGRES, "engine": "sql"}, "sql"),
        (ONE, {"source": POSTGRES, "engine": "local"}, "local"),
        (ONE, {"source": POSTGRES, "unit": {"column": "who", "max_records": 2}}, "local"),
        (ONE, {"source": DUCK}, "sql"),
        (ONE, {"source": "spark:db.people"}, "spark"),
        (ONE, {"source": "spark:parquet:people"}, "spark"),
        (ONE, {"source": "spark:parquet:people", "engine": "local"}, "local"),
    ],
)
def test_the_engine_follows_from_what_the_spec_names(tables, data, engine):
    found = predicted(plan(tables, **data))
    assert found.engine == engine
    assert engine == "auto" or f"({engine})" in found.words
    assert 0 < found.seconds < 100 and found.cells >= 9


def test_the_words_and_the_form_of_a_plan_hold_it():
    said = remarks(plan(ONE, source="spark:db.people"))
    assert "Counting: 1 table of 9 cells, by the workers of Spark (spark); each task hands on about" in "".join(
        said.words
    )
    assert said.json["counting"]["engine"] == "spark" and said.json["counting"]["cells"] == 9


def test_frames_take_longer_than_files_and_databases_have_costs():
    frame, files = (predicted(plan(PAIRS, source=name)).seconds for name in ("spark:people", "spark:parquet:people"))
    assert frame > files
    assert costs_of(POSTGRES) is POSTGRESQL and costs_of("A.DDB?table=x") is DUCKDB_FILE and costs_of("a.csv") is None
    assert POSTGRESQL.reading(3, exact=1) > POSTGRESQL.reading(3)
