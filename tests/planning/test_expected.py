"""Plans for what will be published: shares that follow from the budget and the expected number of records."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import margrave as mg
from margrave.errors import MargraveError, UsageError
from margrave.planning.expected import Expected, expected_rmse
from margrave.planning.strategies.demand import Demand
from margrave.planning.ways.release import remarks

SIZES = {"a": 8, "b": 9, "c": 10}


def plan_of(budget, **release):
    attributes = {name: {"range": [0, size - 1]} for name, size in SIZES.items()}
    wanted = {"tables": [list(pair) for pair in combinations(SIZES, 2)], **release}
    return mg.plan({"attributes": attributes, "release": wanted, "privacy": budget})


def alone(plan):
    """The share of the cost that goes to tables of at most one attribute."""
    spent_by = {one.query.margin: 1 / one.noise.variance for one in plan.measurements}
    scale = dict.fromkeys(spent_by, 1.0)
    for name, size in SIZES.items():
        for margin in scale:
            scale[margin] *= size * (size - 1) if name in margin else 1
    spent = {margin: spent_by[margin] * scale[margin] for margin in spent_by}
    return sum(one for margin, one in spent.items() if len(margin) < 2) / sum(spent.values())


@pytest.mark.parametrize("rho", ["0.00002", "0.01", "1"])
def test_shares_move_to_tables_of_one_attribute_at_small_budgets_only(rho):
    usual, leaned = plan_of({"rho": rho}), plan_of({"rho": rho}, expected_size=20_000)
    assert float(leaned.cost.amount) <= float(rho)
    assert float(leaned.cost.amount) == pytest.approx(float(rho), rel=1e-5)
    if rho == "0.00002":
        assert alone(leaned) > 1.5 * alone(usual)
    if rho == "1":
        assert alone(leaned) == pytest.approx(alone(usual), rel=0.02)
        assert leaned.rmse == pytest.approx(usual.rmse, rel=0.001)
    assert leaned.rmse >= usual.rmse * (1 - 1e-9)  # the unbiased optimum is the usual one, and its forecast stays


def test_the_risk_is_less_than_with_the_usual_shares():
    for budget in ({"rho": "0.001"}, {"epsilon": "0.01"}):
        leaned, usual = plan_of(budget, expected_size=20_000), plan_of(budget)
        same = replace(usual, spec=replace(usual.spec, expected_size=20_000))
        assert expected_rmse(leaned) < expected_rmse(same) < usual.rmse
        assert all(one.query in {two.query for two in leaned.measurements} for one in usual.measurements)


def test_tables_of_as_many_attributes_keep_their_proportions():
    """Nobody knows which pairs interact, so none is preferred to another."""
    leaned, usual = (plan_of({"rho": "0.0001"}, **more) for more in ({"expected_size": 20_000}, {}))
    factors = {}
    for one, two in zip(leaned.measurements, usual.measurements, strict=True):
        assert one.query == two.query
        factors.setdefault(max(len(one.query.margin), 1), []).append(one.noise.variance / two.noise.variance)
    for several in factors.values():
        np.testing.assert_allclose(several, several[0], rtol=1e-3)
    assert factors[1][0] < 1 < factors[2][0]


def test_most_of_a_budget_that_shows_no_pair_goes_to_single_attributes():
    assert alone(plan_of({"rho": "0.00001"}, expected_size=2_000)) > 0.95
    assert alone(plan_of({"rho": "0.00001"}, expected_size=2_000_000)) < 0.5


def test_what_is_assumed_is_said_and_the_unbiased_forecast_stays():
    plan = plan_of({"rho": "0.001"}, expected_size=20_000)
    assert "Planned for about 20,000 records. Assumed, not known" in repr(plan)
    assert "forecast RMSE" in repr(plan)
    said = json.loads(json.dumps(plan.to_json()))
    assert said["expected_rmse"] < said["rmse"]
    assert "expected_rmse" not in plan_of({"rho": "0.001"}).to_json()
    other = plan_of({"rho": "0.001"}, expected_size=20_000, objective="max")
    assert "changes nothing here" in repr(other)
    usual = plan_of({"rho": "0.001"}, objective="max")
    assert other.measurements == usual.measurements


def test_a_plan_says_for_how_few_records_their_number_is_worth_saying():
    said = [text for text in remarks(plan_of({"rho": "0.0001"})).words if "expected_size" in text]
    off = np.mean([one.expected_l1 for one in plan_of({"rho": "0.0001"}).forecast])
    assert len(said) == 1 and f"fewer than about {float(f'{5 * off:.1g}'):,.0f} records" in said[0]
    told = remarks(plan_of({"rho": "0.0001"}, expected_size=20_000)).words
    assert not any("say so as" in text for text in told)
    assert any("Planned for about 20,000 records. Assumed, not known" in text for text in told)


@pytest.mark.parametrize(
    "release",
    [
        {"objective": "max"},
        {"public": [["a"]]},
        {"strategy": "adaptive"},
        {"strategy": "base"},
        {"nonnegative": "none"},
    ],
)
def test_it_is_not_said_where_it_would_change_nothing_or_what_is_published_is_not_shrunk(release):
    assert not any("expected_size" in text for text in remarks(plan_of({"rho": "0.0001"}, **release)).words)


def test_with_laplace_noise_shares_follow_the_size_only_where_noise_is_larger():
    usual = plan_of({"epsilon": "0.1"})
    off = np.mean([one.expected_l1 for one in usual.forecast])
    many, few = (plan_of({"epsilon": "0.1"}, expected_size=round(part * off)) for part in (1.1, 0.9))
    assert many.measurements == usual.measurements and few.measurements != usual.measurements
    assert "changes nothing here" in repr(many) and "Assumed, not known" in repr(few)
    (said,) = (text for text in remarks(usual).words if "expected_size" in text)
    assert f"fewer than about {float(f'{off:.1g}'):,.0f} records" in said


def test_nor_where_hardly_any_table_has_so_few_records():
    assert not any("expected_size" in text for text in remarks(plan_of({"rho": "1000"})).words)


def test_a_spec_with_an_expected_size_is_written_and_read_back():
    spec = plan_of({"rho": "0.001"}, expected_size=20_000).spec
    again = mg.Spec.load(spec.to_toml())
    assert again.expected_size == 20_000


@pytest.mark.parametrize("wrong", [0, -5, 2.5, "many", 10**13])
def test_a_wrong_size_is_refused(wrong):
    with pytest.raises(MargraveError, match="expected_size"):
        plan_of({"rho": "0.001"}, expected_size=wrong)


def test_interactions_are_assumed_to_decay_with_each_attribute():
    plan = plan_of({"rho": "0.001"})
    expected = Expected(1000)
    assert np.isinf(expected.spreads(plan.domain, ())).all()
    sizes = np.array([1, 1 / 4, 1 / 16, 1 / 64, 1 / 256])
    one, two = (expected.spreads(plan.domain, margin) for margin in (("a",), ("a", "b")))
    np.testing.assert_allclose(one, 1000**2 * 0.7 * sizes / (8 * 7))
    np.testing.assert_allclose(two, 1000**2 * 0.175 * sizes / (72 * 56))


@pytest.mark.slow
def test_the_risk_is_the_mean_over_the_sizes_that_an_interaction_may_have():
    """By simulation: effects of each size, measured with noise and shrunk as far as their size says."""
    domain = plan_of({"rho": "0.001"}).domain
    problem, expected, random = Demand(domain, {("a", "b"): 1.0}), Expected(1000), np.random.default_rng(1)
    variance = dict.fromkeys(problem.unknown, 300.0)
    weights = problem.residual_weights(problem.cell_weights)
    errors = []
    for _ in range(40_000):
        total = weights[()] * random.normal(0, 300**0.5) ** 2
        for margin in problem.unknown:
            if margin:
                size = random.choice(expected.spreads(domain, margin))
                effect = random.normal(0, size**0.5)
                seen = effect + random.normal(0, 300**0.5)
                total += weights[margin] * (size / (size + 300) * seen - effect) ** 2
        errors.append(total)
    assert np.mean(errors) == pytest.approx(expected.risk(problem, variance), rel=0.03)


def test_a_size_below_one_has_no_spec():
    with pytest.raises(UsageError, match="expected_size"):
        replace(plan_of({"rho": "0.001"}).spec, expected_size=0)
