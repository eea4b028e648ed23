from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.crossing import COLUMN_KINDS, ColumnProfile, Profile
from margrave.errors import UsageError
from margrave.publish.drafts.draft import draft_spec
from margrave.publish.drafts.rules import date_edges, number_edges
from margrave.spec.codebook import Bins, Categories, Range
from margrave.spec.spec import Spec

pytestmark = pytest.mark.slow

PROFILE = Profile(
    "data/survey.csv",
    (
        ColumnProfile("person_id", "identifier", distinct=9000),
        ColumnProfile("smoke", "categories", ("no", "yes"), has_missing=True, distinct=2),
        ColumnProfile("rooms", "integers", low="1", high="9"),
        ColumnProfile("income", "integers", low="-20", high="98765"),
        ColumnProfile("weight", "numbers", low="0.31", high="2.75"),
        ColumnProfile("born", "dates", low="1931-05-06", high="2004-11-30"),
        ColumnProfile("member", "categories", ("false", "true")),
        ColumnProfile("nothing", "empty"),
    ),
    records=100_000,
)


def test_a_draft_parses_and_is_marked() -> None:
    text = draft_spec(PROFILE)
    spec = Spec.parse(text)
    assert spec.draft
    assert spec.confidential
    assert spec.data is not None
    assert spec.data.source == "data/survey.csv"
    assert spec.domain.names == ("smoke", "rooms", "income", "weight", "born", "member")
    assert spec.codebook["smoke"].rule == Categories(("no", "yes"))
    assert spec.codebook["smoke"].missing == "missing"
    assert spec.codebook["rooms"].rule == Range(1, 9)
    assert spec.codebook["member"].rule == Categories(("false", "true"), boolean=True)
    income, weight, born = (spec.codebook[name].rule for name in ("income", "weight", "born"))
    assert isinstance(income, Bins)
    assert (income.edges[0], income.edges[-1]) == (-20_000, 100_000)
    assert isinstance(weight, Bins)
    assert (weight.edges[0], weight.edges[-1]) == (0, 3)
    assert isinstance(born, Bins)
    assert (born.edges[0], born.edges[-1]) == (date(1930, 1, 1), date(2010, 1, 1))
    assert spec.all_ways == 2


def test_a_draft_says_loudly_where_it_comes_from() -> None:
    text = draft_spec(PROFILE)
    assert text.startswith("# THIS DRAFT WAS READ FROM CONFIDENTIAL DATA.")
    lines = [
        line for line in text.splitlines() if line.partition(" ")[0] in ("smoke", "rooms", "income", "weight", "born")
    ]
    assert len(lines) == 5
    assert all(line.endswith("# read from data") for line in lines)
    assert "# person_id: left out: it looks like an identifier" in text
    assert "# nothing: left out: it is empty" in text


def test_numbers_that_tell_people_apart_are_left_out_by_their_name() -> None:
    columns = (
        ColumnProfile("id", "numbers", low="1", high="500"),
        ColumnProfile("Household ID", "integers", low="1", high="90"),
        ColumnProfile("paid", "integers", low="0", high="9"),
        ColumnProfile("plan_id", "categories", ("basic", "full")),
    )
    text = draft_spec(Profile("people.csv", columns))
    assert Spec.parse(text).domain.names == ("paid", "plan_id")
    assert text.count("it looks like an identifier") == 2


def test_odd_names_and_values_are_escaped() -> None:
    values = ('say "hi"', "back\\slash", "new\nline", "naïve ☃", "tab\t", "# no comment", "", "*", " ", "x\x00y", "]")
    names = ("total income (€)", "a.b", 'quo"te', "line\nbreak", "a,b", " padded", "count", "")
    profile = Profile('odd "source"\n.csv', tuple(ColumnProfile(name, "categories", values) for name in names))
    spec = Spec.parse(draft_spec(profile))
    assert spec.domain.names == names[:4]
    assert spec.data is not None
    assert spec.data.source == profile.source
    for name in spec.domain.names:
        assert spec.domain[name].values == tuple(one for one in values if one.strip() and one not in ("*", "x\x00y"))
    assert draft_spec(profile).count("values that no file can hold are left out") == 4


def test_one_column() -> None:
    assert Spec.parse(draft_spec(Profile("x", (ColumnProfile("a", "categories", ("x",)),)))).all_ways == 1


@pytest.mark.parametrize(
    "column",
    [
        ColumnProfile("x", "categories", ("", "*")),
        ColumnProfile("x", "integers"),
        ColumnProfile("x", "numbers", low="nan", high="1"),
        ColumnProfile("x", "numbers", low="0", high="1e300"),
        ColumnProfile("x", "dates", low="soon", high="later"),
    ],
)
def test_what_cannot_be_drafted_is_left_to_a_person(column: ColumnProfile) -> None:
    text = draft_spec(Profile("s", (column, ColumnProfile("a", "categories", ("x",)))))
    assert "# x: left out: declare its values by hand" in text
    assert Spec.parse(text).domain.names == ("a",)


decimals = st.decimals(-(10**12), 10**12, allow_nan=False, allow_infinity=False, places=6) | st.floats(
    -1e15, 1e15, allow_subnormal=False
).map(lambda number: Decimal(repr(number))).filter(lambda number: number.as_tuple().exponent >= -100)  # type: ignore[operator]


@given(decimals, decimals)
def test_number_edges_hold_both_ends(one: Decimal, two: Decimal) -> None:
    low, high = sorted((one, two))
    edges: Any = number_edges(low, high)
    assert Bins(tuple(edges)).edges[0] <= low  # type: ignore[operator]
    assert high < edges[-1]
    assert 2 <= len(edges) <= 11


@given(st.dates(), st.dates())
def test_date_edges_hold_both_ends(one: date, two: date) -> None:
    low, high = sorted((one, two))
    edges: Any = date_edges(low, high)
    assert Bins(tuple(edges)).edges[0] <= low  # type: ignore[operator]
    assert high < edges[-1] or edges[-1] == date.max
    assert len(edges) <= 26


columns = st.builds(
    ColumnProfile,
    st.text(max_size=5),
    st.sampled_from(COLUMN_KINDS),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=4), max_size=4).map(tuple),
    st.none() | st.sampled_from(["1", "-5", "2020-01-01", "x", "0.5"]),
    st.none() | st.sampled_from(["9", "500", "2024-01-01T10:00:00", "y", "1.75"]),
    st.booleans(),
)


@settings(max_examples=200)
@given(st.lists(columns, max_size=4, unique_by=lambda column: column.name))
def test_every_draft_parses(found: list[ColumnProfile]) -> None:
    anchor = ColumnProfile("an anchor", "categories", ("x",))
    assert Spec.parse(draft_spec(Profile("s", (*found, anchor)))).draft


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(UsageError):
        ColumnProfile("x", "words")  # type: ignore[arg-type]
