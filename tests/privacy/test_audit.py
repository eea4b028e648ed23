"""An empirical audit: sample the release on two data sets, and bound the privacy loss from below.

Noise on different outputs is independent (tests/noise), so the probability of "every output falls on the far side" is
a product. Each factor is estimated from samples with Clopper–Pearson bounds, and their product bounds the ratio of the
two probabilities, hence the privacy loss, from below with 99.9 % confidence. A group of g equal records may lose g
times as much: comparing groups shows a wrong scale more clearly than comparing single records.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import exp, log, prod

import numpy as np
import pytest
from scipy.stats import beta

import margrave as mg
from margrave.algebra.query import answer, one_record
from margrave.budget.accountant import epsilon_of
from margrave.budget.units import ZCDP
from margrave.measure import run
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Generator
from margrave.planning.planner import make_plan
from tests.shapes import frame_of, records_of, spec_of

pytestmark = pytest.mark.slow

SAMPLES = 200_000
ALPHA = 1e-3


def exact_answers(plan, table):
    """What the confidential side would add noise to."""
    data = frame_of(plan.spec.domain, table)
    counted = run.count(plan.spec, data, [plan.counted_margin(margin) for margin in plan.counted])
    return [
        answer(plan.domain, one.query, counted.counts[plan.counted_margin(one.query.margin)]).ravel()
        for one in plan.measurements
    ]


def loss_at_least(plan, before, after, noises, seed):
    """A lower bound on the privacy loss between two tables when the noise really is ``noises``."""
    moves = Counter()
    for noise, x, y in zip(noises, exact_answers(plan, before), exact_answers(plan, after), strict=True):
        for move in np.abs(x - y).tolist():
            if move:
                moves[noise, move] += 1
    generator = Generator.seeded(seed)
    confidence = ALPHA / (2 * len(moves))
    total = 0.0
    for (noise, move), times in moves.items():
        near = int((noise.sample(SAMPLES, generator) >= 0).sum())
        far = int((noise.sample(SAMPLES, generator) >= move).sum())
        low = beta.ppf(confidence, near, SAMPLES - near + 1)
        high = beta.ppf(1 - confidence, far + 1, SAMPLES - far)
        total += max(0.0, times * log(low / high))
    return total


def tables(plan, group, *, replaced):
    """Two tables that differ by a group of equal records, added or replaced by the worst other record."""
    domain = plan.spec.domain
    common = np.full(domain.shape(), 2, dtype=np.int64)
    before = common.copy()
    before[(0,) * len(domain)] += group
    if not replaced:
        return before, common
    others = []
    for record in records_of(domain):
        after = common.copy()
        after[record] += group
        others.append(after)
    return before, max(others, key=lambda after: price(plan, before, after))


def price(plan, before, after):
    pairs = zip(plan.measurements, exact_answers(plan, before), exact_answers(plan, after), strict=True)
    return sum(one.price(int(np.abs(x - y).sum()), 0) for one, x, y in pairs)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("strategy", ["auto", "residual", "efron-stein", "margins", "base", "fourier"])
def test_no_violation_and_a_halved_scale_is_caught(strategy, neighbours):
    spec = spec_of((2, 2, 2), ["ab", "bc"], strategy=strategy, neighbours=neighbours)
    plan = make_plan(spec)
    group = 4
    before, after = tables(plan, group, replaced=neighbours == "replace")
    noises = [measurement.noise for measurement in plan.measurements]
    allowed = group * float(plan.cost.epsilon)
    assert loss_at_least(plan, before, after, noises, "audit") <= allowed
    halved = [DiscreteLaplace(noise.scale / 2) for noise in noises]
    assert loss_at_least(plan, before, after, halved, "audit") > allowed


def test_a_forgotten_factor_for_replace_is_caught():
    spec = spec_of((2, 2, 2), ["ab", "bc"], strategy="base")
    plan = make_plan(spec)
    before, after = tables(plan, 4, replaced=True)
    noises = [measurement.noise for measurement in plan.measurements]
    assert loss_at_least(plan, before, after, noises, "replace") > 4 * float(plan.cost.epsilon)


def test_the_printed_scale_of_yang_et_al_is_caught_on_journey_to_work():
    """Theorem 2's scale for ε = 1 on all two-way tables of 4 × 4 × 16 really gives ε = 1.2988."""
    spec = replace(mg.Spec.load(mg.examples.path("journey")), strategy="efron-stein", data=None)
    plan = make_plan(spec)
    sizes = spec.domain.shape()
    printed = sum(Fraction(2, prod(k for k, used in zip(sizes, block, strict=True) if not used)) for block in blocks())
    assert float(printed) == pytest.approx(1.3203, abs=1e-4)
    noises = [DiscreteLaplace(printed * 256)] * len(plan.measurements)
    real = sum(one.price(*moved) for one, moved in moved_by_one_record(plan, noises))
    assert float(real) == pytest.approx(1.2988, abs=1e-4)
    group = 12
    before, after = tables(plan, group, replaced=False)
    assert loss_at_least(plan, before, after, noises, "yang") > group
    correct = [measurement.noise for measurement in plan.measurements]
    assert loss_at_least(plan, before, after, correct, "yang") <= group


def blocks():
    """Which attributes each block of the closure of all two-way tables has."""
    return [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1) if a + b + c <= 2]


def moved_by_one_record(plan, noises):
    for one, noise in zip(plan.measurements, noises, strict=True):
        yield replace(one, noise=noise), one_record(plan.domain, one.query)


def test_gaussian_noise_keeps_its_promise_and_a_halved_deviation_is_caught():
    spec = spec_of((2, 2, 2), ["ab", "bc"], ZCDP(Fraction(1, 4)), strategy="residual")
    plan = make_plan(spec)
    before, after = tables(plan, 1, replaced=False)
    moves = [x - y for x, y in zip(exact_answers(plan, before), exact_answers(plan, after), strict=True)]
    delta = Fraction(1, 1000)
    epsilon = float(epsilon_of(plan.cost.rho, delta))
    for factor, violated in ((1, False), (4, True)):
        noises = [DiscreteGaussian(one.noise.sigma_squared / factor) for one in plan.measurements]
        excess = worst_excess(noises, moves, epsilon, f"gauss{factor}")
        assert (excess > float(delta)) == violated


def worst_excess(noises, moves, epsilon, seed):
    """A lower bound on P(E before) − e^ε P(E after) for the best threshold on the likelihood ratio."""
    generator = Generator.seeded(seed)
    score = {False: np.zeros(SAMPLES), True: np.zeros(SAMPLES)}
    for shifted in score:
        for noise, move in zip(noises, moves, strict=True):
            drawn = noise.sample(SAMPLES * move.size, generator).reshape(SAMPLES, move.size)
            score[shifted] += (drawn + (move if shifted else 0)) @ (move / float(noise.sigma_squared))
    worst = -1.0
    for threshold in np.quantile(score[True], np.linspace(0.5, 0.999, 20)):
        near, far = int((score[True] >= threshold).sum()), int((score[False] >= threshold).sum())
        low = beta.ppf(ALPHA / 40, near, SAMPLES - near + 1)
        high = beta.ppf(1 - ALPHA / 40, far + 1, SAMPLES - far)
        worst = max(worst, low - exp(epsilon) * high)
    return worst
