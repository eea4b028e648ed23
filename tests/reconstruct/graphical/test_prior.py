"""Records that lean on a graphical model: what they are drawn from, and what that is worth."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from margrave.noise import Generator
from margrave.reconstruct.graphical.prior import Modelled
from margrave.reconstruct.graphical.selected import Learned, model_of
from margrave.reconstruct.records.energy import energy
from margrave.reconstruct.records.fit import Pull, Sampler, fit_records
from margrave.reconstruct.records.layout import tables
from margrave.reconstruct.records.prior import Mixture
from margrave.reconstruct.records.risk import known_noise, moved
from tests.reconstruct.records.cases import misfit_of, problem, table_of


def modelled(case, selected):
    return Modelled(Learned(model_of(case.estimates, case.domain, selected), tuple(selected)), selected, case.found)


def misfit_and_tables(case):
    return energy(case.estimates, tables(case.found, [margin for margin in case.estimates.values if margin]))


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_states_are_as_frequent_as_model_and_misfit_say(temperature):
    """Two records of three attributes: every state, against its probability by the model's own tables."""
    case = problem((2, 3, 2), 60, 12.0, 1)
    prior, misfit = modelled(case, [("a", "b")]), misfit_and_tables(case)
    codes, kinds = prior.begin(2, Generator.seeded(1))
    pull = Pull(misfit.pulls, prior.leaning(misfit.tables, case.estimates))
    sampler, seen, draws = Sampler(codes, kinds, misfit, case.zeros, np.uint64(5)), Counter(), 60_000
    for _ in range(draws):
        sampler.sweep(pull.at(temperature), temperature)
        seen[tuple(codes.ravel().tolist())] += 1
    chance = prior.learned.model.margin(("a", "b", "c")) / prior.learned.model.total
    states = [np.array(one).reshape(2, 3) for one in product(range(2), range(3), range(2), repeat=2)]
    weights = [
        np.prod([chance[tuple(row)] for row in state]) * np.exp(-misfit_of(case, state) / temperature)
        for state in states
    ]
    probability = np.array(weights) / sum(weights)
    found = np.array([seen[tuple(state.ravel().tolist())] for state in states]) / draws
    assert found.sum() == pytest.approx(1.0)
    assert np.abs(found - probability).max() < 0.005 < 0.1 * probability.max()


def error(case, fitted):
    return sum(
        np.abs(table_of(case.domain, fitted.codes, pair) - table_of(case.domain, case.truth, pair)).sum()
        for pair in case.wanted
    )


def chained(seed, deviation=60.0, records=6000):
    """A chain: each of five attributes depends on the one before it. All pairs are measured, with much noise."""
    case, random = problem((6,) * 5, records, deviation, seed), np.random.default_rng(seed)
    truth = np.zeros((records, 5), dtype=np.int64)
    truth[:, 0] = random.integers(0, 6, records)
    for at in range(1, 5):
        truth[:, at] = np.where(random.random(records) < 0.7, truth[:, at - 1], random.integers(0, 6, records))
    values = {}
    for margin, noisy in case.estimates.values.items():
        was, now = (table_of(case.domain, rows, margin).astype(float) for rows in (case.truth, truth))
        values[margin] = noisy + _residual(now) - _residual(was)
    estimates = type(case.estimates)(case.domain, values, case.estimates.variances)
    return type(case)(case.domain, truth, estimates, case.wanted, case.found, case.zeros)


def _residual(table):
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def test_records_that_lean_on_the_right_model_are_nearer_than_those_of_kinds():
    selected = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    leaned = kinds = 0.0
    for seed in range(3):
        case = chained(seed)
        about = (case.estimates, case.wanted, case.found, case.zeros)
        leaned += error(case, fit_records(*about, seed="test", prior=modelled(case, selected)))
        kinds += error(case, fit_records(*about, seed="test", prior=Mixture(case.estimates, case.found, case.zeros)))
    assert leaned < 0.9 * kinds


def test_records_leave_a_model_that_well_measured_tables_contradict():
    case = chained(1, deviation=2.0)
    independent = modelled(case, [])
    fitted = fit_records(case.estimates, case.wanted, case.found, case.zeros, seed="test", prior=independent)
    told, true = independent.learned.model.margin, case.truth
    model = sum(np.abs(told(pair) - table_of(case.domain, true, pair)).sum() for pair in case.wanted)
    assert error(case, fitted) < 0.1 * model
    assert fitted.temperature < 1.0


def test_what_records_lean_on_follows_the_known_noise():
    """Otherwise the estimate of risk would take the model for known, and leaning on it for free."""
    case = chained(2)
    prior, misfit = modelled(case, [("a", "b")]), misfit_and_tables(case)
    noise, place = known_noise(misfit, "seed"), misfit.tables.margins.index(("a", "b"))
    up, down = (
        prior.leaning(misfit.tables, moved(case.estimates, misfit.tables, step)) for step in (noise / 2, -noise / 2)
    )
    apart, along = (misfit.tables.part(one, place) for one in (up - down, noise))
    assert np.corrcoef(apart, along)[0, 1] > 0.5
    assert not misfit.tables.part(up, misfit.tables.margins.index(("c", "d"))).any()
