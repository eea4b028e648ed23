"""MWEM of the study of 2012: its sensitivities by brute force, its noise and its selections at their scales."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.table import Table
from margrave.errors import UsageError
from margrave.noise import DiscreteLaplace, Generator
from margrave.study.yang2012.grid import TABLES
from margrave.study.yang2012.mwem import (
    Answered,
    Rounds,
    cell_queries,
    measured,
    multiplied,
    mwem,
    mwem_release,
    scores,
    selected,
    table_queries,
)
from margrave.study.yang2012.runs import mwem_rounds
from margrave.study.yang2012.subjects import subject

DOMAIN = Domain(tuple(Attribute(name, tuple("xyz"[:size])) for name, size in zip("abc", (2, 3, 2), strict=True)))
WANTED = (("a", "b"), ("b", "c"), ("c",))
KINDS = {"tables": table_queries, "cells": cell_queries}
TRUTH = np.array([3, 0, 1, 4, 0, 0, 2, 5, 1, 0, 0, 2])
TOTAL = int(TRUTH.sum())


def neighbours(counts):
    """Every table with one record more or less."""
    for cell in range(counts.size):
        for step in (1, -1):
            if counts[cell] + step >= 0:
                moved = counts.copy()
                moved[cell] += step
                yield moved


def models():
    """Models that rounds could have led to: even, uneven, and far from the truth."""
    random = np.random.default_rng(1)
    yield np.full(TRUTH.size, TOTAL / TRUTH.size)
    yield TRUTH.astype(float)
    for concentration in (0.1, 1.0, 10.0):
        yield TOTAL * random.dirichlet(np.full(TRUTH.size, concentration))


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_moves_every_score_by_at_most_one_and_some_by_one(kind):
    queries = KINDS[kind](DOMAIN, WANTED)
    moves = {
        abs(one - two)
        for model in models()
        for other in neighbours(TRUTH)
        for one, two in zip(scores(queries, TRUTH, model), scores(queries, other, model), strict=True)
    }
    assert max(moves) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_moves_the_answers_of_a_query_by_at_most_one_in_all(kind):
    queries = KINDS[kind](DOMAIN, WANTED)
    moves = [
        int(np.abs(query.whole(TRUTH) - query.whole(other)).sum()) for query in queries for other in neighbours(TRUTH)
    ]
    assert set(moves) == ({1} if kind == "tables" else {0, 1})


def test_the_queries_are_the_wanted_tables_and_their_cells():
    table = Table(DOMAIN, DOMAIN.names, TRUTH.reshape(DOMAIN.shape()))
    projected = [table.project(margin).counts.ravel() for margin in WANTED]
    assert [query.whole(TRUTH).tolist() for query in table_queries(DOMAIN, WANTED)] == [
        one.tolist() for one in projected
    ]
    cells = [int(query.whole(TRUTH)[0]) for query in cell_queries(DOMAIN, WANTED)]
    assert cells == np.concatenate(projected).tolist()


@pytest.mark.parametrize("epsilon", ["0.005", "0.3", "1", "2"])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_all_rounds_cost_the_budget_half_for_selections_half_for_noise(epsilon, count):
    rounds = Rounds(Fraction(epsilon), count)
    assert rounds.cost <= rounds.epsilon
    assert float(rounds.cost) == pytest.approx(float(epsilon), rel=1e-9)
    assert 2 * rounds.rate * count == rounds.epsilon / 2
    assert float(rounds.noise.scale) == pytest.approx(2 * count / float(epsilon), rel=1e-9)


def chances(queries, counts, rounds):
    """The exact chances of each selection in the first round."""
    model = np.full(TRUTH.size, TOTAL / TRUTH.size)
    weights = np.array([exp(float(rounds.rate) * score) for score in scores(queries, counts, model)])
    return weights / weights.sum()


@pytest.mark.parametrize("kind", KINDS)
def test_a_round_by_brute_force_never_costs_more_than_stated_and_nearly_so_much(kind):
    queries, rounds = KINDS[kind](DOMAIN, WANTED), Rounds(Fraction(1), 1)
    worst = 0.0
    for other in neighbours(TRUTH):
        chosen = np.log(chances(queries, TRUTH, rounds) / chances(queries, other, rounds))
        for query, ratio in zip(queries, chosen, strict=True):
            moved = int(np.abs(query.whole(TRUTH) - query.whole(other)).sum())
            # Answers beyond both counts lose moved/scale whatever they are, on either side.
            worst = max(worst, abs(ratio) + moved / float(rounds.noise.scale))
    assert 0.6 * float(rounds.cost) < worst <= float(rounds.cost)


def drawn(rounds, size):
    """Errors of measured answers, far from where they are cut off."""
    many = np.full(TRUTH.size, 10_000)
    query, generator = table_queries(DOMAIN, WANTED)[0], Generator.seeded("noise of MWEM")
    found = [measured(query, many, rounds, 10**6, generator).noisy - query.whole(many) for _ in range(size)]
    return np.concatenate(found)


def agrees(errors, noise):
    """A χ² test of errors against a distribution, in bins from −6 to 6 and beyond."""
    inner = noise.pmf(np.arange(-6, 7))
    likely = np.append(inner, 1 - inner.sum()) * errors.size
    counts = [int((errors == value).sum()) for value in range(-6, 7)]
    return chisquare([*counts, errors.size - sum(counts)], likely).pvalue > 1e-4


def test_the_noise_has_its_scale_and_neither_less_nor_more():
    rounds = Rounds(Fraction(2), 3)
    errors = drawn(rounds, 1000)
    assert rounds.noise.scale == 3 and agrees(errors, rounds.noise)
    assert not agrees(errors, DiscreteLaplace(Fraction(3) * Fraction(8, 10)))
    assert not agrees(errors, DiscreteLaplace(Fraction(3) * Fraction(12, 10)))


def test_selections_have_their_rate_and_neither_less_nor_more():
    rounds, found, generator = Rounds(Fraction(2), 1), [0, 1, 2, 4], Generator.seeded("selections of MWEM")
    queries = cell_queries(DOMAIN, WANTED)[:4]
    draws = [queries.index(selected(queries, found, rounds, generator)) for _ in range(3000)]
    counts = np.bincount(draws, minlength=4)

    def likely(factor):
        weights = np.array([exp(factor * float(rounds.rate) * score) for score in found])
        return weights / weights.sum() * 3000

    assert chisquare(counts, likely(1)).pvalue > 1e-4
    assert chisquare(counts, likely(0.75)).pvalue < 1e-4
    assert chisquare(counts, likely(1.25)).pvalue < 1e-4


def test_answers_are_cut_off_at_nothing_and_at_the_number_of_records():
    query = table_queries(DOMAIN, WANTED)[0]
    found = measured(query, TRUTH, Rounds(Fraction(1, 100), 5), TOTAL, Generator.seeded("cut")).noisy
    assert found.min() == 0 and found.max() == TOTAL


def test_weights_lead_to_the_answers_and_keep_the_number_of_records():
    queries = table_queries(DOMAIN, WANTED)
    exact = [Answered(query, query.whole(TRUTH)) for query in queries]
    model = multiplied(np.full(TRUTH.size, TOTAL / TRUTH.size), exact, TOTAL, 3000)
    assert model.sum() == pytest.approx(TOTAL)
    for query in queries:
        assert query.of(model) == pytest.approx(query.of(TRUTH), abs=0.05)


def test_one_update_is_that_of_the_paper():
    query = cell_queries(DOMAIN, WANTED)[0]
    start = np.full(TRUTH.size, TOTAL / TRUTH.size)
    inside = query.labels == 0
    raised = np.where(inside, start * exp((9 - start[inside].sum()) / (2 * TOTAL)), start)
    assert multiplied(start, [Answered(query, np.array([9]))], TOTAL, 1) == pytest.approx(raised * TOTAL / raised.sum())


def test_answers_that_no_table_has_neither_overflow_nor_lose_weights():
    queries = table_queries(DOMAIN, WANTED)
    absurd = [Answered(query, np.where(np.arange(query.answers) == 0, TOTAL, 0)) for query in queries]
    model = multiplied(np.full(TRUTH.size, TOTAL / TRUTH.size), absurd, TOTAL, 1000)
    assert np.isfinite(model).all() and model.sum() == pytest.approx(TOTAL)


def test_with_a_huge_budget_the_tables_come_out():
    model = mwem(TRUTH, table_queries(DOMAIN, WANTED), Rounds(Fraction(10**6), 5), TOTAL, Generator.seeded("huge"))
    for query in table_queries(DOMAIN, WANTED):
        assert query.of(model) == pytest.approx(query.of(TRUTH), abs=0.3)


def test_a_release_is_whole_has_the_number_of_records_and_follows_its_seed():
    table = Table(DOMAIN, DOMAIN.names, TRUTH.reshape(DOMAIN.shape()))
    one, again, other = (mwem_release(table, WANTED, Rounds(Fraction(1), 3), seed) for seed in ("s", "s", "t"))
    assert one.total == TOTAL and one.counts.dtype == np.int64 and (one.counts >= 0).all()
    assert np.array_equal(one.counts, again.counts) and not np.array_equal(one.counts, other.counts)


def test_the_study_has_as_many_rounds_as_wanted_tables_and_keeps_its_budget():
    assert [mwem_rounds(subject(table), Fraction(1)).count for table in TABLES] == [5, 3, 8, 3]
    assert all(mwem_rounds(subject(table), Fraction(1, 3)).cost <= Fraction(1, 3) for table in TABLES)


@pytest.mark.parametrize(("epsilon", "count"), [(Fraction(0), 3), (Fraction(-1), 3), (Fraction(1), 0)])
def test_rounds_without_a_budget_or_none_at_all_are_refused(epsilon, count):
    with pytest.raises(UsageError, match="MWEM needs"):
        Rounds(epsilon, count)
