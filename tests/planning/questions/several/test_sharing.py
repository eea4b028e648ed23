"""Batches are planned together: what follows from other answers is not measured, and nothing gets worse by it."""

import json
from fractions import Fraction

import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import UsageError
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.batch import Batch, read_batch

SPEC = DataSpec.load(
    """
[tables.people]
[tables.people.columns]
a = { values = ["x", "y"], other = "z" }
b = { values = ["p"], missing = "q" }
loose = ["l", "m"]
pay = { number = [0, 50], step = 0.5 }
"""
)
BUDGETS = [PureDP(Fraction(3, 10)), ZCDP(Fraction(3, 100))]


def batch_of(texts, budget=BUDGETS[0]):
    return Batch.shared(SPEC, tuple(parsed(text, SPEC) for text in texts), budget)


def separately(batch, budget):
    """The half-widths of the same questions, each measured at an equal share."""
    share = budget.with_amount(budget.amount / len(batch.wanted))
    return [PricedQuestion(SPEC, node, share).forecast[0].half_width for node in batch.wanted]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    ("texts", "measured"),
    [
        (["people count", "people by a count", "people by b, a count"], {"people by b, a count"}),
        (["people variance pay", "people average pay"], {"people variance pay"}),
        (
            ["people cumulative pay", "people quantiles(0.1, 0.2, 0.3, 0.7, 0.9) of pay"],
            {"people quantiles(0.1, 0.2, 0.3, 0.7, 0.9) of pay"},
        ),
        (["people where pay >= 0 count", "people where pay >= 0 average pay"], {"people where pay >= 0 average pay"}),
        (["people by pay count", "people cumulative pay"], {"people cumulative pay"}),
        (
            ["people where pay > 1 by a count", "people where pay > 1 by a variance pay"],
            {"people where pay > 1 by a variance pay"},
        ),
        (["people count", "people average pay"], {"people count", "people average pay"}),
        (["people where a = x count", "people by a count"], {"people where a = 'x' count", "people by a count"}),
        (["people count", "people by loose count"], {"people count", "people by loose count"}),
    ],
)
def test_what_follows_is_not_measured_and_all_is_at_least_as_near(texts, measured, budget):
    if isinstance(budget, ZCDP) and texts[0] == "people count":
        # In ρ a measurement of its own takes little from the others, and sharpens them.
        measured = set(texts)
    if isinstance(budget, ZCDP) and texts[0] in ("people by pay count", "people where pay > 1 by a count"):
        # In ρ half of the budget is worth more than half of the accuracy: counts of their own are much nearer.
        measured = set(texts)
    batch = batch_of(texts, budget)
    assert {one.title for one in batch.questions} == measured and len(batch.wanted) == len(texts)
    assert batch.cost.amount <= budget.amount
    together = [one.half_width for one in batch.forecast]
    assert len(together) == len(texts)
    for ours, alone in zip(together, separately(batch, budget), strict=True):
        assert ours <= alone * (1.05 if len(measured) < len(texts) else 1.0001)
    if len(measured) < len(texts):
        assert min(ours / alone for ours, alone in zip(together, separately(batch, budget), strict=True)) < 0.75
    assert read_batch(json.loads(json.dumps(batch.asked_json()))) == batch


def test_a_coarse_count_is_measured_where_a_fine_table_says_little_of_it():
    spec = DataSpec.load(
        """
[tables.people]
[tables.people.columns]
a = { values = ["x"], other = "z" }
many = { range = [1, 900], missing = "none" }
"""
    )
    nodes = tuple(parsed(text, spec) for text in ("people by a count", "people by a, many count"))
    batch = Batch.shared(spec, nodes, BUDGETS[0])
    assert len(batch.questions) == 2
    assert [len(batch.follows_from(node)) for node in batch.wanted] == [2, 2]


def test_what_follows_from_nothing_that_is_measured_is_refused():
    one = PricedQuestion(SPEC, parsed("people by a count", SPEC), PureDP(Fraction(1)))
    with pytest.raises(UsageError, match="follow from"):
        Batch((one,), (parsed("people by a, b count", SPEC),))
    with pytest.raises(UsageError, match="planned together already"):
        batch_of(["people tables(a)", "people count"])


def test_large_batches_leave_out_all_that_follows():
    texts = [f"people where pay > {number} by {keys}count" for number in range(8) for keys in ("", "a ", "a, b ")]
    batch = batch_of([text.replace("by count", "count") for text in texts])
    assert len(batch.questions) == 8 and len(batch.wanted) == 24
