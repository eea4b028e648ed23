"""The stated cost of every strategy against brute force over all neighbouring tables of small shapes.

A neighbour differs by one unit. The cost must be at least what the worst neighbour really costs (or the release leaks)
and no more (or it wastes accuracy).
"""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from margrave.algebra.query import answer
from margrave.budget.events import Measurement, Protection, cost, worst_move
from margrave.budget.units import ZCDP, PureDP
from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.planning.planner import make_plan
from tests.shapes import records_of, spec_of

pytestmark = pytest.mark.slow

STRATEGIES = ["auto", "residual", "fourier", "efron-stein", "margins", "base"]
SHAPES = [
    ((2, 2, 2), ["ab", "bc"]),
    ((2, 3, 2), ["ab", "bc"]),
    ((3, 1, 2), ["ab", "c"]),
    ((3, 4), ["ab"]),
    ((2,), ["a"]),
]


def moves(spec, plan):
    """Every difference of two neighbouring full tables, over the spec's domain."""
    shape = spec.domain.shape()
    units = [np.eye(1, int(np.prod(shape)), i, dtype=np.int64).reshape(shape) for i in range(int(np.prod(shape)))]
    records = records_of(spec.domain)
    sensitive = [axis for axis, name in enumerate(spec.domain.names) if name in spec.sensitive]
    single = []
    for (before, x), (after, y) in product(zip(records, units, strict=True), repeat=2):
        fixed = [axis for axis in range(len(shape)) if axis not in sensitive]
        if not spec.sensitive or all(before[axis] == after[axis] for axis in fixed):
            single.append(x - y)
    size = plan.protection.records
    if spec.sensitive:
        return [sum(parts) for parts in combinations_with_replacement(single, size)]
    if spec.neighbours == "replace":
        changes = [*single, *units, *(-unit for unit in units)] if size > 1 else single
        return [sum(parts) for parts in combinations_with_replacement(changes, size)]
    owned = [sum(parts) for count in range(1, size + 1) for parts in combinations_with_replacement(units, count)]
    return [*owned, *(-table for table in owned)]


def true_cost(spec, plan):
    worst = Fraction(0)
    seen = set()
    for move in moves(spec, plan):
        if move.tobytes() in seen:
            continue
        seen.add(move.tobytes())
        total = Fraction(0)
        for measurement in plan.measurements:
            change = measured_change(spec, plan, measurement, move)
            total += measurement.price(int(np.abs(change).sum()), int((change**2).sum()))
        worst = max(worst, total)
    return worst


def measured_change(spec, plan, measurement, move):
    names = spec.domain.names
    table = plan.encoding.encode(names, move)
    domain = plan.domain
    axes = tuple(axis for axis, name in enumerate(domain.names) if name not in measurement.query.margin)
    return answer(domain, measurement.query, table.sum(axis=axes))


def amount(spent):
    return spent.rho if isinstance(spent, ZCDP) else spent.epsilon


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("budget", [PureDP(Fraction(1)), ZCDP(Fraction(1, 10))], ids=str)
@pytest.mark.parametrize(("sizes", "tables"), SHAPES, ids=str)
def test_the_cost_is_exactly_that_of_the_worst_neighbour(strategy, neighbours, budget, sizes, tables):
    spec = spec_of(sizes, tables, budget, strategy=strategy, neighbours=neighbours)
    plan = make_plan(spec)
    stated = amount(plan.cost)
    worst = true_cost(spec, plan)
    assert worst <= stated <= amount(budget)
    assert stated >= amount(budget) * (1 - Fraction(1, 10**6))
    if plan.encoding.keeps_cells:
        assert stated == worst


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("budget", [PureDP(Fraction(1)), ZCDP(Fraction(1, 10))], ids=str)
@pytest.mark.parametrize("strategy", ["residual", "margins", "efron-stein", "base"])
def test_units_of_two_records(neighbours, budget, strategy):
    spec = spec_of((2, 3), ["ab"], budget, strategy=strategy, neighbours=neighbours)
    one = make_plan(spec)
    plan = replace(one, protection=Protection(neighbours, records=2))
    assert true_cost(spec, plan) <= amount(plan.cost)
    factor = 2 if isinstance(budget, PureDP) else 4
    if neighbours == "add-remove":
        assert true_cost(spec, plan) == amount(plan.cost) == factor * amount(one.cost)


def test_replacing_a_unit_by_a_smaller_one_is_paid_for():
    """The total is safe from replacing one record, but not from replacing a unit of two by a unit of one."""
    spec = spec_of((2,), [""], strategy="margins", neighbours="replace")
    measurements = (
        Measurement(
            make_plan(replace(spec, neighbours="add-remove")).measurements[0].query, DiscreteLaplace(Fraction(1))
        ),
    )
    assert amount_of(spec, measurements, 1) == 0
    assert amount_of(spec, measurements, 2) == 2


def amount_of(spec, measurements, records):
    return records * worst_move(spec.domain, measurements, Protection("replace", records=records))


@pytest.mark.parametrize("budget", [PureDP(Fraction(1)), ZCDP(Fraction(1, 10))], ids=str)
@pytest.mark.parametrize("strategy", ["auto", "residual", "margins", "efron-stein", "base", "fourier"])
@pytest.mark.parametrize(
    ("sizes", "tables", "sensitive"),
    [
        ((2, 2, 2), ["ab", "bc"], "b"),
        ((2, 2, 2), ["abc"], "ab"),
        ((3, 2, 2), ["ab", "ac"], "ac"),
        ((2, 3), ["ab"], "b"),
    ],
    ids=str,
)
def test_sensitive_attributes_pay_for_every_change_of_them(budget, strategy, sizes, tables, sensitive):
    settings = {"strategy": strategy, "sensitive": tuple(sensitive), "neighbours": "replace"}
    spec = spec_of(sizes, tables, budget, **settings)
    plan = make_plan(spec)
    assert true_cost(spec, plan) <= amount(plan.cost) <= amount(budget)
    if plan.encoding.keeps_cells:
        assert true_cost(spec, plan) == amount(plan.cost)
    for margin in plan.exact:
        assert not set(margin) & set(spec.sensitive)


def test_a_forgotten_factor_for_replace_would_be_seen():
    """The same measurements cost twice as much under replace; a cost that forgot it is below the brute-force cost."""
    plan = make_plan(spec_of((2, 3), ["ab"], strategy="base"))
    forgotten = cost(plan.domain, plan.measurements, Protection("add-remove"))
    spec = spec_of((2, 3), ["ab"], strategy="base", neighbours="replace")
    assert amount(forgotten) < true_cost(spec, replace(plan, protection=Protection("replace")))


def test_many_attributes_fall_back_to_a_sum_of_maxima_that_is_never_smaller(monkeypatch):
    spec = spec_of((2, 3, 2, 2), ["ab", "bc", "cd"], strategy="residual", neighbours="replace")
    exact = amount(make_plan(spec).cost)
    measurements = make_plan(spec).measurements
    monkeypatch.setattr("margrave.budget.events.MOST_CHANGED", 2)
    assert amount(cost(spec.domain, measurements, Protection("replace"))) >= exact


def test_gaussian_prices_are_squares():
    measurement = Measurement(
        make_plan(spec_of((2,), ["a"], strategy="base")).measurements[0].query, DiscreteGaussian(Fraction(2))
    )
    assert measurement.price(3, 9) == Fraction(9, 4)
