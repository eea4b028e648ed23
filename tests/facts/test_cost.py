"""The price of the worst induced move of a plan, against every move of the whole, unreduced table."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from time import monotonic

import numpy as np
import pytest

from margrave.algebra.query import Query, one_record
from margrave.budget.events import Measurement, Protection, worst_move
from margrave.errors import RefusedError, UsageError
from margrave.facts import placements
from margrave.facts import price as cost_module
from margrave.facts.facts import Facts
from margrave.facts.moves.notions import select
from margrave.facts.price import induced_cost, worst_cost
from margrave.facts.sensitivity import Sensitivity, induced_sensitivity
from margrave.noise import DiscreteGaussian, DiscreteLaplace
from tests.facts.oracle import all_moves, fact_matrix, facts_of, price_of
from tests.shapes import domain_of

CASES = [
    ((2, 2, 2), "a"),
    ((2, 2, 2), "a+b"),
    ((2, 3, 2), "a+b"),
    ((2, 2, 2), "a+b+c"),
    ((2, 2, 3), "ab+bc"),
    ((2, 2, 2), "ab+bc+ac"),
    ((3, 2, 2), "ab"),
    ((2, 2, 2, 2), "ab+cd"),
    ((2, 2, 2, 2), "ab+ac+bc"),
    ((2, 2, 2, 2), "a+bc"),
    ((2, 3, 1, 2), "a+b"),
    ((3, 3), "a+b"),
]


def noise(gaussian, number):
    return DiscreteGaussian(Fraction(number)) if gaussian else DiscreteLaplace(Fraction(number))


def random_plan(generator, domain, gaussian, bases=True):
    plan = []
    for _ in range(int(generator.integers(1, 4))):
        margin = tuple(name for name in domain.names if generator.random() < 0.6)
        contrast, residual = [], []
        for name in margin if bases else ():
            how = generator.integers(3)
            if how == 1 and domain[name].size == 2:
                contrast.append(name)
            elif how == 2:
                residual.append(name)
        plan.append(
            Measurement(Query(margin, tuple(contrast), tuple(residual)), noise(gaussian, generator.integers(1, 9)))
        )
    return plan


def brute_force(facts, plan):
    moves = all_moves(facts)
    return max((price_of(facts.domain, plan, move) for move in moves), default=Fraction(0))


@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(("sizes", "text"), CASES)
def test_the_cost_is_that_of_the_worst_move(sizes, text, gaussian):
    facts = facts_of(sizes, text)
    generator = np.random.default_rng(3)
    for bases in (False, False, True, True, True, True):
        plan = random_plan(generator, facts.domain, gaussian, bases)
        found = induced_cost(facts, facts.domain, plan)
        truth = brute_force(facts, plan)
        assert found.value == truth if found.exact else found.value >= truth
        assert found.exact or bases
        times = induced_sensitivity(facts).value
        single = sum((one.price(*_one(facts.domain, one)) for one in plan), Fraction(0))
        assert found.value <= single * (times * times if gaussian else times)


def _one(domain, measurement):
    return one_record(domain, measurement.query)


@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    ("sizes", "text"), [((3, 3, 2), "a+b"), ((2, 2, 3), "ab+c"), ((3, 3), "a+b"), ((2, 2, 2, 2), "ab+cd")]
)
def test_bounds_for_two_margins_hold_where_moves_are_not_listed(sizes, text, gaussian, monkeypatch):
    monkeypatch.setattr(cost_module, "_MOST_CYCLES", 0)
    facts = facts_of(sizes, text)
    generator = np.random.default_rng(4)
    for bases in (False, True, True, True):
        plan = random_plan(generator, facts.domain, gaussian, bases)
        found = induced_cost(facts, facts.domain, plan)
        assert found.value >= brute_force(facts, plan)


def test_a_contrast_moves_by_the_square():
    facts = facts_of((2, 2, 2, 2), "ab+cd")
    plan = [Measurement(Query(tuple("abcd"), contrast=tuple("abcd")), noise(True, 1))]
    assert worst_cost(facts, facts.domain, plan) == Fraction(64, 2)


def test_the_base_table_costs_its_sensitivity():
    for text in ("a+b+c", "ab+bc+ac", "a+bc"):
        facts = facts_of((2, 2, 2), text)
        plan = [Measurement(Query(tuple("abc")), noise(False, 1))]
        assert worst_cost(facts, facts.domain, plan) == induced_sensitivity(facts).value


def test_what_facts_imply_is_free():
    facts = facts_of((2, 2, 2), "ab+c")
    plan = [
        Measurement(Query(("a",)), noise(False, 1)),
        Measurement(Query(("a", "b"), contrast=("b",)), noise(False, 1)),
    ]
    assert worst_cost(facts, facts.domain, plan) == 0


def test_without_facts_and_with_the_total_only():
    domain = domain_of(2, 3)
    plan = [Measurement(Query(("a", "b")), noise(False, 2)), Measurement(Query(("a",)), noise(False, 3))]
    assert worst_cost(Facts(domain), domain, plan) == worst_move(domain, plan, Protection())
    assert worst_cost(Facts(domain, ((),)), domain, plan) == worst_move(domain, plan, Protection("replace"))


CELLS = [
    ((3, 3), "", [{"a": 0}, {"b": 0}]),
    ((2, 2), "", [{"a": 0, "b": 1}]),
    ((2, 3), "a", [{"b": 2}]),
    ((2, 2, 2), "", [{"a": 0}, {"b": 0}, {"c": 0}]),
    ((2, 2, 2), "total", [{"a": 0}, {"b": 0, "c": 1}]),
    ((2, 2, 2), "total", [{"a": 0, "b": 0}, {"b": 1, "c": 1}, {"a": 1, "c": 0}]),
    ((2, 3, 2), "a", [{"a": 0, "b": 0}, {"b": 0, "c": 1}, {"c": 0}]),
    ((3, 2, 2), "ab", [{"c": 0}, {"a": 1, "c": 1}]),
    ((2, 2, 4), "", [{"a": 0, "b": 0}, {"a": 1}]),
    ((2, 1, 3), "", [{"a": 0, "b": 0}, {"c": 1}]),
    ((4, 4), "a", [{"b": 0}, {"b": 1}]),
]


def facts_with_cells(sizes, text, cells):
    facts = facts_of(sizes, "" if text == "total" else text, cells)
    return Facts(facts.domain, ((),), facts.cells) if text == "total" else facts


def times_records(facts, plan, gaussian):
    """The price of one record, times S, or S² for ρ: what any move costs at most."""
    times = induced_sensitivity(facts).value
    single = sum((one.price(*_one(facts.domain, one)) for one in plan), Fraction(0))
    return single * (times * times if gaussian else times)


@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(("sizes", "text", "cells"), CELLS)
def test_single_cells_cost_what_their_worst_move_costs(sizes, text, cells, gaussian):
    facts = facts_with_cells(sizes, text, cells)
    generator = np.random.default_rng(5)
    for bases in (False, False, True, True, True, True):
        plan = random_plan(generator, facts.domain, gaussian, bases)
        found = induced_cost(facts, facts.domain, plan)
        assert (found.value, found.exact) == (brute_force(facts, plan), True)
        assert found.value <= times_records(facts, plan, gaussian)


def feasible_pairs(facts, records):
    """The differences of all pairs of tables with the same facts, at most so many records, and no table between."""
    matrix = fact_matrix(facts)
    fibres = {}
    for number in range(records + 1):
        for chosen in combinations_with_replacement(range(matrix.shape[1]), number):
            table = np.bincount(chosen, minlength=matrix.shape[1])
            fibres.setdefault((matrix @ table).tobytes(), []).append(table)
    for tables in fibres.values():
        for one, other in combinations(tables, 2):
            low, high = np.minimum(one, other), np.maximum(one, other)
            if sum(bool((low <= each).all() and (each <= high).all()) for each in tables) == 2:
                yield other - one


@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    ("sizes", "text", "cells"),
    [
        ((2, 2), "", [{"a": 0}, {"b": 0}]),
        ((2, 3), "", [{"a": 0}, {"b": 0}]),
        ((2, 3), "total", [{"a": 0}, {"b": 1}]),
        ((2, 2, 2), "", [{"a": 0, "b": 0}, {"c": 0}]),
    ],
)
def test_no_feasible_pair_of_tables_costs_more_and_some_cost_as_much(sizes, text, cells, gaussian):
    facts = facts_with_cells(sizes, text, cells)
    pairs = np.unique(np.array(list(feasible_pairs(facts, 4))), axis=0)
    generator = np.random.default_rng(6)
    for _ in range(4):
        plan = random_plan(generator, facts.domain, gaussian)
        found = induced_cost(facts, facts.domain, plan)
        assert found.value == max(price_of(facts.domain, plan, pair) for pair in pairs)


def test_single_cells_are_not_charged_the_square_of_their_records():
    """Three records change, in three cells: 3/2, and not 9/2."""
    facts = facts_of((3, 3), "", [{"a": 0}, {"b": 0}])
    plan = [Measurement(Query(("a", "b")), noise(True, 1))]
    found = induced_cost(facts, facts.domain, plan)
    assert (found.value, found.exact) == (Fraction(3, 2), True)


@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(("sizes", "text", "cells"), CELLS[:8])
@pytest.mark.parametrize("most", [{"MOST_PLACED": 0}, {"MOST_PLACED": 4}, {"MOST_OUTPUTS": 1}, {"MOST_IN_ALL": 10}])
def test_bounds_for_single_cells_hold_where_not_every_place_is_tried(sizes, text, cells, gaussian, most, monkeypatch):
    placements._all_norms.cache_clear()
    for name, value in most.items():
        monkeypatch.setattr(placements, name, value)
    facts = facts_with_cells(sizes, text, cells)
    generator = np.random.default_rng(7)
    for bases in (False, True, True):
        plan = random_plan(generator, facts.domain, gaussian, bases)
        found = induced_cost(facts, facts.domain, plan)
        truth = brute_force(facts, plan)
        assert found.value == truth if found.exact else found.value >= truth
        assert found.value <= times_records(facts, plan, gaussian)
    placements._all_norms.cache_clear()


def test_single_cells_whose_moves_are_not_listed_cost_one_record_times_their_number(monkeypatch):
    monkeypatch.setattr(cost_module, "MOST_CORE_CELLS", 0)
    facts = facts_of((3, 3), "", [{"a": 0}, {"b": 0}])
    plan = [Measurement(Query(("a", "b")), noise(True, 1))]
    found = induced_cost(facts, facts.domain, plan)
    assert (found.value, found.exact) == (Fraction(9, 2), False)


@pytest.mark.slow
def test_two_thousand_single_cells_are_priced_by_their_moves():
    domain = domain_of(50, 50, 2)
    cells = tuple((("a", "b"), (str(one), str(two))) for one in range(40) for two in range(50))
    facts = Facts(domain, (), cells)
    plan = [Measurement(Query(("a", "b", "c")), noise(True, 1)), Measurement(Query(("a", "c")), noise(True, 1))]
    assert worst_cost(facts, domain, plan) == 2


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["positive", "markov"])
@pytest.mark.parametrize(("sizes", "text", "cells"), [case for case in CELLS if case[1]])
def test_weaker_notions_of_single_cells_pay_for_each_of_their_moves(sizes, text, cells, notion):
    facts = facts_with_cells(sizes, text, cells)
    moves = select(notion, all_moves(facts), monotonic() + 60)
    generator = np.random.default_rng(9)
    for _ in range(5):
        plan = random_plan(generator, facts.domain, True)
        weaker = induced_cost(facts, facts.domain, plan, notion=notion)
        truth = max((price_of(facts.domain, plan, move) for move in moves), default=Fraction(0))
        assert truth <= weaker.value <= worst_cost(facts, facts.domain, plan)


def test_many_attributes_are_quick():
    domain = domain_of(*([3] * 40))
    facts = Facts(domain, (domain.names[:2], domain.names[1:3]))
    plan = [
        Measurement(Query((one, two)), noise(True, 10)) for one in domain.names for two in domain.names if one < two
    ]
    plan = [one for one in plan if domain.margin(one.query.margin) == one.query.margin]
    assert worst_cost(facts, domain, plan) > 0


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["positive", "markov"])
def test_weaker_notions_cost_no_more(notion):
    facts = facts_of((2, 2, 2, 2), "a+bc+bd+cd")
    plan = random_plan(np.random.default_rng(8), facts.domain, True)
    weaker = worst_cost(facts, facts.domain, plan, notion=notion)
    assert weaker <= worst_cost(facts, facts.domain, plan)


def test_refusals():
    facts = facts_of((5, 5, 5), "a+b+c")
    plan = [Measurement(Query(("a", "b")), noise(False, 1))]
    with pytest.raises(RefusedError):
        worst_cost(facts, facts.domain, plan, time_limit=0.3)
    with pytest.raises(UsageError):
        worst_cost(facts, domain_of(2, 2), plan)


@pytest.mark.parametrize("records", [1, 2, 3, 4])
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    ("sizes", "text"), [((2, 2, 2), "a+b+c"), ((2, 3), "a+b"), ((3, 3), "a+b"), ((2, 2, 2), "ab+c")], ids=str
)
def test_a_public_number_of_records_bounds_the_price_and_some_pair_of_tables_costs_it(sizes, text, gaussian, records):
    """All tables of so many records, and all pairs of them with the same facts whose difference has no proper part."""
    facts = facts_of(sizes, text)
    matrix, cells = fact_matrix(facts), facts.domain.cells()
    noise = DiscreteGaussian(Fraction(1, 2)) if gaussian else DiscreteLaplace(Fraction(1))
    measurement = Measurement(Query(facts.domain.names), noise)
    found = induced_cost(facts, facts.domain, [measurement], records=records)
    tables = [np.bincount(chosen, minlength=cells) for chosen in combinations_with_replacement(range(cells), records)]
    moves = all_moves(facts)
    allowed = {move.tobytes() for one in moves for move in (one.ravel(), -one.ravel())}
    worst = Fraction(0)
    for one, other in combinations(tables, 2):
        difference = other - one
        if not (matrix @ difference).any() and difference.astype(moves[0].dtype).tobytes() in allowed:
            norm = int((difference**2).sum() if gaussian else np.abs(difference).sum())
            worst = max(worst, measurement.price(norm, norm))
    assert found.value == worst
    longest = max(int(np.abs(move).sum()) for move in moves)
    assert found.counted == (2 * records < longest)
    assert found.value <= induced_cost(facts, facts.domain, [measurement]).value


def test_a_public_number_of_records_prices_what_is_not_listed():
    facts = facts_of((5, 5, 5), "a+b+c")
    measurement = Measurement(Query(facts.domain.names), DiscreteLaplace(Fraction(1)))
    found = induced_cost(facts, facts.domain, [measurement], time_limit=1.0, records=3)
    assert (found.value, found.counted) == (6, True)


@pytest.mark.parametrize(
    ("sizes", "text"), [((2, 2, 2), "a+b"), ((2, 2, 2, 2), "a+b+c"), ((2, 2, 2, 2), "ab+c")], ids=str
)
def test_a_price_set_by_an_attribute_that_no_fact_mentions_still_counts_on_the_number_of_records(sizes, text):
    """One record fixes all but the free attribute, whose change is priced; two could change what the facts mention."""
    facts = facts_of(sizes, text)
    measurement = Measurement(Query(facts.domain.names), DiscreteLaplace(Fraction(1)))
    found = induced_cost(facts, facts.domain, [measurement], records=1)
    assert (found.value, found.counted) == (2, True)
    assert induced_cost(facts, facts.domain, [measurement], records=2).value == 4


@pytest.mark.parametrize(("records", "part"), [(None, 1), (1000, 1), (3, 0.1)])
def test_a_large_number_of_records_cuts_no_search_for_a_better_bound_short(monkeypatch, records, part):
    """Twice a thousand is sound, and a price that nobody would take where a little more time finds 16."""
    seen = []

    def listed(core, notion, deadline):
        seen.append(deadline - monotonic())

    def attempted(facts, notion, deadline):
        seen.append(deadline - monotonic())
        return Sensitivity(6, False, "a bound")

    monkeypatch.setattr("margrave.facts.price._listed", listed)
    monkeypatch.setattr("margrave.facts.sensitivity._attempt", attempted)
    facts = facts_of((2, 3, 3), "a+b+c")
    measurement = Measurement(Query(facts.domain.names), DiscreteLaplace(Fraction(1)))
    assert induced_cost(facts, facts.domain, [measurement], time_limit=1000.0, records=records).value == 6
    assert seen == pytest.approx([500 if part == 1 else 100, 1000 * part], rel=0.02)
