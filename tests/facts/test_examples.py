"""The worked examples of the paper on exact cuboids in a noisy data cube, as far as they are about neighbours."""

from itertools import combinations_with_replacement
from time import monotonic

import numpy as np
import pytest

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.query import Query
from margrave.facts.facts import Facts
from margrave.facts.moves.graver import graver_basis
from margrave.facts.moves.primitive import is_primitive
from margrave.facts.price import query_sensitivity
from margrave.facts.sensitivity import induced_sensitivity
from tests.facts.oracle import fact_matrix, facts_of

SEX = Attribute("sex", ("M", "F"))
AGE = Attribute("age", ("0-10", "11-20", "21-30", "31-40", "41-50", "51-60", "60+"))
SALARY = Attribute("salary", ("0-10k", "10-50k", "50-200k", "200-500k", "500k+"))
DOMAIN = Domain((SEX, AGE, SALARY))
RECORDS = [
    ("F", "21-30", "10-50k"),
    ("F", "21-30", "10-50k"),
    ("F", "31-40", "50-200k"),
    ("F", "41-50", "500k+"),
    ("M", "21-30", "10-50k"),
    ("M", "21-30", "50-200k"),
    ("M", "31-40", "50-200k"),
    ("M", "60+", "500k+"),
]


def table_of(domain, records):
    table = np.zeros(domain.shape(), dtype=np.int64)
    for record in records:
        table[tuple(attribute.code(value) for attribute, value in zip(domain, record, strict=True))] += 1
    return table


def moves_of(sizes, text):
    matrix = fact_matrix(facts_of(sizes, text))
    return matrix, graver_basis(matrix, monotonic() + 60)


def test_example_2_1():
    table = table_of(DOMAIN, RECORDS)
    assert table.sum(axis=0)[AGE.code("21-30"), SALARY.code("10-50k")] == 3
    assert table.sum(axis=(0, 1)).tolist() == [0, 3, 3, 0, 2]
    assert table.sum(axis=(0, 2)).tolist() == [0, 0, 4, 2, 1, 0, 1]


@pytest.mark.parametrize("values", [2, 5, 9])
def test_example_3_1(values):
    """Sums of consecutive counts leave one move, in which every count changes by one: S is the number of values."""
    matrix = np.eye(values - 1, values, dtype=np.int64) + np.eye(values - 1, values, 1, dtype=np.int64)
    moves = graver_basis(matrix, monotonic() + 60)
    assert np.abs(moves).tolist() == [[1] * values]


def test_example_3_2():
    """Age and salary are public: one record changes its sex, or two swap their ages."""
    facts = Facts(DOMAIN, (("age",), ("salary",)))
    matrix = fact_matrix(facts)
    table = table_of(DOMAIN, RECORDS)
    sex = table_of(DOMAIN, [("M", *RECORDS[0][1:]), *RECORDS[1:]]) - table
    swapped = [*RECORDS[:2], ("F", "41-50", "50-200k"), ("F", "31-40", "500k+"), *RECORDS[4:]]
    swap = table_of(DOMAIN, swapped) - table
    for move, norm in ((sex, 2), (swap, 4)):
        assert not (matrix @ move.ravel()).any()
        assert np.abs(move).sum() == norm
    assert induced_sensitivity(facts, notion="markov").value == 4
    assert induced_sensitivity(facts).value == 10


def test_example_3_3():
    """Three records on a diagonal of 3×3 move on together when one cell is impossible. As printed, b₁ appears twice."""
    matrix, basis = moves_of((3, 3), "a+b")
    before, after = np.eye(3, dtype=np.int64), np.roll(np.eye(3, dtype=np.int64), 1, axis=0)
    move = (after - before).ravel()
    assert not (matrix @ move).any()
    assert np.abs(move).sum() == 6
    assert any(np.array_equal(abs(row), abs(move)) and abs(row @ move) == 6 for row in basis)
    assert is_primitive(move, basis)
    impossible = 1  # the cell (a₁, b₂) written as row 0, column 1
    leave = [row for row in (*basis, *-basis) if row[0] < 0 and row[3] > 0 and not row[impossible]]
    possible = [row for row in leave if (before.ravel() + row >= 0).all()]
    assert [row.tolist() for row in possible] == [move.tolist()]


def test_example_3_4():
    """(a₁,b₁,c₁) to (a₁,b₂,c₃) among three records of a 3×3×3 table takes all three: a positive neighbour."""
    matrix = fact_matrix(facts_of((3, 3, 3), "a+b+c"))
    move = np.zeros((3, 3, 3), dtype=np.int64)
    for value in range(3):
        move[value, value, value] -= 1
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        move[a, b, c] += 1
    assert not (matrix @ move.ravel()).any()
    taken, changed = (0, 0, 0), (0, 1, 2)
    nearer = [other for other in tables_of_three(matrix, move) if other[taken] < 0 < other[changed]]
    assert min(np.abs(other).sum() for other in nearer) == 6
    assert any(np.array_equal(other, move) for other in nearer)


def tables_of_three(matrix, move):
    """Differences to all tables with the facts of the records that the move takes."""
    start = np.maximum(-move, 0)
    wanted = matrix @ start.ravel()
    for chosen in combinations_with_replacement(range(27), 3):
        table = np.bincount(chosen, minlength=27)
        if np.array_equal(matrix @ table, wanted):
            yield table.reshape(3, 3, 3) - start


def test_example_4_1():
    facts = Facts(DOMAIN, (("sex", "age"), ("age", "salary")))
    assert induced_sensitivity(facts).value == 4


def test_three_cuboids_on_small_tables():
    """The paper prints 6 for 2×2×3; it is 8, by the move between these two sets of four records."""
    assert [induced_sensitivity(facts_of((2, 2, k), "a+b+c")).value for k in (2, 3, 4)] == [6, 8, 8]
    matrix, basis = moves_of((2, 2, 3), "a+b+c")
    move = np.zeros((2, 2, 3), dtype=np.int64)
    for cell in ((0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 1, 2)):
        move[cell] -= 1
    for cell in ((0, 0, 2), (0, 1, 0), (0, 1, 0), (1, 0, 1)):
        move[cell] += 1
    assert not (matrix @ move.ravel()).any()
    assert is_primitive(move.ravel(), basis)


def test_the_part_of_a_cuboid_that_a_move_reaches_may_be_small():
    """The paper bounds S of any cuboid below by half that of the base table, which fails for three cuboids."""
    facts = facts_of((2, 2, 2, 2), "a+bc+bd")
    assert induced_sensitivity(facts).value == 12
    assert query_sensitivity(facts, Query(("a", "c"))) == (4, 4)


def test_one_move_touches_both_parts_of_a_data_set():
    """Parallel composition fails: with {a} and {b} public, no part of a move stays among the records with a = 0."""
    _, basis = moves_of((2, 2), "a+b")
    assert all(move.reshape(2, 2).any(axis=1).all() for move in basis)
