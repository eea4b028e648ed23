"""The stated move of a question is never less than the true one, over all neighbours of small data sets of two tables.

Every operator and every aggregate is tried on all rows that one unit can have, in the presence of others, under both
neighbour relations; where the bound is said to be tight, it is reached.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from random import Random as Generator

import numpy as np
import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.measure.questions.engine import end_losses, quantile_losses
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.parts import Part
from margrave.planning.questions.language.public import Lookup, PublicColumn, PublicTable
from margrave.planning.questions.price.price import UnitBounds, added_rows, rows_move, totals_move
from margrave.planning.questions.question import PricedQuestion
from tests.measure.questions.test_engine import asked, interpreted
from tests.planning.questions.samples import data_of, data_spec, kind_values, random_unit

TINY = """
unit = "id"
neighbours = "NEIGHBOURS"
[tables.people]
max_records = 1
[tables.people.columns]
sex = ["f", "m"]
pay = { number = [-1, 1] }
[tables.visits]
max_records = 2
[tables.visits.columns]
ward = ["a", "b"]
"""
NAMES = {"people": ["sex", "pay"], "visits": ["ward"]}
PEOPLE, VISITS = r.Rows("people"), r.Rows("visits")
SEX, PAY, WARD = e.Column("sex"), e.Column("pay"), e.Column("ward")
BY_SEX, BY_WARD = (r.Key("sex", SEX),), (r.Key("ward", WARD),)
JOINED = r.Join(PEOPLE, VISITS)
PER_UNIT = r.PerUnit(
    VISITS, (r.Reduction("n", "count"), r.Reduction("a", "any", None, e.Compare("=", WARD, e.Text("a"))))
)
NUMBER = e.Case((e.When(e.Compare("=", WARD, e.Text("a")), e.Numeral(2)),), e.Numeral(-1))
LEFT = r.Join(PEOPLE, VISITS, "left")
LANDS = PublicTable(
    (
        PublicColumn("key", (e.Text("f"), e.Text("f"), e.Text("m"))),
        PublicColumn("land", (e.Text("x"), e.Text("y"), e.Text("x"))),
    )
)
FLOORS = PublicTable((PublicColumn("key", (e.Text("a"),)), PublicColumn("floor", (e.Numeral(2),))))

QUESTIONS = {
    "people": a.Count(PEOPLE),
    "visits": a.Count(VISITS),
    "visits, one each": a.Count(VISITS, most_rows=1),
    "visits by ward": a.Count(VISITS, BY_WARD),
    "visits by ward, one in each": a.Count(VISITS, BY_WARD, most_per_group=1),
    "units by ward": a.UnitCount(VISITS, BY_WARD),
    "units": a.UnitCount(VISITS),
    "where": a.Count(r.Where(VISITS, e.Compare("=", WARD, e.Text("a")))),
    "computed": a.Sum(r.Select(VISITS, (r.Named("x", NUMBER),)), e.Column("x")),
    "join": a.Count(JOINED),
    "join by both": a.Count(JOINED, (*BY_SEX, *BY_WARD)),
    "join by sex": a.Count(JOINED, BY_SEX),
    "join twice": a.Count(r.Join(VISITS, r.Select(VISITS, (r.Named("other", WARD),))), BY_WARD),
    "left join by ward": a.Count(LEFT, (r.Key("w", e.Case((e.When(e.IsMissing(WARD), e.Text("-")),), WARD)),)),
    "semi": a.Count(r.Join(VISITS, PEOPLE, "semi"), BY_WARD),
    "anti": a.Count(r.Join(VISITS, PEOPLE, "anti"), BY_WARD),
    "per unit": a.Sum(PER_UNIT, e.Arithmetic("*", e.Column("n"), e.Column("a"))),
    "distinct": a.Count(r.Distinct(VISITS), BY_WARD),
    "union": a.Count(r.Union(VISITS, VISITS), BY_WARD),
    "intersect": a.Count(r.Intersect(VISITS, r.Where(VISITS, e.Compare("!=", WARD, e.Text("a")))), BY_WARD),
    "except": a.Count(r.Except(VISITS, r.Where(VISITS, e.Compare("!=", WARD, e.Text("a")))), BY_WARD),
    "public join": a.Count(Lookup(PEOPLE, SEX, LANDS), (r.Key("land", e.Column("land")),)),
    "left public join": a.Count(Lookup(VISITS, WARD, FLOORS, "left")),
    "sum of a public column": a.Sum(Lookup(VISITS, WARD, FLOORS), e.Column("floor")),
    "part": a.Count(Part(VISITS, BY_WARD[0], e.Text("a"))),
    "part of joined": a.Sum(Part(JOINED, BY_SEX[0], e.Text("f")), PAY, BY_WARD, e.Numeral(-1), e.Numeral(1)),
    "sum": a.Sum(PEOPLE, PAY),
    "sum by sex": a.Sum(PEOPLE, PAY, BY_SEX),
    "sum of joined, clamped": a.Sum(JOINED, PAY, BY_WARD, e.Numeral(-1), e.Numeral(1)),
    "sum of joined": a.Sum(JOINED, PAY, BY_WARD),
    "average": a.Average(PEOPLE, PAY),
    "average by ward": a.Average(JOINED, PAY, BY_WARD),
    "variance": a.Variance(PEOPLE, PAY),
    "variance by sex": a.Variance(JOINED, PAY, BY_SEX),
    "distribution": a.Cumulative(JOINED, PAY),
}
LOOSE = {
    "distinct": "two different rows of a unit cannot be in one ward, which is known of no grouping in general",
    "intersect": "the condition leaves one ward, which is known of no condition in general",
    "except": "the condition leaves one ward, which is known of no condition in general",
    "public join": "the two rows of a key are in different lands, which is known of no table in general",
    "sum of joined": "a unit cannot have its largest total in both wards at once",
}
"""Questions whose stated move is larger than the true one, and why; all others are met exactly."""


def tiny(neighbours):
    return DataSpec.load(TINY.replace("NEIGHBOURS", neighbours))


def every_unit(spec):
    """All that one unit can have: every multiset of rows, in each table."""
    choices = []
    for table in spec.tables:
        rows = [
            dict(zip([c.name for c in table.columns], values, strict=True))
            for values in product(*([None, *kind_values(c.kind)] for c in table.columns))
        ]
        several = range(table.max_records + 1)
        choices.append([list(found) for count in several for found in combinations_with_replacement(rows, count)])
    return [dict(zip([t.name for t in spec.tables], found, strict=True)) for found in product(*choices)]


def sums(question, units, names):
    found = interpreted(question, data_of(units, question.data), names)
    return [amount for cell in found for amount in cell]


def distances(one, other):
    moved = [abs(x - y) for x, y in zip(one, other, strict=True)]
    return sum(moved), sum(x * x for x in moved)


def true_move(question, names, others, units):
    """The farthest that the exact answer moves when one unit is added to others, or replaced."""
    without = sums(question, others, names)
    with_one = {tuple(sums(question, [*others, unit], names)) for unit in units} | {tuple(without)}
    pairs = product(with_one, with_one) if question.data.neighbours == "replace" else product([without], with_one)
    found = [distances(one, other) for one, other in pairs]
    return max(l1 for l1, _ in found), max(l2 for _, l2 in found)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_neighbour_moves_an_answer_further_than_is_stated(name, neighbours):
    spec = tiny(neighbours)
    question = PricedQuestion(spec, QUESTIONS[name], PureDP(Fraction(1)))
    stated = question.sought.move
    for others in ([], [{"people": [{"sex": "f", "pay": Fraction(1)}], "visits": [{"ward": "a"}, {"ward": None}]}]):
        l1, l2 = true_move(question, NAMES, others, every_unit(spec))
        assert l1 <= stated.l1 and l2 <= stated.l2_squared
        if neighbours == "add-remove" and name not in LOOSE and not others:
            assert (l1, l2) == (stated.l1, stated.l2_squared)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_unit_moves_the_answer_to_a_random_question_further_than_is_stated(neighbours):
    spec = data_spec(neighbours)
    random = Generator(f"price {neighbours}")
    for _ in range(300):
        question = asked(random, spec)
        stated = question.sought.move
        others = [random_unit(spec, random) for _ in range(2)]
        one, other = random_unit(spec, random), random_unit(spec, random)
        ends = [[*others, one], others if neighbours == "add-remove" else [*others, other]]
        l1, l2 = distances(*(sums(question, units, None) for units in ends))
        assert l1 <= stated.l1 and l2 <= stated.l2_squared, question.title


def test_counts_of_bounded_rows_by_brute_force():
    for rows, groups, per_group, cells in product(range(1, 5), range(1, 4), range(1, 4), range(1, 4)):
        bounds = UnitBounds.of(rows, groups, per_group, cells)
        held = [
            vector
            for vector in product(range(per_group + 1), repeat=cells)
            if sum(vector) <= rows and sum(map(bool, vector)) <= groups
        ]
        added = added_rows(bounds)
        assert added.l1 == max(map(sum, held))
        assert added.l2_squared == max(sum(x * x for x in vector) for vector in held)
        replaced = [distances(one, other) for one, other in product(held, held)]
        move = rows_move(bounds, 1, 1, "replace")
        assert move.l1 >= max(l1 for l1, _ in replaced)
        assert move.l2_squared >= max(l2 for _, l2 in replaced)
        if cells == 1 or cells >= 2 * bounds.groups:
            assert (move.l1, move.l2_squared) == (max(x for x, _ in replaced), max(y for _, y in replaced))


def test_clamped_totals_by_brute_force():
    for low, high, groups, cells in product(range(-3, 3), range(-2, 4), range(1, 3), range(1, 4)):
        if low > high or groups > cells:
            continue
        values = [0, *range(low, high + 1)]
        held = [v for v in product(values, repeat=cells) if sum(map(bool, v)) <= groups]
        added = [distances(v, (0,) * cells) for v in held]
        replaced = [distances(v, w) for v, w in product(held, held)]
        for neighbours, found in (("add-remove", added), ("replace", replaced)):
            move = totals_move(low, high, groups, cells, neighbours)
            assert move.l1 >= max(x for x, _ in found) and move.l2_squared >= max(y for _, y in found)
        added_move = totals_move(low, high, groups, cells, "add-remove")
        assert (added_move.l1, added_move.l2_squared) == (max(x for x, _ in added), max(y for _, y in added))


@pytest.mark.parametrize("budget", [PureDP(Fraction(1, 7)), ZCDP(Fraction(1, 30))])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_what_is_drawn_costs_no_more_than_the_budget_and_hardly_less(budget, neighbours):
    spec = tiny(neighbours)
    for node in QUESTIONS.values():
        cost = PricedQuestion(spec, node, budget).amount
        whole = budget.epsilon if isinstance(budget, PureDP) else budget.rho
        assert whole * Fraction(999_999, 1_000_000) <= cost <= whole


SELECTIONS = {
    "median": a.Quantiles(JOINED, PAY, (e.Numeral("1/2"),)),
    "quartiles": a.Quantiles(JOINED, PAY, (e.Numeral("1/4"), e.Numeral("3/4"))),
    "quantile by ward": a.Quantiles(JOINED, PAY, (e.Numeral("9/10"),), BY_WARD),
    "median with an interval": a.Quantiles(JOINED, PAY, (e.Numeral("1/2"),), interval=e.Numeral("1/2")),
    "choose": a.Choose(VISITS, WARD),
    "choose of pay": a.Choose(JOINED, PAY),
}


def chances(question, units, names):
    """The distribution of each selected candidate, by group and share, from the exact counts."""
    counts = np.array(sums(question, units, names), dtype=object).reshape(question.sought.cells, -1)
    shares, mechanism = getattr(question.aggregate, "shares", (None,)), question.mechanism
    found = []
    for group in counts:
        for at, share in enumerate(shares):
            several = [
                (max(group) - group if share is None else quantile_losses(group, share.value), mechanism.rates[at])
            ]
            if mechanism.ends:
                rate, reach = mechanism.ends[at]
                several += [(losses, rate) for losses in end_losses(group, share.value, reach)]
            for losses, rate in several:
                weights = np.exp(-float(rate) * (losses - min(losses)).astype(float))
                found.append(flipped(weights) if mechanism.flips else weights / weights.sum())
    return found


def flipped(coins):
    """Permute-and-flip: every set of heads, one of which is drawn uniformly."""
    found = np.zeros(len(coins))
    for heads in product((False, True), repeat=len(coins)):
        if any(heads):
            found[list(heads)] += np.where(heads, coins, 1 - coins).prod() / sum(heads)
    return found


@pytest.mark.parametrize("budget", [PureDP(Fraction(1, 2)), ZCDP(Fraction(1, 8))])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", SELECTIONS)
def test_no_neighbour_makes_a_selection_tell_more_than_it_costs(name, neighbours, budget):
    spec = tiny(neighbours)
    question = PricedQuestion(spec, SELECTIONS[name], budget)
    cost, worst = float(question.amount), 0.0
    others = [{"people": [{"sex": "f", "pay": Fraction(0)}], "visits": [{"ward": "a"}, {"ward": "b"}]}] * 2
    units = {tuple(sums(question, [*others, one], NAMES)): one for one in every_unit(spec)}
    before = chances(question, others, NAMES)
    after = [chances(question, [*others, one], NAMES) for one in units.values()]
    pairs = (
        product(after, after)
        if neighbours == "replace"
        else ((x, y) for y in after for x, y in ((before, y), (y, before)))
    )
    for one, other in pairs:
        if isinstance(budget, PureDP):
            worst = max(worst, sum(np.abs(np.log(p / q)).max() for p, q in zip(one, other, strict=True)))
            continue
        for order in (1.01, 1.5, 2.0, 4.0, 16.0):
            apart = sum(np.log((p**order * q ** (1 - order)).sum()) for p, q in zip(one, other, strict=True))
            worst = max(worst, apart / (order - 1) / order)
    assert worst <= cost * (1 + 1e-9)
    assert worst >= cost / 50


def test_a_bound_that_is_undone_would_be_caught():
    question = PricedQuestion(tiny("add-remove"), QUESTIONS["union"], PureDP(Fraction(1)))
    l1, _ = true_move(question, NAMES, [], every_unit(question.data))
    assert l1 > replace(question.sought.move, l1=2).l1
