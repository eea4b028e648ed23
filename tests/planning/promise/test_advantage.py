"""Bounds on attackers by the guarantee alone: held against every mechanism tried, and reached by the worst ones."""

from fractions import Fraction
from itertools import product
from math import exp, tanh

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm

from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.errors import UsageError
from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.planning.promise.advantage import advantage, epsilon_for, guessed, implied, power

ONE = PureDP(Fraction(1))
COSTS = [PureDP(Fraction(1, 2)), ONE, ApproxDP(Fraction(1), Fraction(1, 100)), ZCDP(Fraction(1, 8)), ZCDP(Fraction(2))]


def trade_off(p, q):
    """Every point (false alarms, found) of the most powerful tests of p against q."""
    order = np.argsort(-(p / np.maximum(q, 1e-300)))
    return np.append(0, np.cumsum(q[order])), np.append(0, np.cumsum(p[order]))


def worst(cost, steps):
    """Two distributions that satisfy a guarantee: discrete noise of exactly this cost on a count that moved."""
    z = np.arange(-400, 401)
    noise = DiscreteGaussian(1 / (2 * cost.rho)) if isinstance(cost, ZCDP) else DiscreteLaplace(1 / cost.epsilon)
    p, q = noise.pmf(z), noise.pmf(z - steps)
    if isinstance(cost, ApproxDP):  # with probability δ the truth is told
        d = float(cost.delta)
        p, q = np.append((1 - d) * p, [d, 0]), np.append((1 - d) * q, [0, d])
    return p, q


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_no_test_of_real_noise_passes_the_bounds(cost, steps):
    alarms, found = trade_off(*worst(cost, steps))
    assert (found - alarms).max() <= advantage(cost, steps) + 1e-9
    for a, f in zip(alarms[::7], found[::7], strict=True):
        assert f <= power(cost, steps, min(float(a), 1.0)) + 1e-9


def test_pure_noise_reaches_the_bounds():
    alarms, found = trade_off(*worst(ONE, 1))
    assert (found - alarms).max() == pytest.approx(advantage(ONE, 1)) == pytest.approx(tanh(0.5))
    at = np.argmax(found - alarms)
    assert found[at] == pytest.approx(power(ONE, 1, float(alarms[at])))


def test_a_single_delta_is_reached_by_a_mechanism_that_tells_the_truth():
    cost = ApproxDP(Fraction(1), Fraction(1, 100))
    p, q = worst(cost, 1)
    alarms, found = trade_off(p, q)
    assert (found - alarms).max() == pytest.approx(0.01 + 0.99 * tanh(0.5))
    assert (found - alarms).max() <= advantage(cost, 1) < (found - alarms).max() + 0.005


def test_concentrated_bounds_are_not_far_from_gaussian_noise():
    for rho in (Fraction(1, 100), Fraction(1, 2), Fraction(3)):
        true = 2 * norm.cdf(np.sqrt(2 * float(rho)) / 2) - 1
        assert true <= advantage(ZCDP(rho), 1) <= 1.8 * true


def best_guess(prior, loss, delta):
    """The highest probability of a right guess over all channels that are (L, δ)-indistinguishable: a program."""
    m = len(prior)
    # Unknowns: P_h(g) for each case h and guess g, and the excess over δ of each pair of cases, guess by guess.
    pairs = [(h, k) for h, k in product(range(m), repeat=2) if h != k]
    size = m * m + len(pairs) * m
    goal = np.zeros(size)
    for h in range(m):
        goal[h * m + h] = -prior[h]
    rows, limits = [], []
    for number, (h, k) in enumerate(pairs):
        for g in range(m):
            row = np.zeros(size)
            row[h * m + g], row[k * m + g], row[m * m + number * m + g] = 1, -exp(loss), -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(size)
        row[m * m + number * m : m * m + (number + 1) * m] = 1
        rows.append(row)
        limits.append(delta)
    sums = np.zeros((m, size))
    for h in range(m):
        sums[h, h * m : (h + 1) * m] = 1
    found = linprog(goal, A_ub=np.array(rows), b_ub=limits, A_eq=sums, b_eq=np.ones(m), method="highs")
    return -found.fun


@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.25,) * 4, (0.7, 0.2, 0.1), (0.9, 0.1)], ids=str)
@pytest.mark.parametrize("cost", COSTS[:3], ids=str)
def test_no_channel_lets_a_guess_pass_the_bound(cost, prior):
    """Over all channels at once, by linear programming; for a uniform prior and pure ε some channel reaches it."""
    (pair,) = implied(cost, 2)
    best, stated = best_guess(prior, pair.loss, pair.delta), guessed(cost, 2, max(prior))
    assert best <= stated + 1e-7
    if len(set(prior)) == 1 and not pair.delta:
        assert best == pytest.approx(stated)


def test_known_numbers():
    assert guessed(ONE, 1, 0.5) == pytest.approx(exp(1) / (1 + exp(1)))
    assert guessed(ONE, 2, 0.5) == pytest.approx(0.880797)
    assert epsilon_for(0.5, guessed(ONE, 2, 0.5), 2) == pytest.approx(1)
    assert power(ONE, 1, 0.05) == pytest.approx(0.05 * exp(1))
    assert power(ONE, 1, 1.0) == 1.0


def test_where_nothing_is_promised_the_bounds_are_one():
    for cost in (PureDP(Fraction(2000)), ApproxDP(Fraction(2000), Fraction(1, 2)), ZCDP(Fraction(10**6))):
        assert advantage(cost, 1) == power(cost, 1, 0.01) == guessed(cost, 1, 0.5) == 1.0


def test_rejected():
    for wrong in (lambda: implied(ONE, 0), lambda: power(ONE, 1, 2.0), lambda: guessed(ONE, 1, 1.0)):
        with pytest.raises(UsageError):
            wrong()
    with pytest.raises(UsageError):
        epsilon_for(0.5, 0.4, 1)
