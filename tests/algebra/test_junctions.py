"""Junction trees against Graham's reduction, and bounds against every table."""

from itertools import combinations, product

import numpy as np
import pytest

from margrave.algebra.incidence import margin_sums
from margrave.algebra.junctions import frechet_least, frechet_most, is_decomposable, perfect_sequence
from margrave.algebra.lattice import downward_closure, maximal, subsets
from tests.shapes import domain_of


def reduces_to_nothing(margins):
    """Graham: leave out what is in one margin only, and margins inside another, until nothing changes."""
    left = [set(margin) for margin in margins]
    while True:
        alone = [{one for one in margin if sum(one in other for other in left) == 1} for margin in left]
        left = [margin - only for margin, only in zip(left, alone, strict=True)]
        inside = next((i for i, j in product(range(len(left)), repeat=2) if i != j and left[i] <= left[j]), None)
        if inside is not None:
            del left[inside]
        elif not any(alone):
            return len(left) <= 1


def test_every_set_of_margins_of_four_attributes_is_told_as_graham_does():
    margins = [margin for width in (1, 2, 3) for margin in combinations(range(4), width)]
    for count in (1, 2, 3):
        for chosen in combinations(margins, count):
            assert is_decomposable(chosen) == reduces_to_nothing(chosen), chosen
    assert perfect_sequence(()) == ()
    assert not is_decomposable(((0, 1), (1, 2), (2, 0)))


def test_what_stands_for_an_attribute_is_free():
    assert maximal([(1, 2), (2,), (3,)]) == ((1, 2), (3,))
    assert downward_closure([("a", "b")]) == ((), ("a",), ("b",), ("a", "b"))
    assert list(subsets({7: None})) == [(), (7,)]


@pytest.mark.parametrize("separator", ["", "b"])
def test_frechet_bounds_are_those_of_every_table(separator):
    """All tables of 2 × 2 × 2 with up to three records: the bounds are attained by some table of the same margins."""
    first, second = ((0, 1), (1, 2)) if separator else ((0, 1), (2,))
    tables = [np.array(cells).reshape(2, 2, 2) for cells in product(range(3), repeat=8) if sum(cells) <= 3]
    alike = {}
    for table in tables:
        sums = [table.sum(axis=tuple({0, 1, 2} - set(kept)), keepdims=True) for kept in (first, second)]
        alike.setdefault(tuple(one.tobytes() for one in sums), []).append((table, sums))
    for group in alike.values():
        _, (one, other) = group[0]
        shared = other.sum(axis=(0, 2) if separator else (0, 1, 2), keepdims=True)
        low, high = frechet_least([(one, None), (other, shared)]), frechet_most([one, other])
        found = np.array([table for table, _ in group])
        assert np.array_equal(np.broadcast_to(low, (2, 2, 2)), found.min(axis=0))
        assert np.array_equal(np.broadcast_to(high, (2, 2, 2)), found.max(axis=0))


def test_the_matrix_of_a_margin_sums_as_tables_do():
    domain = domain_of(2, 3, 4)
    counts = np.arange(24).reshape(2, 3, 4)
    for margin in subsets(domain.names):
        outside = tuple(axis for axis, name in enumerate(domain.names) if name not in margin)
        matrix = margin_sums(domain, domain.names, margin)
        assert np.array_equal(matrix @ counts.ravel(), counts.sum(axis=outside).ravel())
        assert np.array_equal(matrix.sum(axis=0), np.ones(24))
