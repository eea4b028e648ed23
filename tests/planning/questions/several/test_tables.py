"""Tables asked as a question: their price holds for every neighbour, their plan is read back, and what is said fits."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from margrave.algebra.query import answer
from margrave.budget.units import ZCDP, PureDP, amount
from margrave.errors import MargraveError, RefusedError, UsageError
from margrave.ledger.journal import canonical
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import question_of, read_asked
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language import relations as r
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.least import least_tables
from margrave.planning.questions.programs.missing import is_never_missing
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.partition import PartPurse, PricedPartition
from margrave.planning.questions.several.tables import TablesQuestion, complete_rows
from tests.planning.questions.price.test_price import NAMES, every_unit, interpreted, tiny
from tests.planning.questions.samples import data_of, data_spec

JOINED = "people join visits tables(sex * ward, ward)"
BUDGETS = [PureDP(Fraction(1, 2)), ZCDP(Fraction(1, 10))]


def outputs(question, units):
    """The exact answers to every measurement of a plan, by the interpreter in plain Python."""
    plan, held = question.plan, {}
    rows = complete_rows(question.aggregate, question.data)
    for margin in question.counted:
        keys = tuple(r.Key(name, e.Column(name)) for name in margin)
        node = a.Count(rows, keys, question.aggregate.most_rows)
        priced = PricedQuestion(question.data, node, PureDP(Fraction(1)))
        counts = [int(cell[0]) for cell in interpreted(priced, data_of(units, question.data), NAMES)]
        held[margin] = np.array(counts, dtype=np.int64).reshape(plan.spec.domain.shape(margin))
    return [answer(plan.domain, one.query, held[plan.counted_margin(one.query.margin)]) for one in plan.measurements]


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("text", [JOINED, "people tables(sex, sex * pay)", "visits tables(ward)"])
def test_no_neighbour_costs_more_than_is_stated(text, neighbours, budget):
    spec = tiny(neighbours)
    question = question_of(spec, parsed(text, spec), budget)
    cost, reached = amount(question.cost), 0
    without = outputs(question, [])
    found = {
        tuple(one.tobytes() for one in table): table
        for unit in every_unit(spec)
        for table in [outputs(question, [unit])]
    }
    ends = list(found.values())
    pairs = product(ends, ends) if neighbours == "replace" else (([*without], one) for one in ends)
    for one, other in pairs:
        moves = [np.abs(x - y) for x, y in zip(one, other, strict=True)]
        several = zip(question.plan.measurements, moves, strict=True)
        reached = max(reached, sum(m.price(int(x.sum()), int((x * x).sum())) for m, x in several))
    assert reached <= cost <= amount(budget)
    if neighbours == "add-remove" and budget == BUDGETS[0]:
        assert reached == cost


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("text", ["people partition by sex", "visits partition by ward"])
def test_tables_of_all_parts_together_cost_no_more_than_their_partition(text, neighbours, budget):
    spec = tiny(neighbours)
    partition = PricedPartition.equal(spec, parsed(text, spec), budget, "ann")
    wanted = "tables(pay)" if "people" in text else "join people tables(sex)"
    several = []
    for at in range(len(partition.purses)):
        purse = PartPurse(partition, at)
        question = question_of(spec, parsed(f"{said(purse.part)} {wanted}", spec), budget, purse)
        assert read_asked(json.loads(canonical(question.asked_json()))) == question
        assert question.purse == purse and question.words()[0].startswith("ε" if budget == BUDGETS[0] else "ρ")
        several.append(question)
    plain = TablesQuestion.planned(tiny("add-remove"), several[0].aggregate, budget)
    assert several[0].plan.measurements == plain.plan.measurements and several[0].question != plain.question
    ends = [[outputs(one, units) for one in several] for units in ([], *([unit] for unit in every_unit(spec)))]
    alike = list({str(one): one for one in ends[1:]}.values())
    pairs = product(alike, alike) if neighbours == "replace" else ((ends[0], one) for one in alike)
    reached = max(
        sum(
            m.price(int(np.abs(x - y).sum()), int(((x - y) ** 2).sum()))
            for question, before, after in zip(several, one, other, strict=True)
            for m, x, y in zip(question.plan.measurements, before, after, strict=True)
        )
        for one, other in pairs
    )
    assert amount(partition.cost) / 5 < reached <= amount(partition.cost)


def test_a_bound_on_rows_is_enforced_on_all_that_is_counted():
    spec = tiny("add-remove")
    question = question_of(spec, parsed("visits tables(ward, ()) rows 1", spec), PureDP(Fraction(1)))
    assert question.moves == 1 and question_of(spec, parsed("visits tables(ward)", spec), BUDGETS[0]).moves == 2
    for margin, sought in question.counted.items():
        assert (sought.keep_rows == 1) if margin else (sought.clamp == (0, 1))


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_plan_is_read_back_and_a_changed_one_is_refused(budget):
    spec = tiny("add-remove")
    question = question_of(spec, parsed(JOINED, spec), budget)
    told = json.loads(canonical(question.asked_json()))
    again = read_asked(told)
    assert again == question and again.question == question.question and again.numbers == question.numbers
    assert question_of(spec, parsed(JOINED, spec), budget).question == question.question
    less = [
        {**one, "noise": {name: "1" if name != "kind" else kind for name, kind in one["noise"].items()}}
        for one in told["events"]
    ]
    for wrong in ({"strategy": 3}, {"encoding": "x"}, {"events": less}, {"format": 2}):
        with pytest.raises(MargraveError):
            read_asked({**told, **wrong})


def test_the_question_says_what_it_is():
    spec = tiny("replace")
    question = question_of(spec, parsed(JOINED, spec), PureDP(Fraction(1, 2)))
    assert question.title == JOINED == said(parsed(JOINED, spec)) and question.way == "tables"
    assert question.moves == 4 and "replaced" in question.reason and question.notion == spec.notion
    assert "planned as a release" in question.mechanism_said and question.work.seconds > 0
    assert [one.what for one in question.forecast] == ["table of ward", "table of sex, ward"]
    assert question.to_json()["way"] == "tables" and question.words() and question.sheets() and not question.exact
    assert not question.disclosed and isinstance(question.warnings, tuple)
    assert amount(question.at(PureDP(Fraction(1))).cost) <= 1
    found = least_tables(spec, question.aggregate, 20, 0.95)
    assert max(one.half_width for one in found.forecast) <= 20
    assert isinstance(found, TablesQuestion)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("people tables(sex, sex)", "different"),
        ("people tables(sex * sex)", "twice"),
        ("people tables(nothing)", "no column"),
        ("people tables(())", "needs a column"),
        ("people tables()", "expected"),
        ("people by sex tables(pay)", "by group"),
        ("people tables(sex) groups 2", "no such bound"),
    ],
)
def test_tables_that_cannot_be_asked_are_said(text, words):
    spec = tiny("add-remove")
    with pytest.raises(UsageError, match=words):
        question_of(spec, parsed(text, spec), PureDP(Fraction(1)))


def test_a_column_of_many_values_is_refused():
    spec = DataSpec.load("[tables.people]\n[tables.people.columns]\npay = { number = [0, 1000000] }\n")
    with pytest.raises(RefusedError, match="use bins"):
        question_of(spec, parsed("people tables(pay)", spec), PureDP(Fraction(1)))


def test_which_columns_are_never_missing():
    spec = DataSpec.load(
        """
unit = "id"
[tables.people]
max_records = 1
[tables.people.columns]
a = { values = ["x"], missing = "none" }
b = ["p", "q"]
[tables.visits]
max_records = 2
[tables.visits.columns]
w = { values = ["u"], other = "v" }
"""
    )
    for rows, name, sure in (
        ("people", "a", True),
        ("people", "b", False),
        ("people where not (b is missing) and a = x", "b", True),
        ("people where b = p", "b", True),
        ("people where b in (p) or b != q", "b", True),
        ("people where b = p or a = x", "b", False),
        ("people where not (b = p)", "b", False),
        ("people select c = a", "c", True),
        ("people select c = a", "a", False),
        ("people with c = b", "a", True),
        ("people join visits", "w", True),
        ("people left join visits", "w", False),
        ("people left join visits", "a", True),
        ("visits per unit n = count(), m = max(case when w = u then 1 else 0 end)", "n", True),
        ("visits per unit n = count(), m = max(case when w = u then 1 else 0 end)", "m", False),
        ("people select a union (people select a = b)", "a", False),
        ("people select a except (people select a)", "a", True),
        ("people select a distinct", "a", True),
    ):
        node = parsed(f"{rows} count", spec)
        assert is_never_missing(name, node.rows, spec) is sure, (rows, name)


def test_rows_in_which_a_column_is_missing_are_left_out():
    spec = data_spec()
    node = parsed("people tables(age * region)", spec)
    assert said(complete_rows(node, spec)) == "people where (not (age is missing) and not (region is missing))"
