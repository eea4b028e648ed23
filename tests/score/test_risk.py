"""Small cells and bounds: hand-made numbers, enumeration of whole tables, formula against programs, and the errors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from margrave.algebra.table import Table
from margrave.errors import RefusedError, UsageError
from margrave.models.model import Model
from margrave.score import risk
from margrave.score.risk import bounds, frechet_bounds, sharp_bounds, small_cells

pytestmark = pytest.mark.slow


def table(domain, counts):
    return Table(domain, domain.names, np.array(counts))


def test_small_cells_are_counted_cell_by_cell(letters):
    domain = letters(2, 4)
    truth = table(domain, [1, 1, 1, 2, 3, 0, 0, 9])
    released = table(domain, [1, 1.4, 2, 2, 1, 1, 0, 8])
    uniques = small_cells(truth, released)
    assert (uniques.true, uniques.shown, uniques.located, uniques.matched) == (3, 4, 2, 2)
    assert (uniques.recall, uniques.precision) == (2 / 3, 0.5)
    small = small_cells(truth, released, 3)
    assert (small.true, small.shown, small.located, small.matched) == (5, 6, 5, 3)


def test_nothing_small_is_no_risk(letters):
    domain = letters(2)
    none = small_cells(table(domain, [0, 7]), table(domain, [0, 7]))
    assert (none.true, none.recall, none.precision) == (0, 0.0, 0.0)


def test_small_cells_reject_nonsense(letters):
    domain = letters(2)
    whole = table(domain, [1, 2])
    with pytest.raises(UsageError, match="at_most"):
        small_cells(whole, whole, 0)
    with pytest.raises(UsageError, match="whole counts"):
        small_cells(table(domain, [0.5, 2]), whole)
    with pytest.raises(UsageError, match="same attributes"):
        small_cells(whole, table(letters(3), [1, 2, 3]))


def enumerated(model, counts):
    """The bounds over every whole table with the margins, listed."""
    matrix = model.incidence().toarray()
    largest = [int((matrix @ counts)[matrix[:, cell] == 1].min()) for cell in range(len(counts))]
    everything = np.array(list(product(*(range(top + 1) for top in largest))))
    same = everything[(everything @ matrix.T == matrix @ counts).all(axis=1)]
    return same.min(axis=0), same.max(axis=0)


@pytest.mark.parametrize("text", ["[AB][BC]", "[AB][C]", "[A][B][C]", "[AB]", "[AB][BC][AC]"])
def test_bounds_are_those_of_all_whole_tables(text, letters):
    model = Model.parse(text, letters(2, 2, 2))
    rng = np.random.default_rng(len(text))
    for _ in range(8):
        counts = rng.multinomial(5, np.full(8, 1 / 8))
        found = bounds(model, table(model.domain, counts))
        low, high = enumerated(model, counts)
        np.testing.assert_array_equal(found.low.ravel(), low)
        np.testing.assert_array_equal(found.high.ravel(), high)


@pytest.mark.parametrize("text", ["[AB][BC]", "[ABC][CD]", "[AB][CD]", "[A][BC][D]", "[AB][BC][CD]", "[BC]"])
def test_the_formula_agrees_with_the_programs(text, letters):
    model = Model.parse(text, letters(2, 3, 2, 2))
    counts = table(model.domain, np.random.default_rng(9).gamma(0.5, 3.0, 24))
    formula, programs = frechet_bounds(model, counts), sharp_bounds(model, counts)
    np.testing.assert_allclose(formula.low, programs.low, atol=1e-7)
    np.testing.assert_allclose(formula.high, programs.high, atol=1e-7)
    assert formula.sharp


def test_bounds_hold_on_a_bundled_table(bundled):
    model, truth = bundled("rochdale")
    loose, sharp = frechet_bounds(model, truth), bounds(model, truth)
    assert not loose.sharp
    assert (loose.low <= sharp.low).all()
    assert (sharp.low <= truth.counts).all()
    assert (truth.counts <= sharp.high).all()
    assert (sharp.high <= loose.high).all()


def test_exposed_cells_are_small_and_known(letters):
    model = Model.parse("[A][B]", letters(2, 2))
    truth = table(model.domain, [2, 0, 0, 5])
    found = bounds(model, truth)
    assert found.exposed(truth) == 0
    assert found.exposed(truth, width=2) == 1
    known = table(model.domain, [2, 0, 3, 0])
    assert bounds(model, known).exposed(known) == 2
    assert bounds(model, known).exposed(known, at_most=2) == 1
    with pytest.raises(UsageError, match="not of this table"):
        found.exposed(table(letters(2, 3), range(6)))


def test_bounds_reject_what_is_no_table_of_counts(letters, monkeypatch):
    model = Model.parse("[AB][BC][AC]", letters(2, 2, 2))
    with pytest.raises(UsageError, match="negative"):
        bounds(model, table(model.domain, [-1.0, *range(7)]))
    with pytest.raises(UsageError, match="not finite"):
        bounds(model, table(model.domain, [np.nan, *range(7)]))
    with pytest.raises(UsageError, match="domain"):
        bounds(model, table(letters(2, 4), range(8)))
    monkeypatch.setattr(risk, "LARGEST_SHARP", 4)
    with pytest.raises(RefusedError, match="over the limit"):
        bounds(model, table(model.domain, range(8)))


def test_an_unsolved_program_is_refused(letters, monkeypatch):
    class Unsolved:
        status, message = 1, "iteration limit"

    monkeypatch.setattr(risk, "linprog", lambda *_, **__: Unsolved())
    model = Model.parse("[AB][BC][AC]", letters(2, 2, 2))
    with pytest.raises(RefusedError, match="not solved"):
        bounds(model, table(model.domain, range(8)))
