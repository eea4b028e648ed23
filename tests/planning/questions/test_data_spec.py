"""Declarations of data sets for questions: what is read, what is refused, and that all forms say the same."""

import json
from fractions import Fraction

import pytest

from margrave.errors import MargraveError, RefusedError, SpecError, UsageError
from margrave.planning.questions.data_spec import ColumnSpec, DataSpec, TableSpec
from margrave.planning.questions.kinds import Days, Numbers, Values, common_step
from margrave.planning.ways.registry import load_spec, planned, spec_way
from tests.planning.questions.samples import SPEC, data_spec


def test_a_declaration_is_the_same_in_every_form():
    spec = data_spec("replace")
    again = DataSpec.load(json.loads(json.dumps(spec.public_dict(), sort_keys=True)))
    assert again == spec and again.public_dict() == spec.public_dict()
    assert spec.notion.records == 4 and spec.notion.unit == "person" and spec.notion.neighbours == "replace"


def test_columns_have_kinds():
    people = next(table for table in data_spec().tables if table.name == "people")
    kinds = {column.name: column.kind for column in people.columns}
    assert kinds["region"] == Values(("north", "south", "it's"))
    assert kinds["age"] == Numbers(0, 5)
    assert kinds["income"] == Numbers(-2, 3, Fraction(1, 2))
    assert isinstance(kinds["joined"], Days)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max_records = 3", "", "max_records"),
        ("max_records = 3", "max_records = 0", "must be 1 to"),
        ("step = 0.25", "step = 0", "greater than 0"),
        ("step = 0.25", "step = 0.3", "multiples of the step"),
        ("[0, 2]", "[2, 0]", "less than the highest"),
        ("[0, 2]", "[0]", "lowest, highest"),
        ("[2024-02-28, 2024-03-01]", "[2024-03-01, 2024-02-28]", "must not come after"),
        ("ward =", "where =", "a word of the language"),
        ("ward =", '"the ward" =', "must be a word"),
        ("ward =", "person =", "is the unit"),
        ('unit = "person"', "", "need"),
        ("NEIGHBOURS", "sideways", "unknown choice"),
        ("[tables.visits]", "[tables.sum]", "a word of the language"),
        ("rows = 300", "rows = 0", "must be 1 to"),
    ],
)
def test_problems_are_said_with_their_place(old, new, said):
    text = SPEC.replace(old, new).replace("NEIGHBOURS", "add-remove")
    with pytest.raises(SpecError, match=said):
        DataSpec.load(text)


def test_values_are_checked_at_birth():
    column = ColumnSpec("x", Numbers(0, 1))
    for wrong in (
        lambda: TableSpec("t", ()),
        lambda: TableSpec("t", (column, column)),
        lambda: TableSpec("t", (column,), "x"),
        lambda: TableSpec("t", (column,), None, 2),
        lambda: DataSpec(()),
        lambda: DataSpec((TableSpec("a", (column,)), TableSpec("b", (column,)))),
        lambda: Numbers(1, 0),
        lambda: Numbers(0, 1, Fraction(-1)),
        lambda: Values(()),
        lambda: Values(("a", "a")),
        lambda: Days(1, 0),
    ):
        with pytest.raises(UsageError):
            wrong()
    with pytest.raises(RefusedError, match="64 bits"):
        Numbers(0, 1 << 62)


def test_a_step_common_to_two_is_the_largest():
    assert common_step(Fraction(1, 2), Fraction(1, 3)) == Fraction(1, 6)
    assert common_step(Fraction(6), Fraction(4)) == 2


def test_the_section_tables_declares_a_data_set_for_questions():
    spec = load_spec(SPEC.replace("NEIGHBOURS", "add-remove"))
    assert spec_way(spec.way).notion(spec) == spec.notion
    with pytest.raises(MargraveError, match="margrave data open"):
        planned(spec)
