"""The three notions of induced neighbours: their definitions by brute force, and which holds which."""

from itertools import combinations_with_replacement
from time import monotonic

import numpy as np
import pytest

from margrave.algebra.junctions import is_decomposable
from margrave.facts.moves.graver import graver_basis
from margrave.facts.moves.notions import markov_moves, positive_moves
from margrave.facts.sensitivity import induced_sensitivity
from tests.facts.oracle import fact_matrix, facts_of, largest

CASES = [
    ((2, 2, 2), "a+b+c", (6, 6, 4)),
    ((2, 2, 3), "a+b+c", (8, 6, 4)),
    ((3, 3), "a+b", (6, 6, 4)),
    ((4, 4), "a+b", (8, 6, 4)),
    ((2, 2, 2), "ab+bc+ac", (8, 8, 8)),
    ((2, 2, 2, 2), "a+bc+bd", (12, 10, 4)),
    ((2, 2, 2, 2), "ab+bc+cd", (10, 10, 4)),
    ((2, 2, 2, 2), "ab+bc+cd+ad", (10, 10, 8)),
    ((2, 2, 2, 2), "a+bc+bd+cd", (14, 10, 8)),
    ((2, 2, 2, 2), "ab+ac+ad+bc+bd+cd", (18, 18, 12)),
    ((3, 3, 3), "ab+bc+ac", (24, 20, 12)),
]


def bases(sizes, text):
    matrix = fact_matrix(facts_of(sizes, text))
    basis = graver_basis(matrix, monotonic() + 60)
    return matrix, basis, positive_moves(basis, monotonic() + 60), markov_moves(basis, monotonic() + 60)


def as_set(moves):
    return {tuple(move) for move in moves.tolist()}


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "text", "values"), CASES)
def test_each_notion_holds_the_next(sizes, text, values):
    _, basis, positive, markov = bases(sizes, text)
    assert as_set(markov) <= as_set(positive) <= as_set(basis)
    assert (largest(basis), largest(positive), largest(markov)) == values
    facts = facts_of(sizes, text)
    assert tuple(induced_sensitivity(facts, notion=n).value for n in ("worst-case", "positive", "markov")) == values


@pytest.mark.slow
def test_binary_markov_bases_have_their_known_sizes():
    assert len(bases((2, 2, 2, 2), "ab+bc+cd+ad")[3]) == 16
    assert len(bases((2, 2, 2, 2), "ab+ac+ad+bc+bd+cd")[3]) == 60
    assert len(bases((3, 3, 3), "ab+bc+ac")[3]) == 81


@pytest.mark.parametrize(
    ("sizes", "text", "records"), [((3, 3), "a+b", 3), ((2, 2, 2), "a+b+c", 3), ((2, 2, 2), "ab+bc+ac", 4)]
)
def test_markov_moves_connect_all_tables_with_the_same_facts(sizes, text, records):
    matrix, _, _, markov = bases(sizes, text)
    both = np.concatenate([markov, -markov])
    for fibre in fibres(matrix, records):
        reached, queue = {fibre[0]}, [fibre[0]]
        while queue:
            for other in map(tuple, (np.array(queue.pop()) + both).tolist()):
                if min(other) >= 0 and other not in reached:
                    reached.add(other)
                    queue.append(other)
        assert reached == set(fibre)


def fibres(matrix, records):
    found = {}
    for chosen in combinations_with_replacement(range(matrix.shape[1]), records):
        table = np.bincount(chosen, minlength=matrix.shape[1])
        found.setdefault((matrix @ table).tobytes(), []).append(tuple(table.tolist()))
    return list(found.values())


@pytest.mark.parametrize(("sizes", "text"), [((4, 4), "a+b"), ((2, 2, 3), "a+b+c")])
def test_positive_moves_are_the_shortest_repairs(sizes, text):
    """From the records that a move takes, by looking at every table with the same facts."""
    matrix, basis, positive, _ = bases(sizes, text)
    kept = as_set(positive)
    tables = {}
    for records in range(1, np.maximum(basis, 0).sum(axis=1).max() + 1):
        for fibre in fibres(matrix, records) if matrix.shape[1] <= 12 or records <= 4 else ():
            for table in fibre:
                tables[table] = fibre
    for move in basis:
        assert (tuple(move.tolist()) in kept) == (shortest(move, tables) or shortest(-move, tables))


def shortest(move, tables):
    """Whether for some x taken and y put no table with the same facts that lacks an x and has a y more is nearer."""
    start = np.maximum(-move, 0)
    changes = np.array(tables[tuple(start.tolist())]) - start
    norms = np.abs(changes).sum(axis=1)
    nearer = changes[norms < np.abs(move).sum()]
    return any(
        not ((nearer[:, x] < 0) & (nearer[:, y] > 0)).any()
        for x in np.nonzero(move < 0)[0]
        for y in np.nonzero(move > 0)[0]
    )


def test_changing_to_any_value_may_take_more_than_one_step():
    """With {b} public, one record can change b only if another does: a sum of two moves, in no notion a single step."""
    matrix, basis, positive, markov = bases((2, 2), "b")
    assert largest(basis) == largest(positive) == largest(markov) == 2
    changes = np.array(list(np.ndindex(3, 3, 3, 3))) - 1
    literal = changes[~(matrix @ changes.T).any(axis=0) & (changes[:, 0] < 0) & (changes[:, 3] > 0)]
    assert literal.tolist() == [[-1, -1, 1, 1]]  # (0,0) to (1,1) and (0,1) to (1,0): norm 4


@pytest.mark.parametrize(
    ("margins", "expected"),
    [
        (((0,), (1,), (2,)), True),
        (((0, 1), (1, 2)), True),
        (((0, 1), (1, 2), (0, 2)), False),
        (((0, 1), (1, 2), (2, 3), (0, 3)), False),
        (((0, 1, 2), (1, 2, 3), (3, 4)), True),
    ],
)
def test_decomposable(margins, expected):
    assert is_decomposable(margins) is expected


def test_three_disjoint_facts_of_any_size_have_swaps_as_markov_basis():
    assert induced_sensitivity(facts_of((7, 8, 9), "a+b+c"), notion="markov").value == 4
    assert induced_sensitivity(facts_of((7, 8, 9), "ab+bc"), notion="positive").value == 6
    assert induced_sensitivity(facts_of((2, 7, 8), "ab+bc"), notion="positive").value == 4


def test_in_a_large_table_a_markov_move_need_not_be_a_shortest_way():
    """The inclusion of markov in positive is one of moves, not of the neighbours of each single table."""
    _, basis, _, markov = bases((2, 2, 2, 2), "ab+bc+cd+ad")
    both = np.concatenate([basis, -basis])
    norms = np.abs(both).sum(axis=1)

    def shorter(move, x, y):
        return ((both[:, x] < 0) & (both[:, y] > 0) & (norms < np.abs(move).sum())).any()

    pairs = [[shorter(move, x, y) for x in np.nonzero(move < 0)[0] for y in np.nonzero(move > 0)[0]] for move in markov]
    assert any(all(everywhere) for everywhere in pairs)
