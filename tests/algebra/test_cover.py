"""The cover: fewer tables than margins, and every margin inside one of them."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.algebra import cover as covers
from margrave.algebra.cover import cover, passes
from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.lattice import maximal


def domain_of(*sizes):
    return Domain(tuple(Attribute(f"a{at}", tuple(map(str, range(size)))) for at, size in enumerate(sizes)))


ADULT = domain_of(15, 9, 10, 16, 16, 7, 15, 6, 5, 2, 5, 5, 10, 42, 2)


def test_all_triples_are_covered_by_few_wider_tables():
    margins = list(combinations(ADULT.names, 3))
    tables = cover(ADULT, margins)
    assert len(tables) <= 100
    assert passes(ADULT, tables) < passes(ADULT, margins) / 3
    assert all(any(set(margin) <= set(table) for table in tables) for margin in margins)


@pytest.mark.slow
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=7),
    st.lists(st.sets(st.integers(0, 6)), min_size=1, max_size=12),
    st.booleans(),
)
def test_every_cover_covers(sizes, sets, many):
    domain = domain_of(*sizes)
    margins = [domain.margin(f"a{at % len(sizes)}" for at in one) for one in sets]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covers, "_GREEDY_MARGINS", 0 if many else 20_000)
        patch.setattr(covers, "MERGED_CELLS", 60)
        tables = cover(domain, margins)
    assert all(any(set(margin) <= set(table) for table in tables) for margin in margins)
    assert maximal(tables) == tables
    assert passes(domain, tables) <= passes(domain, maximal(margins))
    assert all(domain.cells(table) <= 60 or table in margins for table in tables)


def test_cover_merges_many_margins_into_few_tables():
    domain = Domain(tuple(Attribute(f"a{place}", ("0", "1")) for place in range(40)))
    margins = list(combinations(domain.names, 3))
    tables = cover(domain, margins)
    assert len(tables) < len(margins) / 20
    assert all(domain.cells(table) <= 2**15 for table in tables)
    held = [set(table) for table in tables]
    assert all(any(set(margin) <= table for table in held) for margin in margins[::97])


def test_thousands_of_margins_that_share_nothing_are_each_looked_at_once():
    """A cover looks only at margins that share an attribute with the table that grows."""
    domain = domain_of(*[2] * 3000)
    waiting = covers._Waiting(domain, [(3 * at, 3 * at + 1, 3 * at + 2) for at in range(1000)])
    looked = 0

    class Rows(dict):
        def __getitem__(self, place):
            nonlocal looked
            looked += len(super().__getitem__(place))
            return super().__getitem__(place)

    waiting._rows = Rows(waiting._rows)
    tables = [waiting.table_from(row) for row in range(1000) if waiting.alive[row]]
    assert len(tables) == 1000
    assert looked == 3000
