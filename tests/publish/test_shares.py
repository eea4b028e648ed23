"""Shares and totals have intervals of their own: simulated as shares, kept in the bundle, right as often as said."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import margrave as mg
from margrave.errors import MargraveError, VerificationError
from margrave.publish.bundle.parts.parts import csv_bytes, parquet_bytes
from margrave.publish.bundle.parts.shares import shared, shares_of, totals
from margrave.publish.verification.verify import verify
from margrave.spec.spec import Spec
from tests.publish.conftest import BASE

pytestmark = pytest.mark.slow


def test_shares_of_rows_and_columns_add_up_to_one(releases):
    out = releases["laplace"]
    counts = out.published(("smoke", "age"))
    rows = shares_of(out.domain, ("smoke", "age"), ("smoke",), counts).reshape(2, 3)
    columns = shares_of(out.domain, ("smoke", "age"), ("age",), counts).reshape(2, 3)
    assert rows.sum(axis=1) == pytest.approx(np.where(counts.sum(axis=1) > 0, 1.0, 0.0))
    assert columns.sum(axis=0) == pytest.approx(np.where(counts.sum(axis=0) > 0, 1.0, 0.0))


def test_a_bundle_keeps_what_the_report_shows(releases, folder):
    out, loaded = releases["laplace"], mg.Release.load(folder)
    assert [whole for _, _, whole in shared(out.plan)] == [("smoke",), ("age",), ("age",), ("unbiased",)]
    for _, margin, whole in shared(out.plan):
        assert np.array_equal(out.share_widths(margin, whole), loaded.share_widths(margin, whole))
    for margin in totals(out.plan):
        for one, other in zip(out.error_bars(margin), loaded.bars[margin], strict=True):
            assert np.array_equal(one, other)
    assert (
        loaded.save(folder.parent / "again").joinpath("shares.csv").read_bytes() == (folder / "shares.csv").read_bytes()
    )


def test_unbiased_tables_have_no_file_of_shares(releases, tmp_path):
    folder = releases["raw"].save(tmp_path / "raw")
    assert not (folder / "shares.csv").exists()
    assert mg.Release.load(folder).share_widths(("smoke", "age"), ("age",)) is None


@pytest.mark.parametrize("change", [lambda width: width / 2, lambda width: width + 0.1, lambda width: -width])
def test_forged_shares_are_found(folder, reseal, change):
    table = pq.read_table(folder / "shares.parquet")
    place = table.column_names.index("half_width")
    table = table.set_column(place, "half_width", [change(table.column("half_width").to_numpy())])
    (folder / "shares.parquet").write_bytes(parquet_bytes(table))
    (folder / "shares.csv").write_bytes(csv_bytes(table))
    reseal(folder)
    with pytest.raises(MargraveError):
        verify(folder, bars=True)


def test_forged_totals_are_found(folder, reseal):
    def change(found):
        found["published"]["bars"]["attributes"][0]["half_width"][0] += 5

    reseal(folder, change)
    with pytest.raises(VerificationError):
        verify(folder, bars=True)
    said = json.loads((folder / "release.json").read_text(encoding="utf-8"))["published"]["bars"]["attributes"]
    assert [one["table"] for one in said] == [["smoke"], ["age"], ["unbiased"]]


def test_a_share_of_nobody_can_be_anything(data):
    spec = replace(Spec.from_dict(BASE), impossible=({"smoke": frozenset(["yes"])},))
    out = mg.release(spec, data.assign(smoke="no"), seed=1)
    widths = out.share_widths(("smoke", "age"), ("smoke",)).reshape(2, 3)
    assert (widths[1] == 1).all()
    assert (widths[0] < 1).all()


def test_intervals_of_shares_and_totals_hold_the_truth_as_often_as_said(monkeypatch):
    monkeypatch.setattr("margrave.planning.limits.MANY_SIMULATIONS", 20)
    counts = np.array([[120, 40, 9], [300, 80, 2], [60, 150, 30]])
    frame = pd.DataFrame(
        [(f"r{i}", f"c{j}") for i, j in np.ndindex(3, 3) for _ in range(counts[i, j])], columns=["r", "c"]
    )
    spec = Spec.from_dict(
        {
            "attributes": {"r": ["r0", "r1", "r2"], "c": ["c0", "c1", "c2"]},
            "release": {"tables": [["r", "c"]], "nonnegative": "least-squares"},
            "privacy": {"epsilon": "0.3"},
        }
    )
    plan, truth = mg.plan(spec), shares_of(spec.domain, ("r", "c"), ("r",), counts)
    held, sums = [], []
    for seed in range(60):
        out = mg.release(plan, frame, seed=seed)
        share = shares_of(spec.domain, ("r", "c"), ("r",), out.published(("r", "c")))
        held.append(np.abs(share - truth) <= out.share_widths(("r", "c"), ("r",)) + 1e-6)
        sums.append(np.abs(out.published(("r",)) - counts.sum(axis=1)) <= out.error_bars(("r",))[1])
    # 540 and 180 intervals, nine and three of them from one release: 0.95, less three standard errors of as many apart.
    assert np.mean(held) >= 0.91
    assert np.mean(sums) >= 0.90
    # and they are not so wide that they say nothing
    assert np.median(out.share_widths(("r", "c"), ("r",))) < 0.15
