"""Slow results on disk: found again, and never believed when they are not what they claim to be."""

import json
from time import monotonic

import numpy as np
import pytest

from margrave.facts.moves import bases
from margrave.facts.moves.cache import folder, load_basis, store_basis
from margrave.facts.moves.graver import OutOfTime, graver_basis
from tests.facts.oracle import fact_matrix, facts_of


@pytest.fixture
def stored():
    matrix = fact_matrix(facts_of((2, 2, 2), "a+b+c"))
    moves = graver_basis(matrix, np.inf)
    store_basis(matrix, moves)
    return matrix, moves


def test_a_stored_basis_is_found_again(stored):
    matrix, moves = stored
    assert np.array_equal(load_basis(matrix), moves)
    assert load_basis(matrix[:-1]) is None
    assert [path.suffix for path in folder().iterdir()] == [".json"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content | {"version": 0},
        lambda content: content | {"key": "0"},
        lambda content: content | {"moves": content["moves"][:5]},
        lambda content: content | {"moves": [[1] * 8]},
        lambda content: content | {"check": "0"},
        lambda content: {},
        lambda content: [],
    ],
)
def test_a_spoilt_file_is_not_used(stored, spoil):
    path = next(folder().iterdir())
    path.write_text(json.dumps(spoil(json.loads(path.read_text()))))
    assert load_basis(stored[0]) is None
    path.write_text("{")
    assert load_basis(stored[0]) is None


def test_a_long_move_that_is_a_sum_gives_the_file_away(stored):
    matrix, moves = stored
    store_basis(matrix, np.concatenate([moves, 3 * moves[:1]]))
    assert load_basis(matrix) is None


def test_a_folder_that_cannot_be_written_is_no_error(stored, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MARGRAVE_CACHE", str(tmp_path / "file"))
    store_basis(*stored)
    assert load_basis(stored[0]) is None


def test_slow_results_are_stored_and_used(monkeypatch):
    matrix = fact_matrix(facts_of((3, 3, 3), "ab+bc+ac"))
    monkeypatch.setattr(bases, "_SLOW", -1.0)
    monkeypatch.setattr(bases, "_memory", {})
    moves = bases.basis_of(matrix, np.inf)
    monkeypatch.setattr(bases, "_memory", {})
    monkeypatch.setattr(bases, "graver_basis", None)
    monkeypatch.setattr(bases, "program", lambda: None)
    assert np.array_equal(bases.basis_of(matrix, np.inf), moves)


def test_what_was_tried_in_vain_is_not_tried_again(monkeypatch):
    matrix = fact_matrix(facts_of((3, 3, 3), "a+b+c"))
    monkeypatch.setattr(bases, "_in_vain", {})
    monkeypatch.setattr(bases, "program", lambda: None)
    with pytest.raises(OutOfTime):
        bases.basis_of(matrix, monotonic() + 0.3)
    monkeypatch.setattr(bases, "graver_basis", None)
    with pytest.raises(OutOfTime):
        bases.basis_of(matrix, monotonic() + 0.2)


def test_the_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("MARGRAVE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder() == tmp_path / "margrave"
