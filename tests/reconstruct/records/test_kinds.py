"""Kinds of records: tallies that stay right, draws as frequent as they should be, and what kinds are good for."""

from collections import Counter
from itertools import product
from math import lgamma

import numpy as np
import pytest

from margrave.reconstruct.records import fit, kernel
from margrave.reconstruct.records.energy import energy
from margrave.reconstruct.records.fit import Sampler
from margrave.reconstruct.records.kinds import Kinds, copied
from margrave.reconstruct.records.layout import tables
from tests.reconstruct.records.cases import misfit_of, problem, sampler_of

pytestmark = pytest.mark.slow


def test_tallies_stay_those_of_the_records_at_every_temperature(monkeypatch):
    monkeypatch.setattr(fit, "_BLOCK", 64)
    misfit, kinds, sampler = sampler_of(problem((3, 4, 2), 80, 3.0, 1), 200)
    before = kinds.of.copy()
    for temperature in (0.5, 0.0, 2.0, 0.1):
        sampler.sweep(misfit.pulls, temperature)
    having = np.zeros_like(kinds.having)
    for row, kind in zip(sampler.codes, kinds.of, strict=True):
        having[kinds.first[:-1] + row, kind] += 1
    assert np.array_equal(kinds.having, having)
    assert np.array_equal(kinds.members, np.bincount(kinds.of, minlength=len(kinds.members)))
    assert (before[:64] != kinds.of[:64]).any() and (before[-64:] != kinds.of[-64:]).any()


def test_a_copy_has_the_same_to_come_and_changes_on_its_own():
    misfit, kinds, sampler = sampler_of(problem((3, 4, 2), 80, 3.0, 1), 200)
    twin = sampler.copy()
    for one in (sampler, twin):
        for _ in range(3):
            one.sweep(misfit.pulls, 0.5)
    assert np.array_equal(sampler.codes, twin.codes)
    codes, having = sampler.codes.copy(), kinds.having.copy()
    twin.sweep(misfit.pulls, 0.5)
    assert np.array_equal(sampler.codes, codes) and np.array_equal(kinds.having, having)
    assert not np.array_equal(twin.codes, codes)


@pytest.mark.parametrize(("temperature", "patterns"), [(0.5, ()), (2.0, ({"a": frozenset("0"), "c": frozenset("1")},))])
def test_states_are_as_frequent_as_mixture_and_misfit_say(temperature, patterns):
    """Two records, two kinds, a variable with one value: every state, against its probability by gamma functions."""
    case = problem((2, 1, 2), 5, 1.5, 1, patterns)
    misfit = energy(case.estimates, tables(case.found, [margin for margin in case.estimates.values if margin]))
    shares, weight, fresh = [[0.7, 0.3], [1.0], [0.4, 0.6]], 1.5, 0.5
    codes, of = np.array([[1, 0, 0], [1, 0, 0]], dtype=np.uint8), np.zeros(2, dtype=np.int64)
    having = np.zeros((5, 2))
    having[[1, 2, 3], 0] = 2.0
    flat = weight * np.concatenate(shares)
    kinds = Kinds(of, np.array([0, 2, 3, 5]), having, having.T.copy(), np.array([2.0, 0.0]), flat, weight, fresh)
    sampler, seen, draws = Sampler(codes, kinds, misfit, case.zeros, np.uint64(5)), Counter(), 30_000
    for _ in range(draws):
        sampler.sweep(misfit.pulls, temperature)
        seen[(*codes.ravel().tolist(), *of.tolist())] += 1

    def logarithm(records, kind):
        total = -misfit_of(case, records) / temperature
        for one in (0, 1):
            mine = records[np.array(kind) == one]
            total += lgamma(len(mine) + fresh)
            for variable, share in enumerate(shares):
                total += lgamma(weight) - lgamma(len(mine) + weight)
                for code, q in enumerate(share):
                    total += lgamma((mine[:, variable] == code).sum() + weight * q) - lgamma(weight * q)
        return total

    expected = {}
    for values in product((0, 1), (0,), (0, 1), (0, 1), (0,), (0, 1)):
        records = np.array(values).reshape(2, 3)
        if not case.zeros.matched(records).any():
            expected |= {(*values, *kind): np.exp(logarithm(records, kind)) for kind in product((0, 1), repeat=2)}
    probability = np.array(list(expected.values())) / sum(expected.values())
    found = np.array([seen[state] for state in expected]) / draws
    assert found.sum() == pytest.approx(1.0)
    assert np.abs(found - probability).max() < 0.01 < 0.1 * probability.max()


def test_a_kind_that_is_improbable_at_first_can_come_back_after_very_many_variables():
    many = 600
    # Of the first half of the variables the record has what the first kind has, of the second half what the second has.
    having = np.zeros((2 * many, 2))
    having[:many:2, 0], having[1:many:2, 1] = 1000.0, 1000.0
    having[many::2, 1], having[many + 1 :: 2, 0] = 1000.0, 1000.0
    members, shares = np.array([1000.0, 1000.0]), np.full(2 * many, 0.001)
    kinds = Kinds(np.zeros(1, np.int64), 2 * np.arange(many + 1), having, having.T.copy(), members, shares, 0.002, 0.5)
    weight, sums, inverse = np.empty(2), np.empty(2), np.empty(2)
    kernel._weigh_kinds(weight, sums, inverse, np.zeros(many, dtype=np.uint8), kinds)
    assert np.allclose(weight, 1.0)


def misfit_after(misfit, sampler):
    for _ in range(60):
        sampler.sweep(misfit.pulls, 1.0)
    return float((misfit.misfits(sampler.counts()) / misfit.variances).sum() / misfit.freedoms.sum())


def test_a_dependency_is_followed_sooner_where_kinds_can_learn_it():
    case = problem((4, 4, 4), 2000, 20.0, 3)
    misfit, kinds, sampler = sampler_of(case, 2000)
    alike = kinds._replace(weight=1e12, shares=np.full(12, 1e12 / 4))
    unlearned = Sampler(sampler.codes.copy(), copied(alike), misfit, case.zeros, np.uint64(1))
    assert misfit_after(misfit, sampler) < 0.5 * misfit_after(misfit, unlearned)
