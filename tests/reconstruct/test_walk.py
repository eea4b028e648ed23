"""Tables of counts with given margins, found by a walk that does not depend on the machine."""

from itertools import combinations

import numpy as np
import pytest

from margrave.algebra.domain import Attribute, Domain
from margrave.reconstruct import exact
from margrave.reconstruct.exact import ExactCounts, NotKept
from margrave.reconstruct.walk import walked


def summed(table, domain, margin):
    return table.sum(axis=tuple(axis for axis, name in enumerate(domain.names) if name not in margin))


def case(shape, records, order, seed=0):
    """Margins of made-up records."""
    random, cells = np.random.default_rng(seed), int(np.prod(shape))
    chosen = random.choice(cells, size=records, p=random.dirichlet(np.full(cells, 0.3)))
    table = np.bincount(chosen, minlength=cells).reshape(shape)
    domain = Domain(tuple(Attribute(f"x{axis:02}", tuple(map(str, range(size)))) for axis, size in enumerate(shape)))
    return domain, {margin: summed(table, domain, margin) for margin in combinations(domain.names, order)}


@pytest.mark.parametrize(
    ("shape", "records", "order"),
    [((2,) * 10, 500, 2), ((2,) * 12, 1000, 2), ((4, 4, 3, 4, 4), 2000, 2), ((3, 2, 1, 4), 80, 2), ((2,) * 6, 400, 3)],
)
def test_tables_with_all_given_margins_are_found(shape, records, order):
    domain, tables = case(shape, records, order)
    near = exact.raked(ExactCounts(domain, tables), np.full(shape, records / np.prod(shape)))
    found = walked(domain, tables, near, None)
    assert found is not None and found.min() >= 0
    for margin, counts in tables.items():
        assert (summed(found, domain, margin) == counts).all()
    assert (walked(domain, tables, near, None) == found).all()


def test_impossible_cells_stay_empty():
    domain, tables = case((2, 2, 2), 0, 2)
    possible = np.ones((2, 2, 2), dtype=bool)
    possible[0, 0, 0] = False
    table = np.where(possible, 3, 0)
    tables = {margin: summed(table, domain, margin) for margin in tables}
    found = walked(domain, tables, table + 0.0, possible)
    assert found is not None and found[0, 0, 0] == 0
    assert walked(domain, tables, np.full((2, 2, 2), 21 / 8), ~possible) is None


def test_a_walk_that_finds_nothing_ends(monkeypatch):
    """Pairs that no table of counts has: what may be left is left, and what must be kept goes to the program."""
    monkeypatch.setattr("margrave.reconstruct.walk.STEPS", 50)
    monkeypatch.setattr(exact, "_LARGE", 4)
    domain, _ = case((2, 2, 2), 0, 2)
    same, other = np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]])
    tables = dict(zip(combinations(domain.names, 2), (same, other, same), strict=True))
    near = np.full((2, 2, 2), 0.25)
    with pytest.raises(NotKept, match="a walk"):
        ExactCounts(domain, tables, optional=True).core(near)
    with pytest.raises(NotKept, match="contradict"):
        ExactCounts(domain, tables).core(near)
