from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from margrave.algebra.domain import Attribute, Domain
from margrave.spec.workload import Wanted, count_margins, expand_workload

DOMAIN = Domain(tuple(Attribute(name, ("0", "1")) for name in "dacb"))
MARGINS = [margin for size in range(5) for margin in combinations(DOMAIN.names, size)]


@given(st.lists(st.sampled_from(MARGINS), unique=True), st.integers(0, 4))
def test_expansion_is_canonical_and_complete(listed: list[tuple[str, ...]], ways: int) -> None:
    tables = tuple(Wanted(margin, Fraction(3)) for margin in listed)
    workload = expand_workload(DOMAIN, tables, ways)
    wanted = [margin for margin in MARGINS if margin in listed or 1 <= len(margin) <= ways]
    assert [table.margin for table in workload] == wanted
    assert all(table.weight == (3 if table.margin in listed else 1) for table in workload)


@given(st.integers(0, 4))
def test_count(ways: int) -> None:
    assert count_margins(len(DOMAIN), ways) == len(expand_workload(DOMAIN, (), ways))
