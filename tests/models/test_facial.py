"""The facial set: against enumeration, against one linear program per cell, and its certificate."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from margrave.errors import RefusedError
from margrave.models import facial
from margrave.models.facial import face
from margrave.models.model import Model


def positive_one_by_one(model, counts):
    """The face by its definition: the cells that some non-negative table with the same margins makes positive."""
    matrix = model.incidence()
    found = []
    for cell in range(counts.size):
        goal = np.zeros(counts.size)
        goal[cell] = -1.0
        answer = linprog(goal, A_eq=matrix, b_eq=matrix @ counts.ravel(), bounds=(0, None))
        found.append(-answer.fun > 1e-7)
    return np.array(found).reshape(counts.shape)


def assert_certified(model, counts, found):
    """The normal is in the span of the generators' cells, zero on the face and at least one outside."""
    assert found.cells[counts > 0].all()
    np.testing.assert_allclose(found.normal[found.cells], 0, atol=1e-6)
    assert found.normal[~found.cells].min(initial=1.0) >= 1 - 1e-6
    basis = model.basis()
    flat = found.normal.ravel()
    projected = basis @ np.linalg.lstsq(basis, flat, rcond=None)[0]
    np.testing.assert_allclose(projected, flat, atol=1e-5)


@pytest.mark.slow
def test_all_supports_of_two_by_two_by_two(letters):
    """Tables with the same two-way margins differ by a multiple of the parity, so the face is known by inspection."""
    model = Model.parse("[AB][BC][AC]", letters(2, 2, 2))
    parity = np.indices((2, 2, 2)).sum(axis=0) % 2
    for pattern in product([0.0, 1.0], repeat=8):
        counts = np.array(pattern).reshape(2, 2, 2)
        if not counts.any():
            continue
        stuck = {int(side) for side in parity[counts == 0]} == {0, 1}
        found = face(model, counts)
        np.testing.assert_array_equal(found.cells, counts > 0 if stuck else np.ones((2, 2, 2), dtype=bool))
        assert_certified(model, counts, found)


@pytest.mark.slow
def test_whole_tables_by_enumeration(letters):
    """Every whole table with twice the margins of a small one, listed: the union of supports is the face."""
    model = Model.parse("[AB][BC][AC]", letters(2, 2, 2))
    rng = np.random.default_rng(8)
    matrix = model.incidence()
    everything = np.array(list(product(range(4), repeat=8)))
    margins = everything @ matrix.T.toarray()
    for _ in range(40):
        counts = (rng.random((2, 2, 2)) < 0.6).astype(float)
        same = (margins == matrix @ (2 * counts.ravel())).all(axis=1)
        union = (everything[same] > 0).any(axis=0).reshape(2, 2, 2)
        if counts.any():
            np.testing.assert_array_equal(face(model, counts).cells, union)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("[AB][BC][AC]", (3, 3, 3)),
        ("[AB][BC][AC]", (2, 3, 4)),
        ("[AB][BC][CD][AD]", (2, 2, 2, 2)),
        ("[ABC][AD][BD][CD]", (2, 2, 2, 2)),
        ("[AB][AC][BC][D]", (2, 2, 2, 2)),
        ("[AB][BC]", (3, 2, 3)),
        ("[AB][C]", (2, 2, 3)),
    ],
)
def test_against_one_program_per_cell(text, sizes, letters):
    model = Model.parse(text, letters(*sizes))
    rng = np.random.default_rng(len(text) + sum(sizes))
    partial = 0
    for density in (0.35, 0.5, 0.5, 0.6, 0.7, 0.8):
        counts = (rng.random(sizes) < density) * rng.integers(1, 5, sizes).astype(float)
        found = face(model, counts)
        np.testing.assert_array_equal(found.cells, positive_one_by_one(model, counts))
        assert_certified(model, counts, found)
        partial += not found.whole
    assert partial


@pytest.mark.slow
def test_faces_of_the_bundled_tables_are_certified(bundled):
    for name in ("fungus", "czech", "rochdale", "journey"):
        model, table = bundled(name)
        counts = table.counts.astype(float)
        found = face(model, counts)
        assert found.whole == (name == "czech")
        assert_certified(model, counts, found)


def test_scaling_does_not_move_the_face(bundled):
    model, table = bundled("journey")
    counts = table.counts.astype(float)
    for factor in (1e-6, 1 / 3, 1e6):
        np.testing.assert_array_equal(face(model, counts * factor).cells, face(model, counts).cells)


def test_a_program_that_is_too_large_is_refused(monkeypatch, bundled):
    monkeypatch.setattr(facial, "LARGEST_PROGRAM", 10)
    model, table = bundled("journey")
    with pytest.raises(RefusedError, match="over the limit"):
        face(model, table.counts.astype(float))


def test_an_unsolved_program_is_refused(monkeypatch, bundled):
    class Unsolved:
        status, message = 1, "iteration limit"

    monkeypatch.setattr(facial, "linprog", lambda *_, **__: Unsolved())
    model, table = bundled("journey")
    with pytest.raises(RefusedError, match="not solved"):
        face(model, table.counts.astype(float))


def test_a_wrong_certificate_is_refused(letters):
    model = Model.parse("[AB][BC][AC]", letters(2, 2, 2))
    cells = np.ones(8, dtype=bool)
    cells[0] = False
    with pytest.raises(RefusedError, match="certified"):
        facial._certify(model, np.zeros(8), cells, np.ones(8, dtype=bool))
