"""Sensitivities that are looked up: each has a move of its norm without a proper part, and is found again by 4ti2."""

import os
from time import monotonic

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from margrave.facts.moves.external import external_basis, program
from margrave.facts.moves.known import KNOWN
from margrave.facts.moves.reductions import reduce_axes
from margrave.facts.sensitivity import induced_sensitivity
from tests.facts.oracle import facts_of

LONGEST = {
    (3, 3, 3): {2: 1, 3: -4, 4: 3, 9: 2, 17: -2, 19: -3, 23: 1, 24: 2},
    (2, 2, 2, 3): {4: 1, 6: -4, 8: 3, 12: 2, 17: -3, 19: -1, 21: 2},
    (2, 2, 2, 4): {
        0: 1, 1: -1, 6: -1, 7: 1, 9: 1, 11: -1, 12: -1, 14: 1, 16: -2, 17: 1, 18: 1, 20: 1, 23: -1, 24: 2, 25: -1,
        26: -1, 28: -1, 31: 1,
    },
}  # fmt: skip
"""By shape: the cells of a longest move, with the records put there (taken, if negative)."""


def has_a_part(matrix, move):
    """Whether a proper non-zero part of a move keeps the facts too: a program in whole numbers says so."""
    cells = np.flatnonzero(move)
    signed = matrix[:, cells] * np.sign(move[cells])
    size = np.abs(move[cells])
    inside = [
        LinearConstraint(signed, 0, 0),
        LinearConstraint(np.ones((1, len(cells))), 1, size.sum() - 1),
    ]
    found = milp(np.zeros(len(cells)), constraints=inside, integrality=np.ones(len(cells)), bounds=Bounds(0, size))
    assert found.status in (0, 2)
    return found.status == 0


@pytest.mark.parametrize("core", KNOWN, ids=str)
def test_a_move_of_the_norm_has_no_proper_part(core):
    move = np.zeros(core.cells, dtype=np.int64)
    for cell, records in LONGEST[core.shape].items():
        move[cell] = records
    assert not (core.matrix @ move).any()
    assert np.abs(move).sum() == KNOWN[core][0]
    assert not has_a_part(core.matrix, move)
    swap = np.zeros_like(move)
    swap[:4] = 1, -1, 0, 0
    assert has_a_part(np.ones((1, core.cells), dtype=np.int64), 2 * swap)


@pytest.mark.parametrize("core", KNOWN, ids=str)
def test_cores_are_written_as_reductions_write_them(core):
    assert reduce_axes(core.shape, core.margins) == (False, core)


@pytest.mark.parametrize(
    ("sizes", "text", "value"),
    [
        ((3, 3, 3), "a+b+c", 18),
        ((2, 2, 2, 3), "a+b+c+d", 16),
        ((3, 2, 2, 2), "a+b+c+d", 16),
        ((2,) * 5, "abc+bde+acd", 20),
    ],
)
def test_what_is_known_is_not_computed(sizes, text, value):
    found = induced_sensitivity(facts_of(sizes, text), time_limit=0.01)
    assert (found.value, found.exact) == (value, True)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("MARGRAVE_SOAK") or program() is None, reason="takes minutes, and needs 4ti2")
@pytest.mark.parametrize("core", KNOWN, ids=str)
def test_4ti2_finds_the_same_again(core):
    moves = external_basis(core.matrix, monotonic() + 7200)
    assert (int(np.abs(moves).sum(axis=1).max()), len(moves)) == KNOWN[core]
