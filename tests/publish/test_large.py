"""Large releases: narrow Parquet files of bounded size, made and read one at a time, and readable by others."""

import json
import tracemalloc
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.algebra.domain import Attribute, Domain
from margrave.budget.units import ZCDP
from margrave.crossing import Answer, Measured
from margrave.errors import BundleError, VerificationError
from margrave.noise import Generator
from margrave.planning.planner import make_plan
from margrave.publish.bundle.parts import large, layout, stored
from margrave.publish.bundle.parts.layout import Layout, Parts, is_large
from margrave.publish.release import Release
from margrave.publish.verification.agreement import Agreement
from margrave.publish.verification.verify import verify
from margrave.spec.codebook import Codebook, CodebookEntry, Range
from margrave.spec.spec import Spec

from .test_bundle import contents, listing, same

pytestmark = pytest.mark.slow


@pytest.fixture
def small_parts(monkeypatch):
    """Every release is a large one, with a new file after each 6 rows."""
    monkeypatch.setattr(layout, "MOST_TABLES", 0)
    monkeypatch.setattr(layout, "PART_ROWS", 6)


@pytest.fixture
def bundle(releases, small_parts, tmp_path):
    return releases["laplace"].save(tmp_path / "bundle")


def noise(attributes, size, ways):
    """A release of noise alone, of all tables of up to so many attributes."""
    entries = tuple(CodebookEntry(f"a{index}", Range(0, size - 1)) for index in range(attributes))
    spec = Spec(Codebook(entries), ZCDP(Fraction(1, 10)), all_ways=ways, nonnegative="none")
    plan = make_plan(spec)
    generator = Generator.seeded("large")
    answers = []
    for one in plan.measurements:
        shape = one.query.shape(plan.domain)
        answers.append(Answer(one, one.noise.sample(int(np.prod(shape)), generator).reshape(shape)))
    return Release(plan, Measured(tuple(answers), {}, private=False))


@pytest.mark.parametrize("ending", ["", ".zip"])
def test_a_large_release_is_loaded_exactly_and_verified(out, small_parts, tmp_path, ending):
    place = out.save(tmp_path / f"out{ending}")
    loaded = mg.Release.load(place)
    same(out, loaded)
    assert set(loaded.bars) == (set() if out.publication is None else {*out.plan.spec.margins, ()})
    found = verify(place)
    assert (found.tables, found.private) == (len(out.plan.spec.margins), False)
    assert listing(tmp_path) == [f"out{ending}"]
    again = loaded.save(tmp_path / f"again{ending}")
    if not ending:
        assert contents(again) == contents(place)
        assert not [name for name in contents(place) if name.endswith(".csv")]
        assert json.loads((place / "release.json").read_text(encoding="utf-8"))["version"] == 2


def test_large_and_small_bundles_hold_the_same(releases, tmp_path, monkeypatch):
    out = releases["laplace"]
    small = out.save(tmp_path / "small")
    monkeypatch.setattr(layout, "MOST_TABLES", 0)
    numbers = out.save(tmp_path / "large")
    connection = duckdb.connect()
    for index, margin in enumerate(out.plan.spec.margins):
        expected = pd.read_parquet(sorted((small / "tables").glob("*.parquet"))[index])
        found = connection.sql(
            f"select * from '{numbers}/tables/*.parquet' where table_number = {index + 1} order by cell"
        ).df()
        np.testing.assert_array_equal(found["count"], expected["count"])
        np.testing.assert_array_equal(found["std_error"], expected["std_error"])
        np.testing.assert_allclose(found["count"] + found["half_width"], expected["high"], atol=2e-6)
        unbiased = "unbiased_" if "unbiased" in margin else "unbiased"
        np.testing.assert_array_equal(found["unbiased"], expected[unbiased])
        np.testing.assert_array_equal(found["variance"], expected["variance"])


def test_the_query_in_the_docs_puts_the_words_back(releases, small_parts, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "bundle-format.md").read_text(encoding="utf-8")
    query = page.split("```sql\n")[1].split("```")[0]
    out = releases["rho"]
    out.save(tmp_path / "survey")
    monkeypatch.chdir(tmp_path)
    found = duckdb.sql(query).df()
    wanted = out.table("smoke", "age")[list(found.columns)].astype({"smoke": str, "age": str})
    pd.testing.assert_frame_equal(found, wanted, check_dtype=False, atol=1e-6)


def test_which_releases_are_large(releases, monkeypatch):
    plan = releases["laplace"].plan
    assert not is_large(plan)
    numbers = sum(one.query.outputs(plan.domain) for one in plan.measurements)
    cells = sum(map(plan.spec.domain.cells, plan.spec.margins))
    monkeypatch.setattr(layout, "MOST_ROWS", numbers + cells)
    assert not is_large(plan)
    monkeypatch.setattr(layout, "MOST_ROWS", numbers + cells - 1)
    assert is_large(plan)


def test_no_block_is_spread_over_two_files(monkeypatch):
    monkeypatch.setattr(layout, "PART_ROWS", 10)
    parts = Parts.of("tables", [4, 4, 4, 30, 1, 9, 2])
    assert [list(parts.blocks(part)) for part in range(len(parts))] == [[0, 1, 2], [3], [4, 5], [6]]
    assert [parts.part(block) for block in range(7)] == [0, 0, 0, 1, 2, 2, 3]
    assert (parts.name(3), parts.rows(5)) == ("tables/0004.parquet", slice(1, 10))
    numbers, places = parts.frame(2)
    assert numbers.tolist() == [5] + [6] * 9
    assert places.tolist() == [0, *range(9)]
    assert len(Parts.of("exact", [])) == 0


@pytest.mark.parametrize("starts", [[], [2], [1, 1], [1, 3, 2], [1, 4], [0]])
def test_impossible_layouts_are_refused(releases, starts):
    plan = releases["laplace"].plan
    stated = Layout.of(plan).as_dict()
    assert Layout.stated(plan, stated) == Layout.of(plan)
    with pytest.raises(ValueError):
        Layout.stated(plan, {**stated, "tables": starts})


def test_what_is_read_is_bounded(monkeypatch, tmp_path):
    """Tables of a loaded release are rebuilt from a few files at a time, whatever the size of the bundle."""
    out = noise(20, 6, 3)
    monkeypatch.setattr(layout, "PART_ROWS", 1 << 14)
    place = out.save(tmp_path / "out")
    assert len(list((place / "tables").iterdir())) >= 4 * stored.KEPT
    loaded = mg.Release.load(place)
    loaded.numbers(loaded.plan.spec.margins[-1])
    loaded.plan.forecast  # noqa: B018 - computed before memory is watched, as it grows with tables and not with cells
    tracemalloc.start()
    total = 0
    for margin, table in zip(loaded.plan.spec.margins, loaded.tables(), strict=True):
        assert table[0] == margin
        total += len(table[1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == sum(map(loaded.domain.cells, loaded.plan.spec.margins))
    assert peak < 8 * total
    np.testing.assert_array_equal(loaded.unbiased(margin), out.unbiased(margin))


def test_what_is_written_is_bounded(monkeypatch, tmp_path):
    out = noise(18, 8, 3)
    total = sum(map(out.domain.cells, out.plan.spec.margins))
    monkeypatch.setattr(layout, "MOST_TABLES", 0)
    monkeypatch.setattr(layout, "PART_ROWS", 1 << 12)
    out.plan.forecast  # noqa: B018 - computed before memory is watched, as it grows with tables and not with cells
    tracemalloc.start()
    names = [name for name, _ in large.large_parts(out)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(names) > 200
    assert peak < 8 * total
    report = (out.save(tmp_path / "out") / "report.html").read_text(encoding="utf-8")
    assert len(report) < 4_000_000
    assert "963 more tables are in the files" in report and "The first 500 of the further tables" in report


def fails(folder, match):
    with pytest.raises(VerificationError, match=match):
        verify(folder)


@pytest.mark.parametrize("name", ["tables/0002", "measurements/0001", "contents", "values", "microdata"])
def test_a_changed_number_is_found_though_checksums_fit(bundle, reseal, name):
    import pyarrow as pa
    from pyarrow import parquet

    path = bundle / f"{name}.parquet"
    table = parquet.read_table(path)
    label = {"values": "value", "contents": "file", "microdata": "smoke"}.get(name, table.column_names[2])
    values = table.column(label).to_pylist()
    values[0] = values[0] + (1 if isinstance(values[0], (int, float)) else "x")
    column = pa.array(values, table.schema.field(label).type)
    parquet.write_table(table.set_column(table.column_names.index(label), label, column), path)
    reseal(bundle)
    fails(bundle, "follows from the measurements as|microdata|disagree|do not follow from the release")


def test_a_changed_byte_is_found_by_whoever_reads_it(bundle):
    path = bundle / "measurements" / "0001.parquet"
    content = bytearray(path.read_bytes())
    content[10] ^= 1
    path.write_bytes(content)
    loaded = mg.Release.load(bundle)
    with pytest.raises(BundleError, match=r"measurements/0001.parquet was changed"):
        loaded.noisy("smoke", "age")
    fails(bundle, r"measurements/0001.parquet was changed")


def test_rows_in_another_order_are_refused(bundle, reseal):
    from pyarrow import parquet

    path = bundle / "measurements" / "0001.parquet"
    table = parquet.read_table(path)
    parquet.write_table(table.take(list(reversed(range(table.num_rows)))), path)
    reseal(bundle)
    with pytest.raises(BundleError, match="order"):
        mg.Release.load(bundle).noisy("smoke", "age")


def test_files_that_the_layout_does_not_have_are_named(bundle, reseal):
    (bundle / "tables" / "0009.parquet").write_bytes(b"")
    reseal(bundle, lambda found: found["files"].update({"tables/0009.parquet": {"bytes": 0, "sha256": "e3b0"}}))
    fails(bundle, "tables/0009")


@pytest.mark.parametrize("change", [{"tables": [1, 1]}, {"tables": "no"}, None])
def test_a_manifest_with_impossible_parts_is_refused(bundle, reseal, change):
    reseal(bundle, lambda found: found["parts"].update(change) if change else found.pop("parts"))
    with pytest.raises(BundleError, match="incomplete or was changed"):
        mg.Release.load(bundle)


def test_tables_of_one_shape_are_compared_together():
    domain = Domain(tuple(Attribute(name, ("0", "1")) for name in "abc"))
    margins = [("a", "b"), ("a", "c"), ("b", "c")]
    cube = np.arange(8).reshape(2, 2, 2)
    tables = np.stack([cube.sum(axis=2), cube.sum(axis=1), cube.sum(axis=0)])
    agreement = Agreement(domain, margins)
    agreement.add("count", [(margin, str(index)) for index, margin in enumerate(margins)], tables)
    assert agreement.shared == 4
    tables[2, 0, 0] += 1
    with pytest.raises(VerificationError, match=r"2 and 0 disagree about total \(count\)"):
        Agreement(domain, margins).add("count", [(m, str(i)) for i, m in enumerate(margins)], tables)


def test_an_interrupt_at_any_moment_leaves_nothing(releases, small_parts, tmp_path):
    target, seen = tmp_path / "out", []

    def save(stop):
        def step(done, total):
            seen.append((done, total))
            if done == stop:
                raise KeyboardInterrupt

        releases["laplace"].save(target, progress=step)

    save(None)
    files = len(contents(target))
    assert seen[-1] == (files, files)
    target.rename(tmp_path / "kept")
    for stop in range(1, files + 1):
        with pytest.raises(KeyboardInterrupt):
            save(stop)
        assert listing(tmp_path) == ["kept"]
