"""Kinds of records: tallies that stay right, the probabilities that are said of them, and what they are good for."""

from collections import Counter
from itertools import product
from math import lgamma

import numpy as np

from margrave.noise import Generator
from margrave.reconstruct.records import kernel
from margrave.reconstruct.records.energy import energy
from margrave.reconstruct.records.fit import Sampler
from margrave.reconstruct.records.kinds import Kinds, copied, first_kinds
from margrave.reconstruct.records.layout import tables
from margrave.reconstruct.records.start import first_records
from tests.reconstruct.records.cases import problem


def sampler_of(case, count, shares, seed=1):
    margins = [margin for margin in case.estimates.values if margin]
    misfit = energy(case.estimates, tables(case.found, margins))
    generator = Generator.seeded(seed)
    codes = first_records(shares, count, case.zeros, generator)
    kinds = first_kinds(codes, shares, generator)
    return misfit, kinds, Sampler(codes, kinds, misfit, case.zeros, np.uint64(seed))


def tallied(codes, kinds):
    having = np.zeros_like(kinds.having)
    for row, kind in zip(codes, kinds.of, strict=True):
        for variable, code in enumerate(row):
            having[kinds.first[variable] + code, kind] += 1
    return having


def test_tallies_stay_those_of_the_records():
    case = problem((3, 4, 2), 80, 3.0, 1)
    even = [np.full(size, 1 / size) for size in (3, 4, 2)]
    misfit, kinds, sampler = sampler_of(case, 200, even)
    untouched = copied(kinds)
    for _ in range(5):
        sampler.sweep(misfit.pulls, 0.5)
    assert np.array_equal(kinds.having, tallied(sampler.codes, kinds))
    assert np.array_equal(kinds.members, np.bincount(kinds.of, minlength=len(kinds.members)))
    assert not np.array_equal(untouched.of, kinds.of) and not np.array_equal(untouched.having, kinds.having)


def test_without_a_misfit_records_and_kinds_are_as_frequent_as_the_mixture_says():
    """Two records of two binary attributes and two kinds: every state, against its probability by gamma functions."""
    shares, weight, fresh = np.array([0.7, 0.3, 0.4, 0.6]), 1.5, 0.5
    case = problem((2, 2), 10, 1.0, 1)
    layout = tables(case.found, [("a",), ("b",), ("a", "b")]).layout
    codes, of = np.zeros((2, 2), dtype=np.uint8), np.zeros(2, dtype=np.int64)
    having = np.zeros((4, 2))
    having[[0, 2], 0] = 2.0
    kinds = Kinds(of, np.array([0, 2, 4]), having, np.array([2.0, 0.0]), weight * shares, weight, fresh)
    none, state = np.zeros(layout.where.max() + np.uint64(8)), np.array([5], dtype=np.uint64)
    seen = Counter()
    draws = 40_000
    for _ in range(draws):
        kernel.sweep(codes, kinds, layout, case.zeros, none, np.zeros(len(layout.where)), 1.0, state)
        seen[(*codes.ravel().tolist(), *of.tolist())] += 1

    def weight_of(values, kind):
        total = 0.0
        for one in (0, 1):
            mine = [record for record in (0, 1) if kind[record] == one]
            total += lgamma(len(mine) + fresh)
            for variable in (0, 1):
                for code in (0, 1):
                    share = weight * shares[2 * variable + code]
                    total += lgamma(sum(values[2 * r + variable] == code for r in mine) + share) - lgamma(share)
                total -= lgamma(len(mine) + weight) - lgamma(weight)
        return np.exp(total)

    states = [(*values, *kind) for values in product((0, 1), repeat=4) for kind in product((0, 1), repeat=2)]
    expected = np.array([weight_of(state[:4], state[4:]) for state in states])
    found = np.array([seen[state] for state in states]) / draws
    assert np.abs(found - expected / expected.sum()).max() < 0.012
    assert expected.max() > 4 * expected.min()


def test_a_dependency_is_learned_and_noise_is_not():
    # Half the records agree in all attributes; told exactly, each pair takes a lower temperature to be followed at
    # where no kind can be learned.
    case = problem((4, 4, 4), 2000, 20.0, 3)
    even = [np.full(4, 1 / 4)] * 3
    misfit, kinds, sampler = sampler_of(case, 2000, even)
    alike = kinds._replace(weight=1e12, shares=np.full(12, 1e12 / 4))
    unlearned = Sampler(sampler.codes.copy(), copied(alike), misfit, case.zeros, np.uint64(1))
    left = []
    for one in (sampler, unlearned):
        for _ in range(60):
            one.sweep(misfit.pulls, 1.0)
        left.append(float((misfit.misfits(one.counts()) / misfit.variances).sum() / misfit.freedoms.sum()))
    assert left[0] < 0.5 * left[1]
