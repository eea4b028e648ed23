"""Bounds from the facts alone, against every table that has them."""

import numpy as np
import pytest

from margrave.errors import RefusedError, UsageError
from margrave.facts.bounds import bounds_from_facts
from margrave.facts.facts import Facts
from tests.facts.oracle import fact_matrix, facts_of
from tests.shapes import domain_of


def margin_of(domain, table, margin):
    return table.sum(axis=tuple(axis for axis, name in enumerate(domain.names) if name not in margin))


def values_of(facts, table):
    values = {margin: margin_of(facts.domain, table, margin) for margin in facts.margins}
    for margin, cell in facts.cells:
        values[margin, cell] = int(margin_of(facts.domain, table, margin)[tuple(map(int, cell))])
    return values


def tables_with(facts, table):
    """Every table with the same facts, by brute force."""
    matrix = fact_matrix(facts)
    others = np.indices((int(table.sum()) + 1,) * table.size).reshape(table.size, -1)
    same = (matrix @ others == (matrix @ table.ravel())[:, None]).all(axis=0)
    return others[:, same].T.reshape(-1, *table.shape)


@pytest.mark.parametrize(
    ("sizes", "text", "cells"),
    [
        ((2, 3), "a+b", []),
        ((2, 2, 2), "ab+bc", []),
        ((2, 2, 2), "ab+c", []),
        ((2, 2, 2), "a+b+c", []),
        ((2, 2, 2), "ab+bc+ac", []),
        ((2, 3), "a", [{"b": 0}, {"a": 0, "b": 1}]),
    ],
)
def test_bounds_are_sharp(sizes, text, cells):
    facts = facts_of(sizes, text, cells)
    generator = np.random.default_rng(2)
    for records in (2, 3):
        table = generator.multinomial(records, np.ones(np.prod(sizes)) / np.prod(sizes)).reshape(sizes)
        others = tables_with(facts, table)
        found = bounds_from_facts(facts, values_of(facts, table))
        assert found.sharp
        assert np.array_equal(found.low, others.min(axis=0))
        assert np.array_equal(found.high, others.max(axis=0))


def test_bounds_of_a_smaller_table():
    facts = facts_of((2, 2, 2), "a+b")
    values = {("a",): [3, 1], ("b",): [0, 4]}
    found = bounds_from_facts(facts, values, margin=("a", "c"))
    assert found.low.tolist() == [[0, 0], [0, 0]]
    assert found.high.tolist() == [[3, 3], [1, 1]]
    assert not found.warnings


def test_a_warning_where_bounds_meet():
    found = bounds_from_facts(facts_of((2, 2), "a+b"), {("a",): [2, 3], ("b",): [0, 5]})
    assert found.revealed.all()
    assert found.warnings == ("the public facts alone give away 4 of 4 cells of {a, b}, 1 of them counts of 1 or 2",)


def test_values_that_contradict_each_other():
    with pytest.raises(UsageError, match="contradict"):
        bounds_from_facts(facts_of((2, 2), "a+b"), {("a",): [2, 3], ("b",): [0, 4]})
    triangle = facts_of((2, 2, 2), "ab+bc+ac")
    even, odd = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    with pytest.raises(UsageError, match="contradict"):
        bounds_from_facts(triangle, {("a", "b"): even, ("b", "c"): even, ("a", "c"): odd})


def test_values_that_are_no_counts_or_missing():
    facts = facts_of((2, 2), "a", [{"b": 0}])
    cell = (("b",), ("0",))
    for wrong in ([1, -1], [0.5, 0.5], [1, 2, 3]):
        with pytest.raises(UsageError, match="needs 2 counts"):
            bounds_from_facts(facts, {("a",): wrong, cell: 1})
    with pytest.raises(UsageError, match="missing"):
        bounds_from_facts(facts, {cell: 1})
    with pytest.raises(UsageError, match="missing"):
        bounds_from_facts(facts, {("a",): [1, 2]})
    with pytest.raises(UsageError, match="give the total"):
        bounds_from_facts(facts_of((2, 2), "", [{"b": 0}]), {cell: 1})


def test_too_many_cells_are_refused():
    domain = domain_of(10, 10, 10)
    facts = Facts(domain, (("a", "b"), ("b", "c"), ("a", "c")))
    values = {margin: np.ones((10, 10), dtype=int) for margin in facts.margins}
    with pytest.raises(RefusedError, match="integer programs"):
        bounds_from_facts(facts, values)
