"""What a partition costs is never less than what all its parts tell together, for all neighbours of small data."""

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import MargraveError, RefusedError, UsageError
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.parts import Partition, descends, parts_in
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.programs.rows import rows_of
from margrave.planning.questions.question import PricedQuestion, read_question
from margrave.planning.questions.several.partition import PartPurse, PricedPartition, read_purse
from tests.planning.questions.interpreter import rows
from tests.planning.questions.price.test_price import NAMES, distances, every_unit, sums, tiny
from tests.planning.questions.samples import COLUMNS, data_of, data_spec, random_unit

PEOPLE, VISITS = r.Rows("people"), r.Rows("visits")
SEX, WARD, PAY = e.Column("sex"), e.Column("ward"), e.Column("pay")
PARTITIONS = {
    "people by sex": (Partition(PEOPLE, r.Key("sex", SEX)), 1),
    "visits by ward": (Partition(VISITS, r.Key("ward", WARD)), 2),
    "joined by ward": (Partition(r.Join(PEOPLE, VISITS), r.Key("ward", WARD)), 2),
    "joined by sex": (Partition(r.Join(VISITS, PEOPLE), r.Key("sex", SEX)), 1),
    "one ward": (Partition(VISITS, r.Key("ward", WARD, (e.Text("b"),))), 1),
}
PURSES = {"pure": (PureDP(Fraction(1, 2)), PureDP(Fraction(1, 5))), "rho": (ZCDP(Fraction(1, 2)), ZCDP(Fraction(1, 5)))}


def asked_of(part, spec):
    """Questions to a part: counts of its rows, and, where there is one, sums of a signed number."""
    yield a.Count(part)
    if "pay" in {column for table in ("people", "visits") for column in NAMES[table] if _names(part, table)}:
        yield a.Sum(part, PAY)


def _names(part, table):
    return table in {one.table for one in _tables(part)}


def _tables(node):
    return [node] if isinstance(node, r.Rows) else [one for part in node.parts for one in _tables(part)]


def worst(partition, kind, units, others):
    """The largest loss of all parts together, each of which spends its purse on one question, over all neighbours."""
    spec = partition.data
    data = [others, *([*others, unit] for unit in units)]
    found = []
    for at, purse in enumerate(partition.purses):
        part, told = PartPurse(partition, at), []
        for node in asked_of(part.part, spec):
            question = PricedQuestion(spec, node, purse, part)
            exact = [sums(question, one, NAMES) for one in data]
            move = question.sought.move
            told.append((exact, purse.amount / (move.l1 if kind == "pure" else move.l2_squared)))
        found.append(told)
    # Units that every question answers alike are one: all pairs of units are among the pairs of these.
    alike = {str([exact[n] for told in found for exact, _ in told]): n for n in range(1, len(data))}
    pairs = product(alike.values(), repeat=2) if spec.neighbours == "replace" else ((0, n) for n in alike.values())
    most = Fraction(0)
    for x, y in pairs:
        lost = Fraction(0)
        for told in found:
            moved = [(distances(exact[x], exact[y]), rate) for exact, rate in told]
            lost += max(rate * (l1 if kind == "pure" else l2) for (l1, l2), rate in moved)
        most = max(most, lost)
    return most


@pytest.mark.slow
@pytest.mark.parametrize("kind", PURSES)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", PARTITIONS)
def test_no_neighbour_loses_more_in_all_parts_together_than_a_partition_costs(name, neighbours, kind):
    spec = tiny(neighbours)
    node, parts = PARTITIONS[name]
    purses = PURSES[kind][: 1 if name == "one ward" else 2]
    partition = PricedPartition(spec, node, purses, "ann")
    assert partition.parts == parts
    units = every_unit(spec)
    other = {"people": [{"sex": "f", "pay": Fraction(1)}], "visits": [{"ward": "a"}, {"ward": None}]}
    lost = max(worst(partition, kind, units, others) for others in ([], [other]))
    assert lost <= partition.cost.amount
    if neighbours == "add-remove" and "joined by ward" not in name:
        # A unit with its two visits in two wards has one in each: of each part it moves half of what it could.
        assert lost >= partition.cost.amount / (1 if parts == 1 else 2)


def test_a_replaced_unit_that_changes_parts_costs_both_and_one_that_stays_four_times_in_rho():
    """Parts priced for one move of a unit, as if a changed key touched one part, would cost too little."""
    spec = tiny("replace")
    for kind, times in (("pure", 2), ("rho", 4)):
        purse = PURSES[kind][0]
        partition = PricedPartition(spec, PARTITIONS["people by sex"][0], (purse, purse), "ann")
        assert partition.cost.amount == times * purse.amount
        assert worst(partition, kind, every_unit(spec), []) == partition.cost.amount


def test_the_price_is_that_of_the_dearest_parts_that_a_unit_can_be_in():
    spec = data_spec()
    for text, parts in (
        ("people partition by region", 1),
        ("visits partition by ward", 2),
        ("visits partition by ward parts 1", 1),
        ("visits partition by seen", 3),
        ("visits partition by seen parts 2", 2),
        ("people join visits partition by region", 1),
        ("people join visits partition by ward", 2),
        ("visits per unit n = count() partition by n", 1),
        ("visits union (visits) partition by ward parts 9", 2),
    ):
        found = PricedPartition.equal(spec, parsed(text, spec), PureDP(Fraction(1, 10)), "ann")
        assert found.parts == parts and found.cost.epsilon == Fraction(parts, 10), text
    purses = tuple(PureDP(Fraction(n, 10)) for n in (1, 5, 3))
    seen = parsed("visits partition by seen parts 2", spec)
    assert PricedPartition(spec, seen, purses, "ann").cost.epsilon == Fraction(8, 10)


PAYS = [
    "{p} count",
    "{p} where ward = a count",
    "{p} with twice = cost * 2 select twice sum twice low 0 high 4",
    "{p} join people by region count",
    "{p} left join people by region count",
    "{p} semi join people count",
    "{p} anti join people count",
    "people join ({p}) count",
    "people semi join ({p}) count",
    "{p} per unit n = count() join people by region count",
    "{p} distinct count",
    "{p} union ({p}) count",
    "{p} intersect ({p} where ward = a) count",
    "{p} except ({p} where ward = a) count",
    "{p} join public (ward = (a, b), floor = (1, 2)) on ward by floor count",
]
PAYS_NOT = [
    "people count",
    "people left join ({p}) count",
    "people anti join ({p}) count",
    "people select age except ({p} select age = cost // 1) count",
    "{p} union (visits) count",
    "{p} join (visits select again = cost) count",
    "{p} join (visits part b of ward parts 1 select again = cost) count",
    "visits part b of ward parts 1 count",
    "visits part a of ward parts 2 count",
]
PART = "visits part a of ward parts 1"


def test_a_purse_pays_for_what_comes_from_its_part_alone():
    spec = data_spec()
    partition = PricedPartition.equal(
        spec, parsed("visits partition by ward parts 1", spec), PureDP(Fraction(1)), "ann"
    )
    for text in PAYS:
        node = parsed(text.format(p=PART), spec)
        found = PricedQuestion(spec, node, PureDP(Fraction(1)), PartPurse(partition, 0))
        assert read_question(found.asked_json()) == found
        assert found.question != PricedQuestion(spec, node, PureDP(Fraction(1))).question
        with pytest.raises(UsageError, match="outside the partition"):
            PricedQuestion(spec, node, PureDP(Fraction(1)), PartPurse(partition, 1))
    for text in PAYS_NOT:
        with pytest.raises(MargraveError, match=r"outside|columns"):
            PricedQuestion(spec, parsed(text.format(p=PART), spec), PureDP(Fraction(1)), PartPurse(partition, 0))


def test_what_is_said_to_come_from_a_part_has_no_rows_of_units_outside_it():
    """The rule by which purses pay, against rows of random units: who has none in the part has none at all."""
    random, spec, seen = Random("descends"), data_spec(), [0, 0]
    for text in [*PAYS, *PAYS_NOT]:
        node = parsed(re.sub(r" parts \d", "", text.format(p=PART)), spec)
        part = next(iter(parts_in(node.rows)), None)
        if part is None:
            continue
        said = descends(node.rows, part)
        for _ in range(60):
            data = data_of([random_unit(spec, random)], spec)
            inside, found = rows(part, data, COLUMNS), rows(node.rows, data, COLUMNS)
            assert inside or not found or not said, text
            seen[0] += said and bool(found)
            seen[1] += not said and bool(found) and not inside
    assert min(seen) > 20


def test_what_is_no_partition_is_refused():
    spec = data_spec()
    node = parsed("people partition by region", spec)
    purse = PureDP(Fraction(1, 10))
    for wrong in (
        lambda: PricedPartition(spec, node, (purse,), "ann"),
        lambda: PricedPartition(spec, node, (purse, purse, ZCDP(Fraction(1))), "ann"),
        lambda: PricedPartition(spec, parsed("people count", spec), (purse,), "ann"),
        lambda: PartPurse(PricedPartition.equal(spec, node, purse, "ann"), 3),
        lambda: PricedPartition.equal(spec, replace(node, by=r.Key("x", e.Missing())), purse, "ann"),
        lambda: PricedPartition.equal(spec, parsed("people partition by n = age * 1000", spec), purse, "ann"),
        lambda: parsed("people partition by region parts 0", spec),
        lambda: parsed("people partition region", spec),
        lambda: PricedQuestion(spec, node, purse),
        lambda: PricedQuestion(spec, parsed("people part east of region count", spec), purse),
    ):
        with pytest.raises((UsageError, RefusedError)):
            wrong()
    found = PartPurse(PricedPartition.equal(spec, node, purse, "ann"), 1)
    assert read_purse(found.to_json(), spec) == found
    other = DataSpec.load(spec.public_dict() | {"title": "another"})
    with pytest.raises(UsageError, match="own data set"):
        PricedQuestion(other, parsed("people part south of region count", other), purse, found)


KEYS = ["x = age * 0.0001 + 100000000000000", "x = age * number('1/3')", "income", "joined", "region"]


@pytest.mark.parametrize("key", KEYS)
def test_every_purse_is_of_a_part_of_its_own_also_where_floats_would_round_them_together(key):
    """Two purses of one part would pay twice for what was charged once."""
    spec = data_spec()
    partition = PricedPartition.equal(spec, parsed(f"people partition by {key}", spec), PureDP(Fraction(1, 10)), "ann")
    size = len(partition.purses)
    parts = [PartPurse(partition, at).part for at in range(size)]
    assert size > 1 and len(set(parts)) == size and len(set(map(str, partition.shown))) == size
    assert [rows_of(part, spec).program.code for part in parts] == list(partition.axis.codes)
