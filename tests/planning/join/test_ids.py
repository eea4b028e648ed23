"""Ids: what is the same person is written in the same way, and no two ids alike."""

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.errors import UsageError
from margrave.planning.join.ids import IdPart, whole_id

TEXT, KEPT = IdPart("text"), IdPart("text", "NFC", "keep")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("José", "JOSE\u0301"),
        ("Straße", "STRASSE"),
        ("ﬁnn", "FINN"),
        ("  Ann   Lee ", "ann lee"),
        ("ann\u200blee", "annlee"),
        ("ann\u00adlee", "annlee"),
        ("Ａｎｎ", "ann"),
        ("ann\tlee", "ann lee"),
        ("İ", "i̇"),
    ],
)
def test_texts_that_mean_the_same_are_written_alike(one, other):
    assert TEXT.normal(one) == TEXT.normal(other) != ""


@pytest.mark.parametrize(("one", "other"), [("Ann", "ann"), ("ﬁ", "fi")])
def test_case_and_compatibility_are_kept_where_that_is_agreed(one, other):
    assert KEPT.normal(one) != KEPT.normal(other)
    assert KEPT.normal("e\u0301") == KEPT.normal("é")


@pytest.mark.slow
@given(st.text())
def test_a_normal_text_is_its_own_normal_form(text):
    assert TEXT.normal(TEXT.normal(text)) == TEXT.normal(text)


@pytest.mark.parametrize(
    ("value", "digits"),
    [("00-12.345", "12345"), (12345, "12345"), ("١٢", "12"), ("abc", ""), ("000", ""), ("１２", "12"), ("²", "2")],
)
def test_digits_are_those_of_any_script_without_leading_zeros(value, digits):
    assert IdPart("digits").normal(value) == digits


@pytest.mark.parametrize(
    ("value", "dates", "day"),
    [
        ("2001-02-03", "%Y-%m-%d", "2001-02-03"),
        (" 03.02.2001 ", "%d.%m.%Y", "2001-02-03"),
        (date(2001, 2, 3), "%d.%m.%Y", "2001-02-03"),
        (datetime(2001, 2, 3, 4), "%Y-%m-%d", "2001-02-03"),
        ("03.02.2001", "%Y-%m-%d", ""),
        ("2001-02-30", "%Y-%m-%d", ""),
    ],
)
def test_dates_are_days_however_they_are_written(value, dates, day):
    assert IdPart("date").normal(value, dates) == day


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3), st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_different_parts_make_different_ids(one, other):
    assert (whole_id(one) == whole_id(other)) == (one == other)


def test_an_id_of_which_nothing_is_left_is_none():
    assert whole_id(["ann", ""]) is None
    with pytest.raises(UsageError, match="text, digits or a date"):
        IdPart("number")
