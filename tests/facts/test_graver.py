"""Graver bases: against tables one by one, against their defining property, and against 4ti2."""

from time import monotonic

import numpy as np
import pytest

from margrave.facts.moves.external import external_basis, program
from margrave.facts.moves.graver import OutOfTime, graver_basis, unique_up_to_sign
from margrave.facts.moves.kernel import kernel_basis
from margrave.facts.moves.primitive import is_primitive
from tests.facts.oracle import fact_matrix, facts_of, neighbours_by_tables

MODELS = [
    ((2, 2, 2), "a+b+c"),
    ((2, 2, 2), "ab+c"),
    ((2, 2, 2), "ab+bc+ac"),
    ((2, 2, 3), "a+b+c"),
    ((3, 3), "a+b"),
    ((2, 2, 2, 2), "a+bc+bd"),
    ((2, 2, 2, 2), "ab+bc+cd+ad"),
    ((2, 2, 2, 2), "ab+ac+ad+bc+bd+cd"),
    ((2, 2, 2, 2), "a+b+c+d"),
    ((3, 3, 3), "ab+bc+ac"),
]


def soon(seconds=60):
    return monotonic() + seconds


def as_set(moves):
    return {tuple(move) for move in unique_up_to_sign(moves).tolist()} if len(moves) else set()


@pytest.mark.parametrize(
    ("sizes", "text", "records"),
    [
        ((2, 2, 2), "a+b+c", 4),
        ((2, 2, 2), "ab+c", 4),
        ((2, 2, 2), "ab+bc+ac", 5),
        ((2, 2, 3), "a+b+c", 5),
        ((3, 3), "a+b", 4),
    ],
)
def test_the_basis_is_the_induced_neighbours_found_table_by_table(sizes, text, records):
    matrix = fact_matrix(facts_of(sizes, text))
    basis = graver_basis(matrix, soon())
    degrees = np.maximum(basis, 0).sum(axis=1)
    assert degrees.max() < records
    for size in range(1, records + 1):
        assert as_set(neighbours_by_tables(matrix, size)) == as_set(basis[degrees == size])


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "text"), MODELS)
def test_every_move_is_a_sum_of_parts_and_no_element_has_one(sizes, text):
    matrix = fact_matrix(facts_of(sizes, text))
    basis = graver_basis(matrix, soon())
    assert not (matrix @ basis.T).any()
    both = np.concatenate([basis, -basis])
    generator = np.random.default_rng(1)
    for row in generator.integers(len(basis), size=40):
        assert is_primitive(basis[row], basis)
    lattice = kernel_basis(matrix)
    for _ in range(150):
        move = generator.integers(-3, 4, size=len(lattice)) @ lattice
        while move.any():
            parts = both[((both * move >= 0) & (np.abs(both) <= np.abs(move))).all(axis=1)]
            assert len(parts), "a move without a part in the basis"
            move = move - parts[0]


def test_a_lattice_without_unit_pivots():
    matrix = np.array([[2, 3, 5]])
    moves = as_set(graver_basis(matrix, soon()))
    assert moves == {(3, -2, 0), (5, 0, -2), (0, 5, -3), (1, 1, -1), (4, -1, -1), (1, -4, 2), (2, -3, 1)}


def test_the_kernel_basis_spans_the_whole_lattice():
    basis = kernel_basis(np.array([[2, 4, 6]]))
    assert basis.shape == (2, 3)
    minors = [round(np.linalg.det(basis[:, [a, b]].astype(float))) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert np.gcd.reduce(minors) == 1


def test_time_is_limited():
    with pytest.raises(OutOfTime):
        graver_basis(fact_matrix(facts_of((3, 3, 3), "a+b+c")), soon(0.2))


@pytest.mark.skipif(program() is None, reason="4ti2 is not installed")
@pytest.mark.parametrize(("sizes", "text"), MODELS)
def test_4ti2_finds_the_same(sizes, text):
    matrix = fact_matrix(facts_of(sizes, text))
    assert as_set(external_basis(matrix, soon())) == as_set(graver_basis(matrix, soon()))
