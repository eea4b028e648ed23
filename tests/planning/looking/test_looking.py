"""Plans that look at the data: what they offer, what their rounds cost, and what they refuse."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest

import margrave as mg
from margrave.budget.events import NO_REST, Measurement, Protection, Rest, Selection, cost
from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.planning.checks import check_plan
from margrave.planning.limits import CANDIDATES
from margrave.planning.looking.candidates import candidates_of
from margrave.planning.looking.rounds import make_rest, make_rounds, pace
from margrave.planning.planner import make_plan
from margrave.planning.strategies.adaptive import before
from margrave.planning.target import Target, meets, plan_for
from tests.shapes import domain_of, spec_of

BUDGETS = [PureDP(Fraction(1)), ZCDP(Fraction(1, 10))]


def plan_of(budget=BUDGETS[0], sizes=(2, 3, 4), tables=("ab", "bc", "ac"), **settings):
    return make_plan(spec_of(sizes, tables, budget, strategy="adaptive", **settings))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_plan_spends_its_budget_and_no_more(budget, neighbours):
    plan = plan_of(budget, neighbours=neighbours)
    assert budget.amount * Fraction(999, 1000) < plan.cost.amount <= budget.amount
    gaussian = isinstance(budget, ZCDP)
    assert len(plan.rounds) == pace(gaussian).count(3) == (3 if gaussian else 5)
    fixed = replace(plan, rounds=(), rest=NO_REST).cost.amount
    assert fixed == pytest.approx(float(budget.amount) * before(gaussian).all, rel=1e-6)
    assert float(plan.rest.price / budget.amount) == pytest.approx(0.3 if gaussian else 0.0, rel=1e-6)
    check_plan(plan)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("weight", [1, 16])
def test_rounds_cost_what_they_are_given(gaussian, neighbours, weight):
    protection = Protection(neighbours)
    rounds = make_rounds(Fraction(1, 7), 9, gaussian, protection, weight)
    spent = sum(one.price(protection) for one in rounds)
    assert Fraction(1, 7) * Fraction(999_999, 1_000_000) < spent <= Fraction(1, 7)
    assert float(rounds[-1].price(protection) / rounds[0].price(protection)) == pytest.approx(2 if gaussian else 4)


@pytest.mark.parametrize("queries", [1, 100, 129, 2000])
def test_a_rest_has_parts_for_everybody_and_costs_what_is_left(queries):
    rest = make_rest(Fraction(1, 7), queries)
    assert rest.parts >= max(1024, 8 * queries)
    assert Fraction(1, 7) * Fraction(999_999, 1_000_000) < rest.price <= Fraction(1, 7)


@pytest.mark.parametrize(("parts", "part"), [(-1, 1), (1, 0), (0, 1), (2, -1), (1 << 40, 1)])
def test_a_rest_needs_parts_and_a_price(parts, part):
    with pytest.raises(UsageError, match="parts"):
        Rest(parts, Fraction(part))


def test_a_measurement_is_selected_or_gets_parts_but_not_both():
    one = plan_of(BUDGETS[1]).rounds[0]
    for parts, selection in ((1, one.selection), (-1, None)):
        with pytest.raises(UsageError, match="not two of these"):
            Measurement(mg_query(("a", "b")), one.noise, selection, parts)


@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_however_the_rest_is_divided_it_costs_the_same(neighbours, records):
    plan = plan_of(BUDGETS[1], neighbours=neighbours)
    protection, queries = Protection(neighbours, (), records), plan.dividing
    assert {query.margin for query in queries} == {*plan.candidates.margins, ("a",), ("b",), ("c",)}
    planned = cost(plan.domain, plan.measurements, protection, plan.rounds, plan.rest).amount
    without = cost(plan.domain, plan.measurements, protection, plan.rounds).amount
    noise = plan.measurements[0].noise
    for parts in ([plan.rest.parts], [1, 2, plan.rest.parts - 3], [plan.rest.parts // 4] * 4):
        divided = [
            plan.rest.measurement(plan.domain, query, some, noise, protection)
            for query, some in zip(queries, parts, strict=False)
        ]
        found = cost(plan.domain, [*plan.measurements, *divided], protection, plan.rounds).amount
        assert found == planned > without


def test_what_the_rest_cannot_go_to_is_refused():
    plan = plan_of(BUDGETS[1], tables=("ab", "bc"))
    noise = plan.measurements[0].noise
    for query, strategy in ((mg_query(("a", "b")), "adaptive"), (plan.dividing[0], "residual")):
        more = plan.rest.measurement(plan.domain, query, 5, noise, plan.protection)
        grown = replace(plan.grown([*plan.measurements, more]), strategy=strategy)
        with pytest.raises(RefusedError, match="plan again"):
            check_plan(grown)


def test_every_wanted_table_is_forecast_before_anything_is_selected():
    plan = plan_of()
    assert {row.margin for row in plan.forecast} == set(plan.spec.margins)
    assert all(row.std_error < float("inf") for row in plan.forecast)
    said = repr(plan)
    assert "The forecast is a bound" in said and "5 rounds look at the data" in said
    assert "they hold in the mean over these, whether or not the model does" in said


def test_the_forecast_bounds_what_any_selection_makes_of_it():
    plan = plan_of(BUDGETS[1])
    for margin in plan.candidates.margins:
        one = plan.rounds[0]
        grown = plan.grown([*plan.measurements, Measurement(mg_query(margin), one.noise, one.selection)])
        for wide, narrow in zip(plan.forecast, grown.forecast, strict=True):
            assert narrow.std_error <= wide.std_error * (1 + 1e-12)


def mg_query(margin):
    from margrave.algebra.query import Query

    return Query(margin)


def test_candidates_are_the_pairs_of_the_wanted_tables():
    offered = candidates_of(domain_of(2, 3, 4), {("a", "b", "c"): 1.0, ("a", "b"): 1.0})
    assert set(offered.margins) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert offered.weights[offered.margins.index(("a", "b"))] == offered.weight == 16
    assert offered.weights[offered.margins.index(("a", "c"))] == 12


def test_tables_of_the_same_standing_weigh_one():
    assert candidates_of(domain_of(2, 3, 4), {("a", "b"): 1.0, ("b", "c"): 1.0, ("a", "c"): 1.0}).weight == 1


def test_too_large_a_table_is_no_candidate():
    assert candidates_of(domain_of(600, 600, 2), {("a", "b"): 1.0, ("a", "c"): 1.0}).margins == (("a", "c"),)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"sensitive": ("a",)}, "sensitive"),
        ({"impossible": ({"a": ("0",), "b": ("0",)},)}, "impossible"),
        ({"tables": ("a", "b")}, "no pair of attributes"),
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


def wide(privacy=(("rho", "0.01"),), **release):
    """A spec whose full table nobody holds."""
    return mg.Spec.from_dict(
        {
            "attributes": {f"a{at:02}": {"range": [0, 9]} for at in range(8)},
            "release": {"all": 2, **release},
            "privacy": dict(privacy),
        }
    )


@pytest.mark.parametrize("privacy", [{"rho": "0.01"}, {"epsilon": 1}, {"epsilon": 1, "delta": "1e-9"}])
def test_auto_looks_where_no_full_table_can_be_held(privacy):
    plan = mg.plan(wide(privacy.items()))
    assert plan.strategy == "adaptive" and plan.rounds and plan.publishing.method == "graphical"
    assert plan.cost.amount <= plan.spec.budget.payable(plan.spec.budget.gaussian[0])


@pytest.mark.parametrize(
    "release",
    [
        {"nonnegative": "none"},
        {"nonnegative": "records"},
        {"rounding": "none"},
        {"objective": "max"},
        {"sensitive": ["a00"]},
        {"public": [["a00"]]},
        {"impossible": [{"a00": [1], "a01": [2]}]},
        {"all": 1},
    ],
)
def test_auto_plans_all_beforehand_where_looking_is_not_possible_or_not_what_is_asked_for(release):
    assert not mg.plan(wide(**release)).looks


def test_tables_that_can_be_held_are_planned_beforehand():
    assert not mg.plan(spec_of((2, 3, 4), ("ab", "bc"))).looks


@pytest.mark.parametrize("all_of", [2, 5])
def test_auto_looks_where_a_table_is_not_worth_holding_and_noise_is_gaussian(all_of):
    budgets = {"ρ": ZCDP(Fraction(1, 100)), "ε, δ": ApproxDP(Fraction(1), Fraction(1, 10**9)), "ε": PureDP(Fraction(1))}
    tables = ["".join(names) for names in combinations("abcdef", all_of)]
    looks = {name: mg.plan(spec_of((7,) * 6, tables, budget)).looks for name, budget in budgets.items()}
    assert looks == {"ρ": True, "ε, δ": True, "ε": False}


def test_a_target_is_met_by_what_is_fixed_and_the_spec_says_so():
    """The forecast of a plan that looks is a bound, so that it would need a larger budget."""
    found = plan_for(wide(), Target(50.0, 0.95))
    assert not found.looks and found.spec.strategy == found.strategy != "auto"
    assert meets(mg.plan(found.spec), Target(50.0, 0.95))


def test_an_expected_size_matters_only_where_records_are_few_for_the_budget():
    plans = [mg.plan(wide(expected_size=size)) for size in (30, 300, 50_000, 5_000_000)]
    shares = [_alone(plan) for plan in plans]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0.8
    assert shares[-1] == shares[-2] == pytest.approx(0.2, rel=1e-3)
    assert all(plan.cost.amount <= plan.spec.budget.amount for plan in plans)
    assert "Planned for about 300 records: these are few" in repr(plans[1])
    assert "50,000 records changes nothing" in repr(plans[2])
    assert "changes nothing" in repr(mg.plan(wide((("epsilon", 1),), expected_size=1_000)))


def _alone(plan):
    """The part of the budget that single attributes get before anything is looked at."""
    alone = tuple(one for one in plan.measurements if len(one.query.margin) < 2)
    return float(replace(plan, rounds=(), rest=NO_REST, measurements=alone).cost.amount / plan.cost.amount)
