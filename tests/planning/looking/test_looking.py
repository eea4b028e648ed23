"""Plans that look at the data: what they offer, what their rounds cost, and what they refuse."""

from dataclasses import replace
from fractions import Fraction

import pytest

import margrave as mg
from margrave.budget.events import Measurement, Protection, Selection
from margrave.budget.units import ZCDP, PureDP
from margrave.errors import RefusedError
from margrave.planning.checks import check_plan
from margrave.planning.limits import CANDIDATES
from margrave.planning.looking.candidates import candidates_of
from margrave.planning.looking.rounds import FIXED, make_rounds, round_count
from margrave.planning.planner import make_plan
from tests.shapes import domain_of, spec_of

BUDGETS = [PureDP(Fraction(1)), ZCDP(Fraction(1, 10))]


def plan_of(budget=BUDGETS[0], sizes=(2, 3, 4), tables=("ab", "bc", "ac"), **settings):
    return make_plan(spec_of(sizes, tables, budget, strategy="adaptive", **settings))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_plan_spends_its_budget_and_no_more(budget, neighbours):
    plan = plan_of(budget, neighbours=neighbours)
    assert budget.amount * Fraction(999, 1000) < plan.cost.amount <= budget.amount
    assert len(plan.rounds) == round_count(3) == 5
    fixed = replace(plan, rounds=()).cost.amount
    assert fixed == pytest.approx(float(budget.amount * FIXED), rel=1e-6)
    check_plan(plan)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("weight", [1, 16])
def test_rounds_cost_what_they_are_given(gaussian, neighbours, weight):
    protection = Protection(neighbours)
    rounds = make_rounds(Fraction(1, 7), 9, gaussian, protection, weight)
    spent = sum(one.price(protection) for one in rounds)
    assert Fraction(1, 7) * Fraction(999_999, 1_000_000) < spent <= Fraction(1, 7)
    assert float(rounds[-1].price(protection) / rounds[0].price(protection)) == pytest.approx(4)


def test_every_wanted_table_is_forecast_before_anything_is_selected():
    plan = plan_of()
    assert {row.margin for row in plan.forecast} == set(plan.spec.margins)
    assert all(row.std_error < float("inf") for row in plan.forecast)
    said = repr(plan)
    assert "The forecast is a bound" in said and "5 rounds look at the data" in said
    assert "they hold whether or not the model does" in said


def test_the_forecast_bounds_what_any_selection_makes_of_it():
    plan = plan_of(BUDGETS[1])
    for margin in plan.candidates.margins:
        one = plan.rounds[0]
        grown = plan.grown([*plan.measurements, Measurement(mg_query(margin), one.noise, one.selection)])
        for before, after in zip(plan.forecast, grown.forecast, strict=True):
            assert after.std_error <= before.std_error * (1 + 1e-12)


def mg_query(margin):
    from margrave.algebra.query import Query

    return Query(margin)


def test_candidates_are_the_tables_below_the_wanted_ones():
    offered = candidates_of(domain_of(2, 3, 4), {("a", "b", "c"): 1.0})
    assert set(offered.margins) == {("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")}
    assert offered.weights[offered.margins.index(("a", "b", "c"))] == offered.weight == 16
    assert offered.weights[offered.margins.index(("a", "b"))] == 11


def test_tables_of_the_same_standing_weigh_one():
    assert candidates_of(domain_of(2, 3, 4), {("a", "b"): 1.0, ("b", "c"): 1.0, ("a", "c"): 1.0}).weight == 1


def test_too_large_a_table_is_no_candidate():
    assert candidates_of(domain_of(600, 600, 2), {("a", "b"): 1.0, ("a", "c"): 1.0}).margins == (("a", "c"),)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"sensitive": ("a",)}, "sensitive"),
        ({"impossible": ({"a": ("0",), "b": ("0",)},)}, "impossible"),
        ({"tables": ("a", "b")}, "two or more attributes"),
    ],
)
def test_what_it_cannot_do_is_refused_with_the_reason(settings, match):
    with pytest.raises(RefusedError, match=match):
        plan_of(**settings)


def test_public_facts_are_refused():
    spec = mg.Spec.from_dict(
        {
            "attributes": {"a": ["x", "y"], "b": ["u", "v"]},
            "release": {"tables": [["a", "b"]], "public": [["a"]], "strategy": "adaptive"},
            "privacy": {"epsilon": 1},
        }
    )
    with pytest.raises(RefusedError, match="public facts"):
        mg.plan(spec)


def test_too_many_candidates_are_refused():
    assert CANDIDATES < 65 * 64 // 2
    spec = spec_of((2,) * 8, ["ab"], strategy="adaptive")
    from margrave.planning.looking.refusals import no_looking

    assert no_looking(spec, CANDIDATES) is None
    assert str(CANDIDATES) in (no_looking(spec, CANDIDATES + 1) or "")


@pytest.mark.parametrize("fault", ["weight", "strategy", "margin", "contrast"])
def test_a_plan_that_selects_otherwise_is_refused(fault):
    plan = plan_of(tables=("ab", "bc"))
    one = plan.rounds[0]
    if fault == "contrast":
        from margrave.algebra.query import Query
        from margrave.errors import UsageError

        with pytest.raises(UsageError, match="cell by cell"):
            Measurement(Query(("a", "b"), ("a",)), one.noise, one.selection)
        return
    selection = Selection(one.selection.rate, True, 2) if fault == "weight" else one.selection
    margin = ("a", "c") if fault == "margin" else ("a", "b")
    grown = plan.grown([*plan.measurements, Measurement(mg_query(margin), one.noise, selection)])
    with pytest.raises(RefusedError, match="plan again"):
        check_plan(replace(grown, strategy="margins") if fault == "strategy" else grown)


def test_units_of_several_records_pay_for_all_of_them():
    spec = mg.Spec.from_dict(
        {
            "attributes": {"a": ["x", "y"], "b": ["u", "v"], "c": ["s", "t"]},
            "data": {"source": "people.csv", "unit": {"column": "id", "max_records": 3}},
            "release": {"all": 2, "strategy": "adaptive"},
            "privacy": {"rho": "0.1"},
        }
    )
    plan = make_plan(spec)
    assert Fraction(999, 10_000) < plan.cost.amount <= Fraction(1, 10)
    assert sum(one.price(plan.protection) for one in plan.rounds) < Fraction(1, 10) / 9


def test_what_a_plan_takes_of_time_and_memory_is_predicted():
    plan = plan_of()
    assert plan.seconds > 0
    assert plan.memory > 0
    assert plan.publishing.method == "graphical" and plan.publishing.microdata
