import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.table import Table
from margrave.errors import UsageError

from .strategies import margins_of, tables

DOMAIN = Domain((Attribute("a", ("x", "y")), Attribute("b", ("1", "2", "3"))))
TABLE = Table(DOMAIN, ("a", "b"), np.arange(6))


@given(st.data(), tables())
def test_projection_and_expansion_are_transposes(data, table):
    margin = data.draw(margins_of(table.domain))
    small = Table(table.domain, margin, np.arange(table.domain.cells(margin)))
    left = (table.project(margin).counts * small.counts).sum()
    assert left == (table.counts * small.expand(table.domain.names).counts).sum()


@given(tables())
def test_frames_round_trip(table):
    assert Table.from_pandas(table.domain, table.to_pandas()) == table
    assert Table.from_arrow(table.domain, table.to_arrow()) == table


def test_align_reorders_axes_and_values():
    other = Domain((Attribute("b", ("3", "1", "2")), Attribute("a", ("y", "x"))))
    aligned = TABLE.align(other)
    assert aligned.counts.tolist() == [[5, 2], [3, 0], [4, 1]]
    assert aligned.align(DOMAIN) == TABLE
    with pytest.raises(UsageError, match="other values"):
        TABLE.align(Domain((Attribute("b", ("3", "1")), Attribute("a", ("y", "x")))))


def test_rows_not_listed_are_zero():
    table = Table.from_columns(DOMAIN, {"b": ["3"], "a": ["x"], "count": [4]})
    assert table.counts.tolist() == [[0, 0, 4], [0, 0, 0]]


def test_total_and_repr_hide_nothing_and_show_nothing():
    assert TABLE.total == 15
    assert repr(TABLE) == "Table(a, b: 6 cells)"


def test_counts_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        TABLE.counts[0, 0] = 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Table(DOMAIN, ("b", "a"), np.arange(6)), "order of the domain"),
        (lambda: Table(DOMAIN, ("a",), np.arange(3)), "do not fill"),
        (lambda: Table(DOMAIN, ("a",), np.array(["1", "2"])), "whole or real"),
        (lambda: Table(DOMAIN, ("a",), np.arange(2)).project(("b",)), "not below"),
        (lambda: TABLE.expand(("a",)), "not above"),
        (lambda: Table.from_columns(DOMAIN, {"a": ["x", "x"], "count": [1, 2]}), "twice"),
        (lambda: Table.from_columns(DOMAIN, {"a": ["x"]}), "no column 'count'"),
    ],
)
def test_what_is_refused(build, message):
    with pytest.raises(UsageError, match=message):
        build()
