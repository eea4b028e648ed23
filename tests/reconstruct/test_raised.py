"""Tables raised without a full table: non-negative, consistent, with bars that hold the truth."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.errors import UsageError
from margrave.planning.publication.raises import MARGINS, TABLE
from margrave.publish.verification.verify import verify

pytestmark = pytest.mark.slow


def released(method, attributes=24, records=300, seed=1, **release):
    random = np.random.default_rng(0)
    names = [f"x{index:02}" for index in range(attributes)]
    rows = pd.DataFrame({name: np.where(random.random(records) < 0.2, "1", "0") for name in names})
    settings = {"all": 2, "strategy": "fourier", "nonnegative": method, **release}
    attributes = {name: {"values": ["0", "1"]} for name in names}
    spec = mg.Spec.from_dict({"attributes": attributes, "privacy": {"epsilon": "1"}, "release": settings})
    return mg.release(spec, rows, seed=seed), rows


@pytest.mark.parametrize("method", ["simple", TABLE, MARGINS])
def test_tables_of_many_attributes_are_not_negative_and_agree(method):
    out, _ = released(method)
    total = out.publication.margin(())
    assert total >= out.unbiased(())
    for one, other in combinations(out.domain.names, 2):
        table = out.publication.margin((one, other))
        assert (table >= 0).all()
        assert table.sum() == pytest.approx(total)
        assert table.sum(axis=1) == pytest.approx(out.publication.margin((one,)))
    with pytest.raises(UsageError, match="together"):
        out.publication.margin(out.domain.names[:3])


def test_everything_but_the_total_is_as_measured():
    out, _ = released(MARGINS)
    margin = out.domain.names[:2]
    table, unbiased = out.publication.margin(margin), out.unbiased(margin)
    assert table - table.mean() == pytest.approx(unbiased - unbiased.mean())
    least = max(-out.unbiased(pair).min() * 4 for pair in combinations(out.domain.names, 2))
    assert out.publication.margin(()) - out.unbiased(()) == pytest.approx(least)


def test_the_raise_for_a_full_table_is_that_of_the_plan():
    out, _ = released(TABLE)
    assert out.publication.margin(()) - out.unbiased(()) == pytest.approx(out.plan.publishing.raises.table)
    assert "exists with probability 95 %" in out.publication.notes[1]


@pytest.mark.parametrize("method", [TABLE, MARGINS])
def test_intervals_hold_the_truth_although_the_total_was_raised(method):
    out, rows = released(method)
    inside = []
    for one, other in combinations(out.domain.names, 2):
        table = out.table(one, other)
        truth = [((rows[one] == a) & (rows[other] == b)).sum() for a, b in zip(table[one], table[other], strict=True)]
        inside.append(((table["low"] <= truth) & (truth <= table["high"])).mean())
    assert np.mean(inside) >= 0.95


@pytest.mark.parametrize("method", ["simple", TABLE, MARGINS])
def test_a_bundle_is_read_again_and_verified(method, tmp_path):
    out, _ = released(method)
    out.save(tmp_path / "out")
    again = mg.Release.load(tmp_path / "out")
    margin = out.domain.names[3:5]
    assert again.publication.margin(margin) == pytest.approx(out.publication.margin(margin))
    assert again.table(*margin)["high"].to_numpy() == pytest.approx(out.table(*margin)["high"].to_numpy())
    verify(tmp_path / "out")
    with pytest.raises(UsageError, match="no microdata"):
        again.microdata()


def test_any_strategy_will_do_for_the_wanted_tables_alone():
    out, _ = released(MARGINS, attributes=5, strategy="residual")
    assert all((out.publication.margin(pair) >= 0).all() for pair in combinations(out.domain.names, 2))
