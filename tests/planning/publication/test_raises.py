"""How much the total will be raised: known beforehand, and enough as often as it says."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import margrave as mg
from margrave.errors import RefusedError
from margrave.planning.publication.raises import MARGINS, TABLE


def spec_of(attributes, method, **settings):
    values = {f"x{index:02}": {"values": ["0", "1"]} for index in range(attributes)}
    privacy = {"epsilon": "1", **settings.pop("privacy", {})}
    release = {"all": 2, "strategy": "fourier", "nonnegative": method, **settings}
    return mg.Spec.from_dict({"attributes": values, "privacy": privacy, "release": release})


def test_the_plan_says_both_raises_beforehand():
    """All triples of 20 attributes have 1351 coefficients; the raise is 1351 times a gamma quantile of that shape."""
    plan = mg.plan(spec_of(20, TABLE, all=3))
    assert plan.publishing.raises.table == pytest.approx(1_908_316, rel=1e-4)
    assert 17_419 < plan.publishing.raises.margins < 100_000
    said = plan.publishing.words()
    assert "by 1,908,316 a non-negative full table" in said
    assert "promises no more" in mg.plan(spec_of(20, MARGINS, all=3)).publishing.words()
    assert plan.publishing.as_dict()["raises"]["table"] == plan.publishing.raises.table


def test_no_full_table_is_needed_for_any_number_of_attributes():
    for method in ("simple", TABLE, MARGINS):
        publishing = mg.plan(spec_of(40, method)).publishing
        assert publishing.why_not is None
        assert publishing.method == (MARGINS if method == MARGINS else TABLE)
        assert publishing.cells == 0


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"privacy": {"neighbours": "replace"}}, "changes the total"),
        ({"impossible": [{"x00": "0", "x01": "0"}]}, "impossible cells"),
        ({"strategy": "residual"}, "'simple-margins' needs neither"),
        ({"privacy": {"delta": "1e-6"}}, "'simple-margins' needs neither"),
        ({"rounding": "nearest"}, "leave out rounding"),
    ],
)
def test_what_cannot_be_raised_is_refused(settings, reason):
    with pytest.raises(RefusedError, match=reason):
        mg.plan(spec_of(4, TABLE, **settings))


@pytest.mark.slow
def test_a_non_negative_full_table_exists_as_often_as_is_said():
    """By linear programs, for the data that makes it hardest: all records in one cell."""
    import pandas as pd

    plan = mg.plan(spec_of(4, TABLE))
    rows = pd.DataFrame({name: ["0"] * 3 for name in plan.spec.domain.names})
    shape = plan.spec.domain.shape()
    cells = np.indices(shape).reshape(len(shape), -1).T
    wanted = [margin for margin in plan.spec.margins if len(margin) == 2]
    matrix = []
    for margin in wanted:
        axes = [plan.spec.domain.position(name) for name in margin]
        matrix += [(cells[:, axes] == value).all(axis=1) for value in np.ndindex(2, 2)]
    missing, least = 0, 0
    for seed in range(120):
        out = mg.release(plan, rows, seed=seed)
        counts = np.concatenate([out.publication.margin(margin).ravel() for margin in wanted])
        assert (counts >= 0).all()
        found = linprog(np.zeros(len(cells)), A_eq=np.array(matrix, dtype=float), b_eq=counts)
        missing += found.status == 2
        bare = np.concatenate([out.unbiased(margin).ravel() for margin in wanted])
        least += linprog(np.zeros(len(cells)), A_eq=np.array(matrix, dtype=float), b_eq=bare).status == 2
    assert missing <= 120 * 0.05
    assert least > 60  # without the raise it mostly does not exist


def test_an_attribute_of_one_value_changes_no_raise():
    attributes = {"x": {"values": ["0", "1"]}, "one": {"values": ["only"]}, "y": {"values": ["0", "1"]}}
    release = {"tables": [["x", "one"], ["x", "y"]], "strategy": "fourier", "nonnegative": MARGINS}
    plan = mg.plan({"attributes": attributes, "release": release, "privacy": {"epsilon": "1"}})
    assert plan.publishing.why_not is None and plan.publishing.raises.margins > 0
    out = mg.release(plan, pd.DataFrame({"x": ["0", "1"], "one": "only", "y": ["1", "1"]}), seed=1)
    assert out.published(("x", "one")).min() >= 0
