from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.lattice import (
    STAR,
    covers,
    cube_cell,
    downward_closure,
    fixed_values,
    maximal,
    subsets,
    supersets,
    up_to,
)
from margrave.errors import UsageError

DOMAIN = Domain(tuple(Attribute(name, ("x", "y")) for name in "ABCDE"))
margins = st.sets(st.sampled_from("ABCDE")).map(DOMAIN.margin)
families = st.lists(margins, max_size=8)


@given(families)
def test_closure_is_idempotent_and_contains_its_generators(family):
    closure = downward_closure(family)
    assert set(family) <= set(closure)
    assert set(downward_closure(closure)) == set(closure)
    assert len(set(closure)) == len(closure)


@given(families)
def test_closure_of_the_maximal_elements_is_the_closure(family):
    tops = maximal(family)
    assert set(downward_closure(tops)) == set(downward_closure(family))
    assert not any(set(a) < set(b) for a in tops for b in tops)


@given(families, families)
def test_closure_is_monotone_and_respects_union(first, second):
    union = set(downward_closure(first)) | set(downward_closure(second))
    assert set(downward_closure([*first, *second])) == union


@given(margins, margins)
def test_supersets_and_subsets_are_dual(first, second):
    assert (second in set(subsets(first))) == (first in set(supersets(DOMAIN, second)))


def test_up_to_counts_and_order():
    assert [len(margin) for margin in up_to(DOMAIN, 2)] == [0] + [1] * 5 + [2] * 10
    assert len(list(up_to(DOMAIN, 99))) == 2**5


def test_cube_cells_round_trip_and_order():
    cells = list(product(("x", "y", STAR), repeat=5))
    for cell in cells[::7]:
        assert cube_cell(DOMAIN, fixed_values(DOMAIN, cell)) == cell
        assert covers((STAR,) * 5, cell) and covers(cell, cell)
    assert not covers(("x", *(STAR,) * 4), ("y", *(STAR,) * 4))
    assert not covers(("x", *(STAR,) * 4), (STAR,) * 5)


def test_cube_cells_refuse_what_is_not_in_the_domain():
    with pytest.raises(UsageError, match="has no value"):
        cube_cell(DOMAIN, {"A": "z"})
    with pytest.raises(UsageError, match="unknown attribute"):
        cube_cell(DOMAIN, {"Z": "x"})
    with pytest.raises(UsageError, match="5 entries"):
        fixed_values(DOMAIN, ("x",))
