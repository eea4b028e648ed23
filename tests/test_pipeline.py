"""From a spec and data to a release, as a library user would."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.budget.events import Protection
from margrave.budget.units import PureDP
from margrave.errors import DataError, RefusedError, UsageError
from tests.shapes import frame_of, spec_of

pytestmark = pytest.mark.slow

SPEC = spec_of((2, 3), ["ab"], PureDP(Fraction(1000)))
TABLE = np.array([[30, 20, 10], [5, 0, 40]])
DATA = frame_of(SPEC.domain, TABLE)


def test_with_a_huge_budget_the_release_is_the_truth():
    out = mg.release(SPEC, DATA)
    np.testing.assert_allclose(out.unbiased(("a", "b")), TABLE, atol=0.5)
    frame = out.noisy("b")
    assert list(frame.columns) == ["b", "count", "std_error", "low", "high"]
    np.testing.assert_allclose(frame["count"], TABLE.sum(axis=0), atol=0.5)


def test_seeded_releases_repeat_and_say_so_and_others_never_do():
    spec = replace(SPEC, budget=PureDP(Fraction(1, 100)))
    first, again, other = (mg.release(spec, DATA, seed=seed).unbiased(("a", "b")) for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()
    assert not mg.release(spec, DATA, seed=1).private
    unseeded = [mg.release(spec, DATA) for _ in range(4)]
    assert all(out.private for out in unseeded)
    assert len({out.unbiased(("a", "b")).tobytes() for out in unseeded}) == 4


def test_questions_about_cells():
    out = mg.release(SPEC, DATA)
    assert out.query({"a": "0"}).value == pytest.approx(60, abs=0.5)
    assert out.query({"a": "0", "b": ["0", "1"]}).value == pytest.approx(50, abs=0.5)
    assert out.query({"a": "0"}, minus={"a": "1"}).value == pytest.approx(15, abs=0.5)
    share = out.query({"a": "0"}, among={"b": "0"})
    assert share.value == pytest.approx(30 / 35, abs=0.02)
    assert share.low <= share.value <= share.high
    assert out.query({}).value == pytest.approx(105, abs=0.5)
    with pytest.raises(UsageError, match="did you mean"):
        out.query({"a": "00"})
    with pytest.raises(UsageError, match="not both"):
        out.query({"a": "0"}, minus={"a": "1"}, among={"b": "1"})


def test_intervals_of_counts_and_shares_cover_as_stated():
    spec = replace(SPEC, budget=PureDP(Fraction(1)))
    plan = mg.plan(spec)
    hits = np.zeros(3)
    runs = 300
    for seed in range(runs):
        out = mg.release(plan, DATA, seed=seed)
        for index, (found, truth) in enumerate(
            [
                (out.query({"a": "0"}), 60),
                (out.query({"a": "0"}, minus={"b": "2"}), 10),
                (out.query({"a": "0"}, among={"b": ["0", "1"]}), 50 / 55),
            ]
        ):
            hits[index] += found.low <= truth <= found.high
    assert (hits / runs > 0.9).all() and (hits / runs < 0.995).all()


def test_a_share_of_nobody_is_refused():
    data = frame_of(SPEC.domain, np.array([[30, 20, 0], [5, 3, 0]]))
    spec = replace(SPEC, budget=PureDP(Fraction(1, 10)))
    refused = 0
    for seed in range(8):
        try:
            mg.release(spec, data, seed=seed).query({"a": "0"}, among={"b": "2"})
        except UsageError as error:
            refused += "not positive" in str(error)
    assert refused


def test_a_release_does_not_keep_the_data_section():
    spec = mg.Spec.load(mg.examples.path("fungus"))
    out = mg.release(spec)
    assert spec.data is not None and out.plan.spec.data is None


def test_tables_outside_the_release_are_refused():
    out = mg.release(
        spec_of((2, 2, 2), ["ab", "c"], PureDP(Fraction(1)), strategy="margins"),
        frame_of(spec_of((2, 2, 2), ["a"]).domain, np.ones((2, 2, 2), dtype=int)),
    )
    with pytest.raises(UsageError, match="says nothing"):
        out.noisy("a", "c")


def test_sensitive_tables_without_sensitive_attributes_are_exact():
    spec = spec_of((2, 3), ["ab"], sensitive=("a",), neighbours="replace")
    out = mg.release(spec, DATA)
    np.testing.assert_allclose(out.unbiased(("b",)), TABLE.sum(axis=0), atol=1e-9)
    assert out.noisy("b")["std_error"].max() == 0
    assert out.noisy("a")["std_error"].min() > 0


def test_no_records_is_an_error():
    with pytest.raises(DataError, match="no records"):
        mg.release(SPEC, DATA.iloc[:0])


def test_drafts_are_refused():
    with pytest.raises(RefusedError, match="draft = true"):
        mg.release(replace(SPEC, draft=True), DATA)


def test_data_must_be_named():
    with pytest.raises(UsageError, match="no data is named"):
        mg.release(SPEC)


def test_too_large_plans_are_refused_before_data_is_opened(monkeypatch):
    monkeypatch.setattr("margrave.measure.run.available_memory", lambda: 10)
    with pytest.raises(RefusedError, match="GiB"):
        mg.release(SPEC, "/nonexistent.csv")


def test_units_bound_contributions_and_cost_more():
    spec = replace(mg.Spec.load(UNITS), budget=PureDP(Fraction(2000)))
    data = pd.DataFrame({"person": [1, 1, 1, 2], "a": ["0", "0", "0", "1"]})
    out = mg.release(spec, data)
    assert np.round(out.unbiased(("a",))).tolist() == [2, 1]
    assert out.plan.protection.records == 2
    assert out.plan.cost.epsilon <= 2000


def test_draft_of_a_file_is_a_spec(tmp_path):
    DATA.to_csv(tmp_path / "d.csv", index=False)
    text = mg.draft(str(tmp_path / "d.csv"))
    spec = mg.Spec.load(text)
    assert spec.draft and spec.domain.names == ("a", "b")


UNITS = """
[data]
source = "unused.csv"
unit = { column = "person", max_records = 2 }
[attributes]
a = ["0", "1"]
[release]
tables = [["a"]]
[privacy]
epsilon = 1
"""


def test_a_plan_that_lost_its_data_section_cannot_be_released_again(tmp_path):
    """Without the unit's column its records could not be bounded, as the plan's cost supposes."""
    data = pd.DataFrame({"person": range(9), "a": ["0"] * 9})
    out = mg.release(mg.Spec.load(UNITS), data)
    with pytest.raises(RefusedError, match="lost its"):
        mg.release(out.plan, data)
    out.save(tmp_path / "out.zip")
    with pytest.raises(RefusedError, match="lost its"):
        mg.release(mg.Release.load(tmp_path / "out.zip").plan, data)


def test_a_plan_that_was_changed_is_refused():
    plan = mg.plan(mg.Spec.load(UNITS))
    with pytest.raises(RefusedError, match="something else"):
        mg.release(replace(plan, protection=Protection()), DATA)
    with pytest.raises(RefusedError, match="exactly"):
        mg.release(replace(mg.plan(SPEC), exact=(("a",),)), DATA)
    cheap = replace(mg.plan(SPEC), spec=replace(SPEC, budget=PureDP(Fraction(1))))
    with pytest.raises(RefusedError, match="more than the budget"):
        mg.release(cheap, DATA)


def test_a_sensitive_attribute_that_follows_from_another_is_refused():
    text = """
    [attributes]
    region = ["N", "S"]
    county = { values = ["n", "s"], determines = { region = { n = "N", s = "S" } } }
    [release]
    tables = [["region", "county"]]
    sensitive = ["region"]
    [privacy]
    epsilon = 1
    """
    with pytest.raises(RefusedError, match="protects neither"):
        mg.plan(mg.Spec.load(text))


def test_times_cannot_be_units():
    data = pd.DataFrame({"person": pd.to_datetime([1, 2], unit="ns"), "a": ["0", "1"]})
    with pytest.raises(DataError, match="cannot tell units apart"):
        mg.release(mg.Spec.load(UNITS), data)
