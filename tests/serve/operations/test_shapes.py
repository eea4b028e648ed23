"""Shapes read strictly, say where something is wrong, and describe what they read."""

import jsonschema_rs
import pytest

from margrave.errors import UsageError
from margrave.serve.operations.shapes import (
    BUDGET,
    DATASET,
    NAME,
    ExactText,
    FieldsShape,
    ListShape,
    OneOf,
    TextShape,
    WholeNumber,
)
from margrave.serve.rates import Buckets, Rate

SHAPES = FieldsShape(
    needed={"name": NAME, "many": WholeNumber(1, 3)},
    optional={"budget": BUDGET, "words": ListShape(OneOf(("a", "b")), 1, 2), "data": DATASET, "text": TextShape(5)},
)
GOOD = {"name": "ann", "many": 2}


@pytest.mark.parametrize(
    "more", [{}, {"budget": {"rho": "1/10"}}, {"words": ["a", "b"]}, {"data": "clinic@2024"}, {"text": "ä☃"}]
)
def test_what_fits_is_read_and_described(more):
    assert SHAPES.read({**GOOD, **more}, "body") == {**GOOD, **more}
    assert jsonschema_rs.is_valid(SHAPES.schema, {**GOOD, **more})


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"name": "<b>"}, "body.name"),
        ({"name": "a\n"}, "body.name"),
        ({"many": 4}, "body.many"),
        ({"many": True}, "body.many"),
        ({"many": 1.5}, "body.many"),
        ({"budget": {}}, "body.budget"),
        ({"budget": {"epsilon": "1", "rho": "1"}}, "body.budget"),
        ({"budget": {"epsilon": 0.1}}, "body.budget.epsilon"),
        ({"budget": {"epsilon": "1e5"}}, "body.budget.epsilon"),
        ({"words": ["a", "c"]}, r"body.words\[1\]"),
        ({"words": []}, "body.words"),
        ({"data": "clinic"}, "body.data"),
        ({"text": "123456"}, "body.text"),
        ({"other": 1}, "body"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_place(more, place):
    with pytest.raises(UsageError, match=place):
        SHAPES.read({**GOOD, **more}, "body")
    assert not jsonschema_rs.is_valid(SHAPES.schema, {**GOOD, **more})


@pytest.mark.parametrize("value", ["1/0", "0", "0.000", "٣", "-1", "", None])
def test_an_exact_number_is_a_text_above_zero(value):
    with pytest.raises(UsageError, match="place"):
        ExactText().read(value, "place")


def test_texts_that_no_store_keeps_are_refused():
    for value in ("a\0", "\ud800"):
        with pytest.raises(UsageError, match="characters"):
            TextShape(5).read(value, "place")


def test_a_bucket_empties_and_fills_again():
    time = [0.0]
    buckets = Buckets(Rate(2, 0.5), lambda: time[0])
    assert [buckets.wait("ann") for _ in range(3)] == [0, 0, 2]
    assert buckets.wait("bob") == 0
    time[0] = 2.0
    assert [buckets.wait("ann") for _ in range(2)] == [0, 2]
