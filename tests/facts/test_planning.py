"""Plans with public facts: their cost is that of the worst induced move, whatever the strategy, and facts are exact."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.algebra.encoding import BinaryEncoding, Plain
from margrave.algebra.query import Query
from margrave.budget.events import Disclosure, Measurement
from margrave.budget.units import ZCDP, PureDP, amount
from margrave.errors import DataError, RefusedError, UsageError
from margrave.facts.price import induced_cost
from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.planning.checks import check_plan
from margrave.planning.effect import fact_words, price_factor
from margrave.planning.planner import make_plan, without_facts
from margrave.planning.protected import protection_of
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.sections import DataSection, Unit
from margrave.spec.workload import PublicFact
from tests.facts.oracle import all_moves
from tests.privacy.test_neighbours import measured_change
from tests.shapes import spec_of

STRATEGIES = ["auto", "residual", "margins", "base", "fourier", "efron-stein"]
BUDGETS = [PureDP(Fraction(1)), ZCDP(Fraction(1, 10))]
CASES = [
    ((2, 2, 2), ["ab", "bc"], ["a"], []),
    ((2, 3, 2), ["abc"], ["ab", "bc"], []),
    ((2, 2, 2), ["abc"], ["ab", "bc", "ac"], []),
    ((2, 3), ["ab"], ["a", "b"], []),
    ((2, 2, 2), ["abc"], [""], [{"a": "0", "b": "1"}]),
    ((3, 2), ["ab"], [], [{"a": "0"}, {"b": "1"}]),
]


def with_facts(spec, margins, cells=(), induced="worst-case"):
    whole = [PublicFact(tuple(margin)) for margin in margins]
    single = [PublicFact(tuple(cell), tuple(cell.values())) for cell in cells]
    return replace(spec, public=(*whole, *single), induced=induced)


def true_price(spec, plan):
    """The highest price over every induced move of the full table of the spec."""
    worst = Fraction(0)
    for move in all_moves(replace(plan, encoding=Plain(plan.spec.domain)).facts):
        total = Fraction(0)
        for one in plan.measurements:
            change = measured_change(spec, plan, one, move.reshape(spec.domain.shape()))
            total += one.price(int(np.abs(change).sum()), int((change**2).sum()))
        worst = max(worst, total)
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(("sizes", "tables", "margins", "cells"), CASES, ids=str)
def test_the_cost_is_that_of_the_worst_induced_neighbour(strategy, budget, sizes, tables, margins, cells):
    spec = with_facts(spec_of(sizes, tables, budget, strategy=strategy), margins, cells)
    plan = make_plan(spec)
    stated = amount(plan.cost)
    assert true_price(spec, plan) <= stated <= amount(budget)
    assert stated >= amount(budget) * (1 - Fraction(1, 10**6))
    found = induced_cost(plan.facts, plan.domain, plan.measurements)
    assert found.value == stated
    if found.exact and plan.encoding.keeps_cells:
        assert stated == true_price(spec, plan)
    assert not any(plan.facts.implies(one.query.margin) for one in plan.measurements)
    check_plan(plan)


def test_a_forgotten_fact_would_be_seen():
    """The same measurements priced without the facts cost less than their worst induced neighbour really does."""
    spec = with_facts(spec_of((2, 3, 2), ["abc"]), ["ab", "bc"])
    plan = make_plan(spec)
    careless = replace(plan, spec=replace(spec, public=(), induced=None))
    assert amount(careless.cost) < true_price(spec, plan) == amount(plan.cost)
    with pytest.raises(RefusedError, match="publishes other tables exactly"):
        check_plan(careless)
    with pytest.raises(RefusedError):
        check_plan(replace(make_plan(replace(spec, public=(), induced=None)), spec=spec))


@pytest.mark.slow
@pytest.mark.parametrize("records", [1, 2])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_facts_and_units_exclude_each_other(records, neighbours):
    """Records are left out at random, so the counts of the others are not the public ones."""
    spec = with_facts(spec_of((2, 2), ["ab"], neighbours=neighbours), ["a"])
    owned = replace(spec, data=DataSection(unit=Unit("person", records)))
    with pytest.raises(RefusedError, match=r"data\.unit exclude each other.*leave out") as refusal:
        make_plan(owned)
    assert refusal.value.exit_code == 3
    plan = make_plan(spec)
    with pytest.raises(RefusedError, match="exclude each other"):
        check_plan(replace(plan, spec=owned, protection=replace(plan.protection, records=records)))


@pytest.mark.parametrize("induced", ["positive", "markov"])
def test_notions_that_suppose_every_cell_possible_are_refused_with_structural_zeros(induced):
    """Without the diagonal of 3 × 3 the only move has six records, and both notions would price shorter ones."""
    diagonal = tuple({"a": frozenset(value), "b": frozenset(value)} for value in "012")
    spec = with_facts(spec_of((3, 3), ["ab"], strategy="margins"), ["a", "b"], induced=induced)
    with pytest.raises(RefusedError, match="Use induced = 'worst-case'"):
        make_plan(replace(spec, impossible=diagonal))
    (measurement,) = make_plan(replace(spec, impossible=diagonal, induced="worst-case")).measurements
    assert measurement.price(6, 6) <= 1
    cells = [{"a": value, "b": value} for value in "012"]
    (measurement,) = make_plan(with_facts(spec, ["a", "b"], cells, induced)).measurements
    assert measurement.price(6, 6) <= 1


def test_determined_values_are_structural_zeros_too():
    entries = (
        CodebookEntry("a", Categories(("0", "1")), determines={"b": {"0": "0", "1": "1"}}),
        CodebookEntry("b", Categories(("0", "1"))),
        CodebookEntry("c", Categories(("0", "1"))),
    )
    spec = replace(spec_of((2, 2, 2), ["ac"]), codebook=Codebook(entries))
    assert make_plan(with_facts(spec, ["c"]))
    with pytest.raises(RefusedError, match="determines"):
        make_plan(with_facts(spec, ["c"], induced="markov"))
    sensitive = replace(spec, sensitive=("b",), neighbours="replace")
    plan = replace(make_plan(replace(spec_of((2, 2, 2), ["ac", "bc"], neighbours="replace"), sensitive=("b",))))
    with pytest.raises(RefusedError, match="protects neither"):
        check_plan(replace(plan, spec=replace(plan.spec, codebook=sensitive.codebook)))


def test_a_plan_made_by_hand_meets_what_the_planner_refuses():
    plan = make_plan(spec_of((2, 2), ["ab"], strategy="margins"))
    (one,) = plan.measurements
    with pytest.raises(RefusedError, match="not in the order of the spec"):
        check_plan(replace(plan, measurements=(replace(one, query=Query(("b", "a"))),)))
    wide = Query(("a", "b"), residual=("a", "b"))
    spec = spec_of((2100, 2100), ["ab"])
    large = replace(plan, spec=spec, encoding=Plain(spec.domain))
    with pytest.raises(RefusedError, match="overflow"):
        check_plan(replace(large, measurements=(Measurement(wide, DiscreteLaplace(Fraction(10**8))),)))
    with pytest.raises(RefusedError, match="more than the budget"):
        check_plan(replace(plan, measurements=(replace(one, noise=DiscreteGaussian(Fraction(1))),)))


def test_a_plan_that_measures_another_domain_than_its_spec_is_refused():
    """Read as 4 × 1 values, a table of 2 × 2 would be measured at no price, if what cannot change could be asked."""
    spec = replace(spec_of((2, 2, 2), ["b", "c"], strategy="margins", neighbours="replace"), sensitive=("b", "c"))
    encoding = BinaryEncoding(spec_of((4, 1, 2), ["c"]).domain)
    cheap = Measurement(Query(("c",)), DiscreteLaplace(Fraction(8)))
    whole = Measurement(Query(("a:0", "a:1", "b")), DiscreteLaplace(Fraction(1, 50)))
    plan = replace(make_plan(spec), encoding=encoding, measurements=(cheap, whole), exact=((),))
    plan = replace(plan, protection=protection_of(spec, encoding))
    with pytest.raises(UsageError, match="unknown attribute 'b'"):
        _ = plan.cost
    with pytest.raises(RefusedError, match="another domain"):
        check_plan(plan)


@pytest.mark.slow
def test_replaced_records_make_the_total_a_fact():
    cell = [{"a": "0"}]
    spec = with_facts(spec_of((3, 2), ["ab"], neighbours="replace"), [], cell)
    plan = make_plan(spec)
    assert plan.exact == ((),) and true_price(spec, plan) <= amount(plan.cost)
    assert plan.disclosures == (Disclosure(()), Disclosure(("a",), ("0",)))
    assert "relative to public facts: the total, {a=0}." in plan.promise.words()[1]
    given = replace(spec, public=(PublicFact(("a",), ("0",), (3,)),))
    with pytest.raises(RefusedError, match="give it as well"):
        make_plan(given)
    margin = with_facts(spec_of((3, 2), ["ab"], neighbours="replace"), ["a"])
    assert make_plan(margin).disclosures == (Disclosure(("a",)),)
    assert make_plan(margin).cost == make_plan(replace(margin, neighbours="add-remove")).cost


def test_facts_that_tell_everything_need_no_release():
    with pytest.raises(RefusedError, match="needs no private release"):
        make_plan(with_facts(spec_of((2, 2), ["ab"]), ["ab"]))
    cells = [{"a": "0", "b": "0"}, {"a": "0", "b": "1"}, {"a": "1", "b": "0"}]
    with pytest.raises(RefusedError, match="needs no private release"):
        make_plan(with_facts(spec_of((2, 2), ["ab"]), [""], cells))


def test_three_facts_on_a_large_domain_are_refused_with_advice():
    spec = with_facts(spec_of((9, 9, 9, 9), ["abc", "cd"]), ["ab", "bc", "ac"])
    with pytest.raises(
        RefusedError, match=r"no sound sensitivity .*These would do: \{a, c\}, \{b, c\}; or "
    ) as refusal:
        mg.plan(spec)
    assert refusal.value.exit_code == 3


def test_the_three_notions_are_ordered_and_say_what_they_do_not_protect():
    base = spec_of((4, 4, 2), ["abc"], strategy="margins")
    plans = {
        notion: make_plan(with_facts(base, ["a", "b"], induced=notion))
        for notion in ("worst-case", "positive", "markov")
    }
    assert plans["worst-case"].rmse > plans["positive"].rmse > plans["markov"].rmse
    words = {notion: " ".join(plan.promise.words()) for notion, plan in plans.items()}
    assert all("relative to public facts: {a}, {b}" in text for text in words.values())
    assert "whatever cells are known to be empty" in words["worst-case"]
    assert "supposes that every cell is possible" in words["positive"]
    assert "nothing is promised" in words["markov"]
    assert all("separate parts of the data add up too" in text for text in words.values())


def test_the_plan_says_what_the_facts_cost_and_save():
    plan = make_plan(with_facts(spec_of((2, 2, 2), ["ab", "abc"]), ["ab"]))
    assert price_factor(plan) == 2
    assert "by 2, so the noise has 2 times" in fact_words(plan)[0]
    assert "of the wanted tables {a, b} is exact" in fact_words(plan)[0]
    assert fact_words(plan)[0] in repr(plan) and "The public facts multiply" in plan._repr_html_()
    plain = without_facts(plan)
    assert fact_words(plain) == () and not plain.exact
    gaussian = make_plan(with_facts(spec_of((2, 2, 2), ["abc"], ZCDP(Fraction(1))), ["ab"]))
    assert price_factor(gaussian) == 2 and "1.41 times the standard deviation" in fact_words(gaussian)[0]


@pytest.mark.parametrize("gaussian", [False, True])
def test_single_cells_lower_the_variance_as_forecast(gaussian):
    """Formula (1) no longer holds; what is forecast is the variance of the constrained least-squares estimate."""
    budget = ZCDP(Fraction(1)) if gaussian else PureDP(Fraction(1))
    cells = [{"a": "0", "b": "1"}, {"b": "0", "c": "1"}]
    plan = make_plan(with_facts(spec_of((2, 3, 2), ["ab", "bc"], budget, strategy="margins"), ["b"], cells))
    accuracy = plan.accuracy
    assert len(accuracy.known) == 2
    variances = accuracy.cell_variances(("a", "b")).reshape(2, 3)
    assert variances[0, 1] == pytest.approx(0, abs=1e-9) == variances[1, 1]
    for place in np.ndindex(2, 3):
        unit = np.zeros((2, 3))
        unit[place] = 1
        assert accuracy.linear_variance(("a", "b"), unit) == pytest.approx(variances[place], abs=1e-9)
        assert accuracy.linear_noise(("a", "b"), unit).variance == pytest.approx(variances[place], abs=1e-9)
    assert plan.mean_variance(("a", "b")) == pytest.approx(variances.mean())
    assert plan.certain(("a", "b")).tolist() == [[False, True, False], [False] * 3]


def given_threes(total=1, tables=("a", "b", "c")):
    """Three attributes of three values, with one-way tables that are given."""
    values = {name: {"values": ["1", "2", "3"]} for name in "abc"}
    public = [{"of": [name], "counts": [total] * 3} for name in tables]
    release = {"tables": [["a", "b", "c"]], "public": public}
    return mg.Spec.from_dict({"attributes": values, "privacy": {"epsilon": "1"}, "release": release})


@pytest.mark.slow
def test_a_given_total_bounds_the_price_and_more_records_are_refused():
    """Three records: no step takes more than all of them, so S ≤ 6."""
    plan = mg.plan(given_threes())
    assert price_factor(plan) == 6
    assert plan.most_records == 3
    assert "no more than the 3 records given" in " ".join(fact_words(plan))
    rows = pd.DataFrame({"a": ["1", "2", "3"], "b": ["1", "2", "3"], "c": ["1", "2", "3"]})
    assert mg.release(plan, rows, seed=1).publication.margin(()) == 3
    with pytest.raises(DataError, match="more records than the facts give"):
        mg.release(plan, pd.concat([rows, rows]), seed=1)


def with_total(spec, margins, total):
    """Whole tables that are read from the data, and their total, which is given."""
    read = with_facts(spec, margins)
    return replace(read, public=(PublicFact((), None, (total,)), *read.public))


def price_of_pairs(spec, plan, margins, records):
    """The highest price over all pairs of tables of so many records with the same facts, and none of these between."""
    cells, shape = spec.domain.cells(), spec.domain.shape()
    fibres = {}
    for chosen in combinations_with_replacement(range(cells), records):
        table = np.bincount(chosen, minlength=cells).reshape(shape)
        axes = [tuple(axis for axis, name in enumerate(spec.domain.names) if name not in margin) for margin in margins]
        fibres.setdefault(tuple(table.sum(axis=axis).tobytes() for axis in axes), []).append(table)
    worst = Fraction(0)
    for tables in fibres.values():
        for one, other in combinations(tables, 2):
            low, high = np.minimum(one, other), np.maximum(one, other)
            if sum(bool(((low <= each) & (each <= high)).all()) for each in tables) == 2:
                changes = [(each, measured_change(spec, plan, each, other - one)) for each in plan.measurements]
                prices = (each.price(int(np.abs(by).sum()), int((by**2).sum())) for each, by in changes)
                worst = max(worst, sum(prices, Fraction(0)))
    return worst


@pytest.mark.parametrize("strategy", ["base", "residual", "margins"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(
    ("sizes", "margins", "total"), [((2, 2, 2), "abc", 2), ((3, 3), "ab", 2), ((2, 2, 2, 2), ["a", "bc", "bd"], 3)]
)
def test_a_total_given_beside_tables_that_are_read_bounds_their_price(sizes, margins, total, budget, strategy):
    """By all pairs of neighbours with so many records; data with another number has none that is released."""
    names = "abcd"[: len(sizes)]
    spec = spec_of(sizes, [names, names[:2]], budget, strategy=strategy)
    plan = make_plan(with_total(spec, margins, total))
    assert amount(plan.cost) == price_of_pairs(spec, plan, margins, total)
    assert price_factor(plan) < price_factor(make_plan(with_facts(spec, margins)))
    assert plan.most_records == total


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("total", [2, 5])
def test_a_given_total_that_is_not_that_of_tables_read_is_refused_without_a_count(neighbours, total):
    """Whether it lowers the price or not; that they differ follows from what the tables tell exactly."""
    spec = with_total(spec_of((2, 2, 2), ["abc"], neighbours=neighbours), "abc", total)
    plan = make_plan(spec)
    assert [one.given for one in plan.disclosures] == [True, False, False, False]
    rows = pd.DataFrame({name: ["0", "1", "1", "1", "0", "1", "1"] for name in "abc"})
    released = mg.release(plan, rows[:total], seed=1)
    assert released.publication.margin(()) == total
    assert released.publication.margin(("a",)).tolist() == rows["a"][:total].value_counts().sort_index().tolist()
    for wrong in (total - 1, total + 1):
        with pytest.raises(DataError, match="the given total is not the number of records") as found:
            mg.release(plan, rows[:wrong], seed=1)
        assert not any(character.isdigit() for character in str(found.value))


def test_a_total_that_lowers_no_price_is_not_compared_with_the_data():
    plan = mg.plan(given_threes(4, "ab"))
    assert plan.most_records is None
    assert price_factor(plan) == 6
    rows = pd.DataFrame({"a": ["1"] * 20, "b": ["1"] * 20, "c": ["1"] * 20})
    assert mg.release(plan, rows, seed=1).publication.margin(()) == 12
