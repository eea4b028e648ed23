"""Bounds that an aggregate enforces: what is kept of a unit is within them, and is its own affair."""

from datetime import date
from fractions import Fraction
from random import Random as Generator

import numpy as np
import pytest

from margrave.budget.units import PureDP
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.question import PricedQuestion
from tests.measure.questions.stores import engine_of
from tests.planning.questions.samples import data_of, data_spec, random_unit

TEXTS = [
    "visits count rows 1",
    "visits count rows 2",
    "visits by ward count rows 1",
    "visits by ward count groups 1",
    "visits by ward count per group 1",
    "visits by ward, cost count groups 2 per group 1 rows 2",
    "visits by ward average cost rows 1",
    "visits by ward average cost groups 1",
    "visits by ward variance cost rows 2 per group 1",
    "visits by ward sum cost low 0 high 1 groups 1",
    "visits by ward units groups 1",
    "visits quantiles(0.5) of cost rows 1",
    "visits by ward quantiles(0.5) of cost groups 1 per group 1",
    "people join visits by region, ward count rows 2 groups 1",
]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_unit_moves_a_bounded_answer_further_than_is_stated(neighbours, tmp_path):
    """Engines over data with and without a unit, by one key: only that unit's own rows make the difference."""
    spec, random = data_spec(neighbours), Generator(f"bounds {neighbours}")
    questions = [PricedQuestion(spec, parsed(text, spec), PureDP(Fraction(1))) for text in TEXTS]
    others = [random_unit(spec, random) for _ in range(3)]
    one = {"people": random_unit(spec, random)["people"], "visits": []}
    while len(one["visits"]) < 3:
        one = random_unit(spec, random)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("margrave.measure.questions.opening.os.urandom", lambda count: bytes(count))
        whole = engine_of(spec, data_of([*others, one], spec), tmp_path / "whole")
        changed = [*others, random_unit(spec, random)] if neighbours == "replace" else others
        less = engine_of(spec, data_of(changed, spec), tmp_path / "less")
    moved = 0
    for question in questions:
        apart = np.abs(whole.exact(question.sought) - less.exact(question.sought)).reshape(-1)
        stated = question.sought.move
        assert sum(apart) <= stated.l1 and sum(apart**2) <= stated.l2_squared, question.title
        moved += sum(apart) > 0
    assert moved > len(TEXTS) // 2


def test_a_unit_is_in_no_more_parts_than_it_may_be_whichever_part_is_asked(tmp_path):
    spec, random = data_spec(), Generator("parts")
    units = [random_unit(spec, random) for _ in range(60)]
    engine = engine_of(spec, data_of(units, spec), tmp_path / "store")

    def exact(text):
        return engine.exact(PricedQuestion(spec, parsed(text, spec), PureDP(Fraction(1))).sought).item()

    days = [{row["seen"] for row in unit["visits"]} - {None} for unit in units]
    wanted = ["2024-02-28", "2024-02-29", "2024-03-01"]
    for most in (1, 2, 3):
        found = [exact(f"visits part day('{one}') of seen parts {most} units") for one in wanted]
        assert sum(found) == sum(min(most, len(mine)) for mine in days)
        # A unit in two parts would be here twice, whatever the parts are joined with.
        parts = [f"visits part day('{one}') of seen parts {most}" for one in wanted[:2]]
        both = " join ".join(f"({part} per unit n{at} = count())" for at, part in enumerate(parts))
        assert exact(f"{both} units") <= (0 if most == 1 else len(units))
        again = [exact(f"visits part day('{one}') of seen parts {most} units") for one in wanted]
        assert found == again
    some = [exact(f"visits part day('{one}') of seen only (day('2024-02-28'), day('2024-02-29')) parts 1 units")
            for one in wanted[:2]]  # fmt: skip
    assert sum(some) == sum(bool(mine & {date(2024, 2, 28), date(2024, 2, 29)}) for mine in days)


def test_bounded_rows_are_bounded(tmp_path):
    spec, random = data_spec(), Generator("bounded")
    units = [random_unit(spec, random) for _ in range(30)]
    engine = engine_of(spec, data_of(units, spec), tmp_path / "store")

    def exact(text):
        return engine.exact(PricedQuestion(spec, parsed(text, spec), PureDP(Fraction(1))).sought)

    visits = [unit["visits"] for unit in units]
    assert exact("visits count rows 2").item() == sum(min(2, len(rows)) for rows in visits)
    assert exact("visits count").item() == sum(map(len, visits))
    with_ward = [[row["ward"] for row in rows if row["ward"]] for rows in visits]
    assert exact("visits by ward count rows 1").sum() == sum(bool(wards) for wards in with_ward)
    assert exact("visits by ward units groups 1").sum() == sum(bool(wards) for wards in with_ward)
    assert exact("visits by ward units").sum() == sum(len(set(wards)) for wards in with_ward)
    assert exact("visits by ward count per group 1").sum() == sum(len(set(wards)) for wards in with_ward)
