from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import log, sqrt

import pytest

import margrave as mg
from margrave.algebra.query import spread
from margrave.budget.accountant import epsilon_of
from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.planning.planner import _choose, make_plan
from margrave.planning.strategies.demand import norm, residual_query, unit_variance
from margrave.planning.target import Target, plan_for, sweep
from margrave.spec.workload import Wanted
from tests.shapes import spec_of

pytestmark = pytest.mark.slow

ONE = PureDP(Fraction(1))


def bundled(name, **settings):
    return replace(mg.Spec.load(mg.examples.path(name)), **settings)


@pytest.mark.parametrize(
    ("name", "goal"), [("fungus", 4.35), ("czech", 3.28), ("rochdale", 6.0), ("journey", 3.27)], ids=str
)
def test_the_best_plan_found_reaches_its_goal(name, goal):
    plan = make_plan(bundled(name))
    assert plan.rmse <= goal
    assert plan.cost.epsilon <= 1


def test_all_pairs_of_ten_binary_attributes():
    tables = ["".join(pair) for pair in combinations("abcdefghij", 2)]
    assert make_plan(spec_of((2,) * 10, tables)).rmse <= 15.5
    assert make_plan(spec_of((2,) * 10, tables, strategy="fourier")).rmse == pytest.approx(39.6, abs=0.05)


@pytest.mark.parametrize(("name", "rmse"), [("fungus", 8.49), ("czech", 10.18), ("rochdale", 16.04)])
def test_fourier_is_barak_et_al(name, rmse):
    """The discrete variance is a little below the continuous one of the paper, by 1/6 of a count squared at most."""
    plan = make_plan(bundled(name, strategy="fourier"))
    assert rmse - 0.02 < plan.rmse < rmse + 0.01
    assert len({measurement.noise for measurement in plan.measurements}) == 1


@pytest.mark.parametrize(
    "spec",
    [
        bundled("czech", budget=ZCDP(Fraction(1, 10))),
        bundled("journey", budget=ZCDP(Fraction(2))),
        spec_of((2, 3, 5, 1), ["abd", "bc", "c"], ZCDP(Fraction(1, 7))),
    ],
    ids=["czech", "journey", "mixed"],
)
def test_gaussian_residuals_reach_the_closed_form(spec):
    """(Σ√(w p))²/(2ρ): to 1e-9 before the budget is rounded down, never below and within 1e-6 after."""
    choice = _choose(spec, "residual", gaussian=True)
    optimum = norm(choice.problem) / float(spec.budget.rho)
    weights = choice.problem.residual_weights(choice.problem.cell_weights)
    reached = sum(
        weight
        * unit_variance(choice.problem, residual_query(spec.domain, margin), margin)
        / (choice.shares[residual_query(spec.domain, margin)] * float(spec.budget.rho))
        for margin, weight in weights.items()
    )
    assert reached == pytest.approx(optimum, rel=1e-9)
    parameters = replace_noise_variance(make_plan(spec))
    assert optimum * (1 - 1e-12) <= parameters <= optimum * (1 + 1e-6)


def replace_noise_variance(plan):
    """The objective with each noise's σ² parameter in place of its slightly smaller discrete variance."""
    choice = _choose(plan.spec, "residual", gaussian=True)
    weights = choice.problem.residual_weights(choice.problem.cell_weights)
    return sum(
        weights[one.query.margin]
        * float(one.noise.sigma_squared)
        * float(spread(plan.domain, one.query, one.query.margin))
        for one in plan.measurements
    )


def test_the_worst_table_is_better_when_it_is_the_objective():
    tables = ["abc", "d", "cd"]
    for budget in (ONE, ZCDP(Fraction(1, 10))):
        mean = make_plan(spec_of((2, 3, 2, 4), tables, budget))
        most = make_plan(spec_of((2, 3, 2, 4), tables, budget, objective="max"))
        assert max(row.std_error for row in most.forecast) < max(row.std_error for row in mean.forecast)
        assert most.rmse >= mean.rmse * (1 - 1e-9)


def test_gaussian_max_objective_equalises_the_tables_that_matter():
    plan = make_plan(spec_of((2, 3, 4), ["ab", "bc", "ac"], ZCDP(Fraction(1, 10)), objective="max"))
    errors = sorted(row.std_error for row in plan.forecast)
    assert errors[-1] == pytest.approx(errors[0], rel=1e-3)


def test_auto_is_never_worse_than_a_named_strategy():
    for sizes, tables in [((2, 2, 3), ["ab", "bc"]), ((4, 3), ["ab", "a"]), ((2, 2, 2, 2), ["abc", "bcd", "ad"])]:
        for budget in (ONE, PureDP(Fraction(10)), ZCDP(Fraction(1, 10)), ApproxDP(Fraction(1), Fraction(1, 10**6))):
            for neighbours in ("add-remove", "replace"):
                settings = {"budget": budget, "neighbours": neighbours}
                best = make_plan(spec_of(sizes, tables, **settings)).rmse
                for strategy in ("residual", "fourier", "efron-stein", "margins", "base"):
                    named = make_plan(spec_of(sizes, tables, strategy=strategy, **settings)).rmse
                    assert best <= named * 1.02, (sizes, str(budget), neighbours, strategy)


def test_weights_shift_accuracy():
    even = spec_of((2, 3, 4), ["ab", "bc"], ZCDP(Fraction(1, 10)))
    tilted = replace(even, tables=(Wanted(("a", "b"), Fraction(50)), Wanted(("b", "c"))))
    before, after = make_plan(even).forecast, make_plan(tilted).forecast
    assert after[0].std_error < before[0].std_error and after[1].std_error > before[1].std_error


def test_approximate_budgets_are_kept_and_take_the_better_noise():
    small = make_plan(spec_of((2,), ["a"], ApproxDP(Fraction(1), Fraction(1, 10**9))))
    assert isinstance(small.cost, PureDP)
    many = ["".join(pair) for pair in combinations("abcdefgh", 2)]
    large = make_plan(spec_of((3,) * 8, many, ApproxDP(Fraction(1), Fraction(1, 10**6))))
    assert isinstance(large.cost, ZCDP)
    assert large.guarantee.epsilon <= 1 and large.guarantee.delta == Fraction(1, 10**6)


def test_a_target_is_met_by_the_least_budget():
    spec = bundled("czech")
    plan = plan_for(spec, Target.parse("5@95%"))
    worst = max(row.half_width for row in plan.forecast)
    assert 4.8 < worst <= 5
    less = make_plan(replace(plan.spec, budget=PureDP(plan.spec.budget.epsilon * Fraction(99, 100))))
    assert max(row.half_width for row in less.forecast) > 5
    rho = plan_for(bundled("czech", budget=ZCDP(Fraction(1))), Target(5, 0.95))
    assert isinstance(rho.spec.budget, ZCDP)


@pytest.mark.parametrize("text", ["5", "5@95", "five@95%", "5@0%", "5@100%", "-5@95%", "nan@95%", "@95%"])
def test_bad_targets_are_usage_errors(text):
    with pytest.raises(UsageError, match="target"):
        Target.parse(text)


def test_error_falls_as_the_budget_rises():
    amounts = [Fraction(1, 10), Fraction(1), Fraction(10)]
    errors = [plan.rmse for plan in sweep(bundled("czech"), amounts)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == pytest.approx(10 * errors[1], rel=0.03)


def test_theory_bounds_hold_the_published_constants():
    plan = make_plan(bundled("czech", strategy="fourier"))
    number = len(plan.measurements)
    bound = plan.theory(0.05)[("mental", "family")]
    assert bound == pytest.approx(4 * 2 * (number * log(number / 0.05) + 0.5) + number, rel=1e-6)
    assert make_plan(bundled("czech")).theory() == {}
    assert make_plan(bundled("journey", strategy="efron-stein")).theory()


def test_a_plan_reads_as_a_table():
    text = repr(make_plan(bundled("fungus")))
    assert "locus_a, locus_b, locus_d" in text and "ε = 1" in text and "5 together: ε = 5" in text


def test_large_budgets_are_warned_of_and_small_ones_still_work():
    assert any("very little" in warning for warning in make_plan(spec_of((2,), ["a"], PureDP(Fraction(11)))).warnings)
    assert make_plan(spec_of((2,), ["a"], PureDP(Fraction(2000)))).rmse < 1e-3
    assert make_plan(spec_of((2, 2), ["ab"], PureDP(Fraction(1, 10**6)))).rmse > 1e5


def test_what_would_overflow_is_refused():
    with pytest.raises(RefusedError):
        make_plan(spec_of((2,), ["a"], PureDP(Fraction(1, 10**17))))


def test_nothing_to_protect_is_refused():
    with pytest.raises(RefusedError, match="needs no private"):
        make_plan(spec_of((2, 2), ["a"], sensitive=("b",), neighbours="replace"))
    with pytest.raises(RefusedError, match="needs no private"):
        make_plan(spec_of((2,), [""], neighbours="replace"))


def test_sensitive_attributes_leave_the_others_exact():
    plan = make_plan(spec_of((2, 3, 2), ["ab", "bc"], sensitive=("c",), neighbours="replace"))
    assert plan.exact == (("a", "b"),)
    errors = {row.margin: row.std_error for row in plan.forecast}
    assert errors[("a", "b")] == 0 and errors[("b", "c")] > 0
    assert any("only c" in warning for warning in plan.warnings)


def test_replacing_keeps_the_number_of_records_exact():
    plan = make_plan(spec_of((2, 3), ["ab"], neighbours="replace"))
    assert plan.exact == ((),)
    assert sqrt(plan.accuracy.cell_variance(())) == 0


def test_the_base_table_must_fit():
    with pytest.raises(RefusedError, match="base table"):
        make_plan(spec_of((10,) * 12, ["abcdefghijkl"[:2], "cdefghijkl"], strategy="base"))


def test_groups_are_told_at_the_delta_of_the_spec():
    """By (ε, δ) alone ten together would have δ = 0.08 here; the noise itself guarantees far more."""
    delta = Fraction(1, 10**6)
    many = ["".join(pair) for pair in combinations("abcdefgh", 2)]
    plan = make_plan(spec_of((3,) * 8, many, ApproxDP(Fraction(1), delta)))
    for size, told in plan.promise.groups.items():
        assert told == ApproxDP(epsilon_of(plan.cost.rho * size**2, delta), delta)
    assert f"10 together: ε = {float(plan.promise.groups[10].epsilon):.4g}, δ = 1e-06" in plan.promise.words()[-2]


@pytest.mark.parametrize(
    ("privacy", "warned"),
    [({"epsilon": 11}, 1), ({"epsilon": 9}, 0), ({"rho": "1.2"}, 1), ({"rho": "0.5"}, 0), ({"rho": "1e6"}, 1)],
)
def test_a_budget_that_protects_little_is_warned_of_in_whatever_unit(privacy, warned):
    attributes = {"a": {"values": ["x", "y"]}}
    plan = mg.plan({"attributes": attributes, "release": {"tables": [["a"]]}, "privacy": privacy})
    assert sum("protects very little" in text for text in plan.warnings) == warned
