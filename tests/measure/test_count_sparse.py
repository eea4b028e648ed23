"""Exact tables far larger than memory: only their occupied cells are counted, as DuckDB counts them."""

import tracemalloc

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.sparse import SparseTable
from margrave.cli import app
from margrave.errors import RefusedError, UsageError
from margrave.spec.spec import Spec

NAMES = [f"a{index}" for index in range(12)]
SPEC = {
    "attributes": {name: {"range": [0, 9]} for name in NAMES},
    "release": {"tables": [["a0", "a1"]]},
    "privacy": {"epsilon": 1},
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return pa.table({name: rng.integers(0, 10, 3000) // 4 for name in NAMES})


def test_a_table_of_a_million_million_cells_is_counted_as_duckdb_counts_it(rows):
    tracemalloc.start()
    exact = mg.count(Spec.from_dict(SPEC), rows, tables=[tuple(NAMES), ("a0", "a1"), tuple(NAMES[:9])])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 << 20
    assert set(exact.counts) == {("a0", "a1")} and len(exact.margins) == 3
    for margin in exact.sparse:
        names = ", ".join(margin)
        duckdb.register("records", rows)
        expected = duckdb.sql(f"select {names}, count(*) as count from records group by all order by all").df()
        found = exact.to_pandas(margin)
        pd.testing.assert_frame_equal(
            found.astype(np.int64), expected.astype(np.int64), check_dtype=False, check_column_type=False
        )
        assert exact.sparse[margin].total == 3000
        assert "3000" not in repr(exact.sparse[margin])
    assert exact.table(("a0", "a1")).total == 3000
    with pytest.raises(UsageError, match="too large to hold all its cells"):
        exact.table(tuple(NAMES))


def test_a_release_of_such_a_table_is_refused(rows):
    spec = {**SPEC, "release": {"tables": [NAMES], "strategy": "margins", "nonnegative": "none"}}
    with pytest.raises(RefusedError):
        mg.release(Spec.from_dict(spec), rows)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_writes_it_to_a_file(rows, tmp_path, ending):
    text = "\n".join(
        [
            "[attributes]",
            *(f"{name} = {{ range = [0, 9] }}" for name in NAMES),
            "[release]\nall = 1\n[privacy]\nepsilon = 1",
        ]
    )
    (tmp_path / "spec.toml").write_text(text, encoding="utf-8")
    duckdb.register("records", rows)
    duckdb.sql("select * from records").write_parquet(str(tmp_path / "data.parquet"))
    out = tmp_path / f"out.{ending}"
    command = ["count", str(tmp_path / "spec.toml"), "--data", str(tmp_path / "data.parquet"), "--not-private"]
    runner = CliRunner()
    assert runner.invoke(app.app, [*command, "--out", str(out)]).exit_code != 0
    done = runner.invoke(app.app, [*command, "--table", ",".join(NAMES), "--out", str(out)])
    assert done.exit_code == 0, done.output
    grouped = f"select count(*) as count from records group by {', '.join(NAMES)}"
    sums = "select sum(count), sum(count * count), count(*) from"
    assert duckdb.sql(f"{sums} '{out}'").fetchall() == duckdb.sql(f"{sums} ({grouped})").fetchall()


@pytest.mark.parametrize(
    ("margin", "cells", "counts", "match"),
    [
        (("b", "a"), [0], [1], "order of the domain"),
        (("a",), [0, 1], [1], "one count for each cell"),
        (("a",), [2], [1], "does not have"),
        (("a",), [1, 0], [1, 1], "must increase"),
    ],
)
def test_sparse_tables_that_cannot_be(margin, cells, counts, match):
    domain = Domain((Attribute("a", ("0", "1")), Attribute("b", ("0", "1"))))
    with pytest.raises(UsageError, match=match):
        SparseTable(domain, margin, np.array(cells), np.array(counts))
