"""A view has one address, and an address one view; what makes no sense is refused in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.errors import UsageError
from margrave.publish.explorer.view import MOST_ADDRESS, ORDERS, SHARES, TableView, read

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@st.composite
def views(draw):
    names = draw(st.lists(words, min_size=2, max_size=5, unique=True))
    cut = draw(st.integers(0, len(names) - 1))
    rows, columns, hidden = tuple(names[:cut]), tuple(names[cut:-1]), names[-1]
    keep = ((hidden, tuple(draw(st.lists(words, min_size=1, max_size=3, unique=True)))),)
    shown = rows + columns
    join = ((shown[0], (tuple(draw(st.lists(words, min_size=2, max_size=4, unique=True))),)),) if shown else ()
    minus = tuple((name, draw(words)) for name in sorted(shown) if draw(st.booleans()))
    return TableView(rows, columns, keep, join, draw(st.sampled_from(SHARES)), minus, draw(st.sampled_from(ORDERS)))


@given(views())
def test_the_address_of_a_view_names_that_view(view):
    assert read(view.address()) == view


def test_what_a_form_sends_without_choosing_is_left_out():
    assert read("rows=age&columns=&join.age=&keep.sex=&minus.age=") == TableView(rows=("age",))


def test_a_value_alone_in_its_group_is_not_collapsed():
    assert read("rows=age&join.age=1:young&join.age=2:old") == TableView(rows=("age",))


def test_the_order_of_words_in_an_address_does_not_matter():
    one = read("share=rows&keep.b=x&rows=age&keep.a=y")
    assert one.address() == read("rows=age&keep.a=y&keep.b=x&share=rows").address()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("rows=age&columns=age", "only once"),
        ("share=half", "must be one of"),
        ("chart=pie", "must be one of"),
        ("share=rows&share=all", "only once"),
        ("colour=red", "no word 'colour'"),
        ("rows=age&join.age=young", "number of its group"),
        ("rows=age&join.age=1:a&join.age=1:a", "each once"),
        ("join.age=1:a&join.age=1:b", "down or across"),
        ("minus.age=young", "down or across"),
        ("rows=a&minus.a=x&minus.a=y", "only once"),
        ("keep.age=a&keep.age=a", "each once"),
        ("rows=%ff", "cannot be read"),
        ("rows=" + "a" * MOST_ADDRESS, "at most"),
        ("&".join(["keep.a=b"] * 1001), "cannot be read"),
    ],
)
def test_what_is_no_view_is_refused(address, said):
    with pytest.raises(UsageError, match=said):
        read(address)
