"""Published tables are non-negative whole numbers that add up, and are the tables of the microdata."""

from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.algebra.lattice import subsets
from margrave.budget.units import PureDP
from margrave.errors import RefusedError, UsageError
from margrave.publish.microdata import columns, records, typed
from margrave.publish.verification.verify import verify
from margrave.reconstruct.publishable import publishable
from margrave.spec.codebook import CodebookEntry, Range
from tests.shapes import frame_of, spec_of

pytestmark = pytest.mark.slow

TABLE = np.array([[[9, 0], [3, 1], [0, 0]], [[0, 12], [1, 0], [4, 2]]])
SPEC = spec_of((2, 3, 2), ["ab", "bc"])
DATA = frame_of(SPEC.domain, TABLE)


@pytest.mark.parametrize("strategy", ["auto", "residual", "fourier", "efron-stein", "margins", "base"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", ["1/5", "3"])
def test_published_tables_are_whole_not_negative_and_agree(strategy, neighbours, epsilon):
    spec = replace(SPEC, strategy=strategy, neighbours=neighbours, budget=PureDP(Fraction(epsilon)))
    out = mg.release(spec, DATA, seed=3)
    records = out.microdata()
    for margin in (below for table in spec.margins for below in subsets(table)):
        counts = out.published(margin)
        assert counts.dtype == np.int64 and (counts >= 0).all()
        if margin:
            grouped = records.groupby(list(margin)).size()
            assert all(
                grouped.get(index if len(margin) > 1 else index[0], 0) == count
                for index, count in cells(spec, margin, counts)
            )
    assert len(records) == out.published(()) == out.publication.table.sum()
    if neighbours == "replace":
        assert len(records) == TABLE.sum()


def cells(spec, margin, counts):
    for position, count in np.ndenumerate(counts):
        yield tuple(spec.domain[name].values[code] for name, code in zip(margin, position, strict=True)), count


@pytest.mark.parametrize("name", ["fungus", "czech", "rochdale", "journey"])
def test_an_independent_query_over_the_bundle_finds_the_same_tables(name, tmp_path):
    out = mg.release(mg.examples.path(name), seed="independent")
    out.save(tmp_path / "out")
    assert verify(tmp_path / "out").tables == len(out.plan.spec.margins)
    source = f"'{tmp_path / 'out' / 'microdata.parquet'}'"
    for margin in out.plan.spec.margins:
        names = ", ".join(f'"{column}"' for column in margin)
        counted = duckdb.sql(f"SELECT {names}, count(*) AS n FROM {source} GROUP BY ALL").df()
        published = out.table(*margin)
        assert (published["count"] >= 0).all() and published["count"].dtype.kind == "i"
        joined = published.astype(dict.fromkeys(margin, str)).merge(
            counted.astype(dict.fromkeys(margin, str)), on=list(margin), how="outer"
        )
        assert (joined["count"] == joined["n"].fillna(0)).all()


def test_changed_microdata_is_found(tmp_path):
    out = mg.release(SPEC, DATA, seed=1)
    out.save(tmp_path / "out")
    path = tmp_path / "out" / "microdata.csv"
    path.write_text(path.read_text().replace("0", "1", 1))
    with pytest.raises(mg.errors.VerificationError, match=r"microdata\.csv"):
        verify(tmp_path / "out")


def test_structural_zeros_stay_empty_in_tables_and_records():
    zeros = ({"a": frozenset({"0"}), "b": frozenset({"2"})}, {"b": frozenset({"1"}), "c": frozenset({"1"})})
    data = frame_of(SPEC.domain, np.where(mask(zeros), TABLE, 0))
    out = mg.release(replace(SPEC, impossible=zeros), data, seed=5)
    assert (out.publication.table[~mask(zeros)] == 0).all()
    impossible = out.table("a", "b").query("a == '0' and b == '2'")
    assert impossible[["count", "std_error", "low", "high"]].to_numpy().tolist() == [[0, 0, 0, 0]]
    records = out.microdata()
    assert not ((records["a"] == "0") & (records["b"] == "2")).any()
    assert not ((records["b"] == "1") & (records["c"] == "1")).any()
    with pytest.raises(mg.errors.DataError, match="impossible"):
        mg.release(replace(SPEC, impossible=({"a": frozenset({"0"}), "b": frozenset({"0"})},)), DATA)


def mask(zeros):
    possible = np.ones(TABLE.shape, dtype=bool)
    for pattern in zeros:
        index = [
            [domain.code(value) for value in pattern[domain.name]] if domain.name in pattern else range(domain.size)
            for domain in SPEC.domain
        ]
        possible[np.ix_(*index)] = False
    return possible


def test_determined_values_follow_in_the_microdata():
    text = """
    [attributes]
    region = ["N", "S"]
    county = { values = ["n1", "n2", "s1"], determines = { region = { n1 = "N", n2 = "N", s1 = "S" } } }
    sick = ["no", "yes"]
    [release]
    tables = [["region", "county"], ["county", "sick"]]
    [privacy]
    epsilon = 0.2
    """
    rows = [("N", "n1", "no")] * 9 + [("N", "n2", "yes")] * 4 + [("S", "s1", "no")] * 7
    out = mg.release(mg.Spec.load(text), pd.DataFrame(rows, columns=["region", "county", "sick"]), seed=2)
    records = out.microdata()
    assert (records["county"].map({"n1": "N", "n2": "N", "s1": "S"}) == records["region"]).all()


def test_types_labels_and_drawn_numbers():
    text = """
    [attributes]
    age = { bins = [0, 18, 65, 99] }
    rooms = { range = [1, 3] }
    owner = { values = [false, true], labels = { false = "tenant", true = "owner" } }
    [release]
    tables = [["age", "rooms", "owner"]]
    [privacy]
    epsilon = 5
    """
    data = pd.DataFrame({"age": [3, 40, 70] * 20, "rooms": [1, 2, 3] * 20, "owner": [True, False, True] * 20})
    out = mg.release(mg.Spec.load(text), data, seed=1)
    plain, filled, labelled = out.microdata(), out.microdata(fill=True), out.microdata(labels=True)
    assert plain["rooms"].dtype.kind == "i" and plain["owner"].dtype == bool
    assert set(plain["age"]) <= {"0-17", "18-64", "65-99"}
    low = filled["age"].map({"0-17": 0, "18-64": 18, "65-99": 65})
    high = filled["age"].map({"0-17": 17, "18-64": 64, "65-99": 99})
    assert ((filled["age_drawn"] >= low) & (filled["age_drawn"] <= high)).all()
    assert filled["age_drawn"].nunique() > 3 and filled.equals(out.microdata(fill=True))
    assert set(labelled["owner"]) <= {"tenant", "owner"}


def test_record_order_does_not_depend_on_the_input():
    one = mg.release(SPEC, DATA, seed=8).microdata()
    other = mg.release(SPEC, DATA.iloc[::-1], seed=8).microdata()
    assert one.equals(other)


def test_methods_by_name_and_their_refusals():
    for method in ("least-squares", "linear-program"):
        out = mg.release(replace(SPEC, nonnegative=method), DATA, seed=1)
        assert out.publication.method == method and (out.publication.table >= 0).all()
    fractions = mg.release(replace(SPEC, rounding="none"), DATA, seed=1)
    assert fractions.publication.table.dtype == np.float64
    with pytest.raises(UsageError, match="no microdata"):
        fractions.microdata()
    unbiased = mg.release(replace(SPEC, nonnegative="none"), DATA, seed=1)
    assert unbiased.publication is None
    with pytest.raises(UsageError, match="no microdata"):
        unbiased.microdata()
    sensitive = replace(SPEC, sensitive=("a",), neighbours="replace")
    assert publishable(mg.plan(sensitive)) is None
    with pytest.raises(RefusedError, match="would change exact counts"):
        publishable(mg.plan(replace(sensitive, nonnegative="least-squares", rounding="nearest")))


def test_fractional_tables_survive_a_bundle(tmp_path):
    out = mg.release(replace(SPEC, rounding="none"), DATA, seed=1)
    out.save(tmp_path / "out.zip")
    again = mg.Release.load(tmp_path / "out.zip")
    assert np.allclose(again.publication.table, out.publication.table)
    assert verify(tmp_path / "out.zip").tables == 2


def test_error_bars_come_from_simulation_and_the_same_release_has_the_same():
    out, again = (mg.release(SPEC, DATA, seed=4) for _ in range(2))
    one, other = out.table("a", "b"), again.table("a", "b")
    assert one.equals(other)
    assert (one["low"] >= 0).all() and (one["low"] <= one["count"]).all() and (one["count"] <= one["high"]).all()
    assert out.simulated.factor >= 1
    wide = out.table("a", "b", level=0.5)
    assert (wide["high"] <= one["high"]).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nonnegative": "records", "rounding": "none"}, "records are whole"),
        ({"nonnegative": "simple", "neighbours": "replace"}, "changes the total"),
        ({"nonnegative": "simple", "impossible": ({"a": frozenset({"0"}), "b": frozenset({"0"})},)}, "impossible"),
    ],
)
def test_a_method_that_cannot_work_is_refused_before_data_is_opened(change, words):
    with pytest.raises(RefusedError, match=words):
        mg.release(replace(SPEC, **change), "nowhere.csv")


def test_the_linear_program_is_refused_for_large_tables_before_data_is_opened():
    spec = spec_of((2,) * 17, ["abcdefghijklmnopq"], strategy="base", nonnegative="linear-program")
    with pytest.raises(RefusedError, match="linear program"):
        mg.release(spec, "nowhere.csv")


def test_raising_the_constant_says_what_theory_expects():
    out = mg.release(
        replace(SPEC, strategy="fourier", tables=spec_of((2, 3, 2), ["ac"]).tables, nonnegative="simple"), DATA, seed=1
    )
    assert any("with probability 95 %" in note for note in out.publication.notes)
    assert (out.publication.table >= 0).all()


def test_records_of_a_range_keep_their_values_however_their_codes_are_held():
    entry = CodebookEntry("age", Range(100, 300))
    codes = np.array([0, 199, 200], dtype=np.uint8)
    assert typed(entry, codes).tolist() == [100, 299, 300]
    assert typed(CodebookEntry("age", Range(-5, 5)), codes[:1]).tolist() == [-5]


def test_columns_are_those_of_the_records_one_by_one():
    document = {"attributes": {"a": ["x", "y"], "b": {"range": [3, 5]}, "c": [True, False]}, "release": {"all": 2}}
    spec = mg.Spec.load({**document, "privacy": {"epsilon": 5}})
    data = pd.DataFrame({"a": ["x", "y"] * 30, "b": [3, 4, 5] * 20, "c": [True, False, True] * 20})
    published = mg.release(spec, data, seed=2).publication
    found = columns(published, spec.codebook)
    coded = records(published)
    assert len(coded) > 20
    for axis, name in enumerate(published.domain.names):
        assert found[name].to_pylist() == typed(spec.codebook[name], coded[:, axis]).tolist()
