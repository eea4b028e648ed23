"""Reconstruction: from random counts, from margins with one sensitive attribute, from published tables."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from margrave.errors import RefusedError
from margrave.noise import Generator
from margrave.study.attacks.reconstruction.blocks import SMALL, reconstruction_tables
from margrave.study.attacks.reconstruction.counts import (
    NOISES,
    PEOPLE,
    by_least_squares,
    by_program,
    gaussian_like,
    predicted,
    random_groups,
    reconstruction,
    told,
)
from margrave.study.attacks.reconstruction.last_record import last_record
from margrave.study.attacks.reconstruction.margins import as_subject, published, reconstruction_margins
from margrave.study.attacks.reconstruction.solver import incidence, overlap, solve, tables_up_to
from margrave.study.attacks.subjects import bundled, shuffled
from margrave.study.attacks.terms import Terms
from tests.shapes import domain_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def counts():
    return reconstruction(Terms(seed="test"))


def test_ten_counts_a_person_with_noise_of_a_fifth_of_root_n_tell_nearly_all_secrets(counts):
    groups = random_groups(PEOPLE, 10 * PEOPLE, Generator.seeded("number"))
    answers = groups.counts + gaussian_like(0.2 * PEOPLE**0.5, 10 * PEOPLE, Generator.seeded("noise"))
    assert told(by_least_squares(groups.members, answers[:, None]), groups.secret)[0] >= 0.99
    assert next(row[4] for row in counts.more[0].rows if row[0] == "0.2 √n") in ("100.0 %", "99.9 %")


def test_where_epsilon_is_for_all_counts_together_hardly_more_than_a_coin_is_told(counts):
    for row in counts.rows:
        assert row.margrave <= 0.55 < row.bound == pytest.approx(0.7311, abs=1e-4)
    assert counts.rows[-1].exact == 1.0 and counts.rows[-1].wrong >= 0.99


def test_the_threshold_is_at_root_n(counts):
    measured = [float(row[4].removesuffix(" %")) / 100 for row in counts.more[0].rows]
    theory = [predicted(noise, 10 * PEOPLE) for noise in NOISES]
    assert np.abs(np.array(measured) - theory).max() < 0.05
    assert measured[0] == 1.0 and measured[-1] < 0.56 and predicted(0.1, PEOPLE) == 0.5


def test_linear_programming_bears_nonsense_that_least_squares_does_not():
    generator = Generator.seeded("wild")
    groups = random_groups(40, 200, generator)
    answers = groups.counts
    answers[:30] = generator.below(40, 30)
    assert told(by_program(groups.members, answers), groups.secret)[0] == 1.0
    assert told(by_least_squares(groups.members, answers[:, None]), groups.secret)[0] < 0.9


def test_margins_with_one_sensitive_attribute():
    found = reconstruction_margins(Terms(seed="test", runs=1))
    last = found.rows[-1]
    assert last.exact == last.wrong == 1.0
    assert all(row.margrave <= 0.7 < row.bound for row in found.rows)


def test_what_margrave_publishes_of_the_margins_is_unbiased_and_wide():
    groups = random_groups(30, 20, Generator.seeded("margins"))
    subject = as_subject(groups, 20)
    errors = np.concatenate([published(subject, Terms().epsilon, f"{run}") - groups.counts for run in range(20)])
    assert abs(errors.mean()) < 3 * errors.std() / len(errors) ** 0.5 + 1
    assert errors.std() > 10


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 2)])
def test_the_equations_are_those_of_the_tables(sizes):
    domain = domain_of(*sizes)
    counts = np.arange(np.prod(sizes)).reshape(sizes)
    answers = incidence(domain, tables_up_to(domain, 2)) @ counts.ravel()
    expected = [counts.sum(axis=2), counts.sum(axis=1), counts.sum(axis=0)]
    assert answers.tolist() == np.concatenate([one.ravel() for one in expected]).tolist()


def test_a_table_that_is_the_only_one_is_called_so_and_others_are_not():
    domain = domain_of(2, 2)
    matrix = incidence(domain, tables_up_to(domain, 1))
    likely = np.full(4, 0.25)
    for counts, alone in (([[1, 0], [0, 0]], True), ([[1, 0], [0, 1]], False), ([[2, 1], [0, 0]], True)):
        truth = np.array(counts).ravel()
        answers = matrix @ truth.astype(float)
        every = [x for x in product(range(4), repeat=4) if (matrix @ np.array(x) == answers).all()]
        assert (len(every) == 1) is alone is solve(matrix, answers, likely).unique


@pytest.fixture(scope="module")
def blocks():
    return reconstruction_tables(Terms(seed="test", runs=2))


def test_every_record_of_a_block_is_recovered_from_exact_tables(blocks):
    assert blocks.rows[-1].label == "up to 3-way" and blocks.rows[-1].exact == 1.0
    assert blocks.more[0].rows[-1][-1] == "2 of 2"


def test_with_eight_attributes_it_takes_tables_of_four(blocks):
    three, four = blocks.more[1].rows
    assert float(three[1].removesuffix(" %")) > 85 and four[1:] == ("100 %", "2 of 2")


def test_in_nearly_every_block_three_attributes_in_a_table_are_enough():
    whole, generator = bundled("rochdale").only(SMALL), Generator.seeded("many blocks")
    matrix = incidence(whole.domain, tables_up_to(whole.domain, 3))
    alone = 0
    for _ in range(40):
        truth = whole.take(shuffled(generator, len(whole))[:100]).table().ravel()
        found = solve(matrix, matrix @ truth.astype(float), np.full(len(truth), 1 / len(truth)))
        alone += found.unique is True
        assert not found.unique or found.counts.tolist() == truth.tolist()
    assert alone >= 38


def test_and_no_more_than_chance_from_margraves(blocks):
    by_chance = float(blocks.measure.split("; ")[1].split(" %")[0]) / 100
    assert all(row.margrave <= by_chance and row.bound is None for row in blocks.rows)
    assert blocks.rows[-1].wrong > 0.85


def test_who_knows_all_others_tells_the_last_record_from_exact_tables_and_within_the_bound_from_margraves(blocks):
    told = [[float(text.removesuffix(" %")) for text in row[1:]] for row in blocks.more[-1].rows]
    for exact, wrong, margrave, chance, bound in told:
        assert exact == 100 and chance <= wrong and margrave < chance + 10 and chance + 10 < bound < 95
    assert told[-1][1] > told[-1][4] - 5, "noise that nobody adds up reaches what ε forbids"


def test_at_a_large_epsilon_she_tells_more_and_never_more_than_the_bound():
    whole, generator = bundled("rochdale").only(SMALL), Generator.seeded("large")
    order = shuffled(generator, len(whole))
    block, rest = whole.take(order[:100]), whole.take(order[100:])
    likely = (rest.table().ravel() + 0.05) / (len(rest) + 0.05 * rest.table().size)
    tables = tables_up_to(block.domain, 1)
    small, large = (last_record(block, likely, tables, Fraction(one), 20, "large") for one in (1, 12))
    assert small.chance - 0.01 <= small.margrave < small.bound < large.bound
    assert small.margrave + 0.3 < large.margrave <= large.bound


def test_an_overlap_counts_records_that_are_in_both():
    assert overlap(np.array([2, 1, 0]), [1, 5, 3]) == pytest.approx(2 / 3)


def test_too_few_or_too_wide_records_are_refused():
    with pytest.raises(RefusedError):
        reconstruction_tables(Terms(subject=bundled("fungus")))
