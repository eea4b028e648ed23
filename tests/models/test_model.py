"""Models: reading and writing generating classes, rank, decomposability, matrices."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.junctions import perfect_sequence
from margrave.errors import RefusedError, UsageError
from margrave.models import model as models
from margrave.models.model import Model

NAMED = Domain(
    (Attribute("smoke", ("n", "y")), Attribute("mental", ("n", "y")), Attribute("pressure", ("l", "m", "h")))
)


def test_letters_are_parsed_and_written_back(letters):
    domain = letters(2, 2, 2, 2, 2, 2)
    model = Model.parse("[AD][AB] [EB]", domain)
    assert model.generators == (("A", "D"), ("A", "B"), ("B", "E"))
    assert str(model) == "[AD][AB][BE]"
    assert model.free == ("C", "F")
    assert Model.parse(str(model), domain) == model


def test_names_are_parsed_and_written_back():
    model = Model.parse("[mental, smoke][pressure]", NAMED)
    assert model.generators == (("smoke", "mental"), ("pressure",))
    assert str(model) == "[smoke,mental][pressure]"
    assert Model.parse(str(model), NAMED) == model


def test_generators_below_others_are_dropped(letters):
    domain = letters(2, 2, 2)
    assert Model.parse("[A][AB][B][AB][]", domain).generators == (("A", "B"),)
    assert Model(domain, ()).generators == Model.parse("[]", domain).generators == ((),)
    assert Model(domain, ()).rank == 1
    assert Model(domain, ()).free == domain.names


@pytest.mark.parametrize("text", ["", "AB", "[AB", "[A]B[C]", "[[A]]", "A][B"])
def test_a_text_that_is_no_generating_class_is_an_error(text, letters):
    with pytest.raises(UsageError, match="generating class"):
        Model.parse(text, letters(2, 2, 2))


def test_wrong_names_are_errors(letters):
    with pytest.raises(UsageError, match="unknown attribute 'Z'"):
        Model.parse("[AZ]", letters(2, 2))
    with pytest.raises(UsageError, match="did you mean 'smoke'"):
        Model.parse("[smokes]", NAMED)
    with pytest.raises(UsageError, match="twice"):
        Model.parse("[AA]", letters(2, 2))
    with pytest.raises(UsageError, match=r"Model\.parse"):
        Model(letters(2, 2), ("AB",))


def random_models(letters, count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        domain = letters(*rng.integers(1, 4, size=rng.integers(2, 5)))
        pool = [margin for width in (1, 2, 3) for margin in combinations(domain.names, width)]
        picks = rng.choice(len(pool), size=min(len(pool), int(rng.integers(1, 6))), replace=False)
        yield Model(domain, tuple(pool[pick] for pick in picks))


def test_rank_is_the_rank_of_either_matrix(letters):
    for model in random_models(letters, 80, 3):
        assert model.rank == np.linalg.matrix_rank(model.incidence().toarray())
        basis = model.basis()
        assert basis.shape == (model.domain.cells(), model.rank)
        both = np.hstack([basis, model.incidence().toarray().T])
        assert np.linalg.matrix_rank(basis) == np.linalg.matrix_rank(both) == model.rank


def test_incidence_sums_margins(letters):
    domain = letters(2, 3, 2)
    model = Model.parse("[AC][B]", domain)
    counts = np.arange(12).reshape(domain.shape())
    expected = np.concatenate([counts.sum(axis=1).ravel(), counts.sum(axis=(0, 2))])
    assert (model.incidence() @ counts.ravel() == expected).all()


@pytest.mark.parametrize(
    ("text", "decomposable"),
    [
        ("[AB][BC]", True),
        ("[AB][BC][AC]", False),
        ("[ABC][BCD][CDE]", True),
        ("[AB][BC][CD][AD]", False),
        ("[AB][CD]", True),
        ("[A][B][C][D][E]", True),
        ("[ABC][AD][BE]", True),
        ("[ABC][ABD][CDE]", False),
        ("[AD][AB][BE][CE][CF]", True),
        ("[BF][ADE][ABCE]", True),
        ("[]", True),
        ("[ABCDEF]", True),
    ],
)
def test_decomposable_models_are_known(text, decomposable, letters):
    assert (Model.parse(text, letters(2, 2, 2, 2, 2, 2)).sequence is not None) == decomposable


def reducible(generators):
    """Graham's reduction, an independent test: drop lonely attributes and generators below others until stuck."""
    sets = [set(margin) for margin in generators]
    while True:
        names = [name for one in sets for name in one]
        smaller = [{name for name in one if names.count(name) > 1} for one in sets]
        kept = [
            one
            for place, one in enumerate(smaller)
            if one
            and not any(
                one < other or (one == other and place > rank) for rank, other in enumerate(smaller) if rank != place
            )
        ]
        if kept == sets:
            return not sets
        sets = kept


def test_perfect_sequence_agrees_with_grahams_reduction(letters):
    seen = set()
    for model in random_models(letters, 300, 4):
        sequence = perfect_sequence(model.generators)
        assert (sequence is not None) == reducible(model.generators)
        seen.add(sequence is not None)
        before = set()
        for margin, separator in sequence or ():
            assert set(separator) == before & set(margin)
            before |= set(margin)
    assert seen == {True, False}


def test_contrasts_are_orthonormal_and_sum_to_zero():
    for size in range(1, 7):
        columns = models._contrasts(size)
        np.testing.assert_allclose(columns.T @ columns, np.eye(size - 1), atol=1e-14)
        np.testing.assert_allclose(columns.sum(axis=0), 0, atol=1e-14)


def test_a_matrix_that_is_too_large_is_refused(letters, monkeypatch):
    monkeypatch.setattr(models, "LARGEST_MATRIX", 10)
    with pytest.raises(RefusedError, match="over the limit"):
        Model.parse("[AB]", letters(2, 3)).basis()


def test_basis_on_a_face_is_a_choice_of_rows(letters):
    model = Model.parse("[AB][C]", letters(2, 3, 2))
    face = np.random.default_rng(0).random(model.domain.shape()) < 0.5
    rows = [index for index, cell in enumerate(product(*map(range, face.shape))) if face[cell]]
    np.testing.assert_array_equal(model.basis(face), model.basis()[rows])
