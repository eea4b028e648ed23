"""A release of more attributes than any table could hold: records, whose tables are the published ones."""

from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.errors import RefusedError, UsageError
from margrave.planning.describe import number
from margrave.planning.publication import publishing
from margrave.publish.report.tables import Shown, table_article
from margrave.publish.verification.verify import verify
from margrave.reconstruct.publication import INTERRUPTED
from margrave.reconstruct.publishable import publishable
from margrave.reconstruct.published import publish
from margrave.reconstruct.records import possible

pytestmark = pytest.mark.slow

SIZES = (9, 8, 6, 16, 16, 7, 5, 6, 5, 2, 8, 8, 9, 10, 2)
NAMES = tuple(f"a{place:02}" for place in range(len(SIZES)))


def survey(records):
    """Fifteen attributes as in a census extract: one implies another, some are skewed, some depend on each other."""
    random = np.random.default_rng(8)
    level = random.beta(2, 4, records)
    columns = {}
    for place, size in enumerate(SIZES):
        mixed = np.where(random.random(records) < 0.6, level, random.random(records) ** 3)
        columns[NAMES[place]] = np.minimum((mixed * size).astype(int), size - 1)
    columns["a04"] = columns["a03"] // 4
    columns["a12"] = np.where(columns["a09"] == 1, np.minimum(columns["a12"], 4), columns["a12"])
    return pd.DataFrame(columns)


def spec_of(**release):
    attributes = {name: {"range": [0, size - 1]} for name, size in zip(NAMES, SIZES, strict=True)}
    attributes["a03"] = {"range": [0, 15], "determines": {"a04": {str(v): str(v // 4) for v in range(16)}}}
    return mg.Spec.from_dict(
        {
            "attributes": attributes,
            "release": {"all": 2, "impossible": [{"a09": "1", "a12": ["5", "6", "7", "8"]}], **release},
            "privacy": {"epsilon": 1, "delta": "1e-9"},
        }
    )


DATA = survey(2000)
SMALL = mg.Spec.from_dict(
    {
        "attributes": {"a09": {"range": [0, 1]}, "a14": {"range": [0, 1]}},
        "release": {"all": 2, "nonnegative": "records"},
        "privacy": {"epsilon": 1, "delta": "1e-9"},
    }
)


@pytest.fixture(scope="module")
def plan():
    return mg.plan(spec_of(strategy="residual"))


@pytest.fixture(scope="module")
def out(plan):
    return mg.release(plan, DATA, seed=1)


def test_auto_fits_records_and_an_independent_query_finds_the_same_tables(out, tmp_path):
    assert publishable(out.plan) is None and out.publication.method == "records"
    assert out.simulated is not None
    out.save(tmp_path / "out")
    assert verify(tmp_path / "out").tables == len(out.plan.spec.margins)
    source = f"'{tmp_path / 'out' / 'microdata.parquet'}'"
    for margin in out.plan.spec.margins:
        names = ", ".join(f'"{name}"' for name in margin)
        counted = duckdb.sql(f"SELECT {names}, count(*) AS n FROM {source} GROUP BY ALL").df()
        table = out.table(*margin)
        merged = table[table["count"] > 0].astype(dict.fromkeys(margin, int)).merge(counted, on=list(margin))
        assert len(merged) == len(counted) and (merged["n"] == merged["count"]).all()
        assert table["count"].sum() == out.published(())
    again = mg.Release.load(tmp_path / "out")
    assert np.array_equal(again.publication.held.records(), out.publication.held.records())
    assert again.publication.temperature == out.publication.temperature
    assert again.publication.misfits == pytest.approx(out.publication.misfits, abs=1e-6)


def test_the_report_says_how_well_records_fit_each_table():
    small = mg.release(SMALL, DATA, seed=2)
    section = table_article(Shown(small, ("a09", "a14")), 0, "tables.csv", folded=False)
    assert f"χ² {number(small.publication.misfits['a09', 'a14'])} for each degree of freedom" in section
    unbiased = mg.release(replace(SMALL, nonnegative="none"), DATA, seed=2)
    assert "χ²" not in table_article(Shown(unbiased, ("a09", "a14")), 0, "tables.csv", folded=False)


def test_every_record_is_possible_and_no_table_worse_than_unbiased(out):
    records = out.microdata()
    assert len(records) == out.published(())
    assert (records["a04"] == records["a03"] // 4).all()
    assert not ((records["a09"] == 1) & (records["a12"] >= 5)).any()
    truth = mg.count(out.plan.spec, DATA)
    margins = [margin for margin in out.plan.spec.margins if len(margin) == 2]
    error = np.mean([np.abs(out.published(m) - truth.counts[m].reshape(out.published(m).shape)).sum() for m in margins])
    noisy = np.mean([np.abs(out.unbiased(m) - truth.counts[m].reshape(out.published(m).shape)).sum() for m in margins])
    assert error < 0.4 * noisy
    with pytest.raises(UsageError, match="ask for single tables"):
        out.publication.table  # noqa: B018


def test_the_same_release_has_the_same_records(out, plan):
    again = mg.release(plan, DATA, seed=1)
    assert np.array_equal(again.publication.held.records(), out.publication.held.records())


def test_the_first_interruption_ends_the_fit_and_not_the_release(plan):
    def stop(done, total, misfit):
        raise KeyboardInterrupt

    out = mg.release(plan, DATA, seed=1)
    out.prepare_tables(stop)
    assert INTERRUPTED in out.publication.notes and len(out.microdata()) == out.published(())


def test_without_numba_what_would_be_records_is_refused_before_data_is_opened(monkeypatch, plan):
    """The plan is the same on every machine: one that cannot do it says so, and publishes nothing else instead."""
    monkeypatch.setattr(possible, "has_compiler", lambda: False)
    for asked in ("auto", "records"):
        changed = replace(plan, spec=replace(plan.spec, nonnegative=asked))
        assert changed.publishing.records
        with pytest.raises(RefusedError, match="pip install numba"):
            mg.release(changed, "nowhere.csv")
    assert publishable(replace(plan, spec=replace(plan.spec, nonnegative="none")))


def test_auto_does_not_begin_what_would_take_long(monkeypatch, plan):
    monkeypatch.setattr(publishing, "RECORD_READS", 100)
    assert "take long" in publishable(replace(plan))
    assert publishable(replace(plan, spec=replace(plan.spec, nonnegative="records"))) is None


@pytest.mark.parametrize(
    ("change", "words"), [({"rounding": "none"}, "records are whole"), ({"strategy": "fourier"}, "binary")]
)
def test_what_records_cannot_do_is_refused_before_data_is_opened(change, words):
    small = {"attributes": {"a": {"values": ["x", "y", "z"]}}, "privacy": {"epsilon": 1}}
    spec = mg.Spec.from_dict({**small, "release": {"tables": [["a"]], "nonnegative": "records", **change}})
    with pytest.raises(RefusedError, match=words):
        mg.release(spec, "nowhere.csv")


def test_records_by_name_for_a_small_table_keep_an_exact_total():
    spec = replace(mg.Spec.load(mg.examples.path("czech")), nonnegative="records", neighbours="replace")
    out = mg.release(spec, seed=3)
    assert out.publication.method == "records"
    assert out.publication.table.sum() == len(out.microdata()) == out.measured.exact[()]
    assert set(out.publication.misfits) == set(spec.margins)
    assert publish(out.plan, out.fit, like=out.publication).temperature == out.publication.temperature
