"""What a question may take, by public numbers: whatever takes longer for other data is in it before it is asked."""

from fractions import Fraction

import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import RefusedError
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.programs.work import SHORTEST, Work
from margrave.planning.questions.question import PricedQuestion
from tests.planning.questions.samples import data_spec

SPEC = data_spec()
ONE = PureDP(Fraction(1))


def question(text, budget=ONE):
    return PricedQuestion(SPEC, parsed(text, SPEC), budget)


def test_every_selection_and_every_step_of_a_row_counts_at_its_most():
    # A selection among many different losses takes longer than among equal ones, a row in a late bin than in an early.
    asked = "by a = bins(age, 0, 1, 2, 3, 4, 5), b = bins(income, 0, 1, 2)"
    assert question(f"people {asked} quantiles(0.1, 0.5, 0.9) of age").work.selections == 5 * 2 * 3
    assert question("people choose region").work.selections == 1
    assert question(f"people {asked} count").work.selections == question("people cumulative age").work.selections == 0
    assert Work(10, 1_000, 100).seconds == SHORTEST
    assert Work(10, 1_000, 100, selections=30_000).seconds >= 3
    assert Work(20_000, 1_000, 100).seconds >= 1
    assert Work(10_000, 1_000_000, 100).seconds >= 1.5


def test_what_is_short_is_not_given_up_because_the_machine_is_busy():
    assert Work(10, 1_000, 100).guard == 30
    assert Work(20_000, 50_000_000, 100).guard == 10 * Work(20_000, 50_000_000, 100).seconds > 100


@pytest.mark.parametrize("budget", [PureDP(Fraction(1, 10**26)), ZCDP(Fraction(1, 10**52)), PureDP(Fraction(10**14))])
@pytest.mark.parametrize("text", ["people choose region", "people median age"])
def test_a_selection_that_cannot_be_drawn_is_refused_before_it_is_charged(text, budget):
    with pytest.raises(RefusedError):
        question(text, budget)


def test_a_budget_of_many_digits_above_all_that_can_be_drawn_is_refused_as_any_other():
    with pytest.raises(RefusedError):
        question("people choose region", PureDP(Fraction(10**40 + 1, 3**30)))
