"""What each who takes part sees, by brute force: the real protocol is run for every draw of noise and padding on tiny
inputs, what is seen is read off the real messages, and its distributions on all neighbours are compared.

Of a point, only that it equals another is seen: as points they are random under the assumption of docs/join.md.
"""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp

import numpy as np
import pytest

from margrave.budget.units import ApproxDP
from margrave.crossing import People
from margrave.join import protocol
from margrave.join.protocol import Masked
from margrave.noise import DiscreteLaplace, Generator, TruncatedLaplace
from margrave.planning.join.noise import HelperNoise, PairNoise

KEY = b"k" * 32
NOISE = PairNoise(
    DiscreteLaplace(Fraction(1, 3)), TruncatedLaplace(Fraction(1, 3), 1), TruncatedLaplace(Fraction(1, 2), 1)
)
FAR = np.arange(-60, 61)
EMPTY, ONLY_A, BOTH = (), (("a", 0),), (("a", 0), ("b", 1))
FIRST = [EMPTY, ONLY_A, (("a", 1),), BOTH, (("b", 1),)]
SECOND = [(("a", 0),), EMPTY, (("a", 0), ("b", 0)), (("b", 0),)]


def members(pairs):
    return People([name.encode() for name, _ in pairs], np.array([place for _, place in pairs], dtype=np.int64))


def padded(noise, categories):
    """Every padding of so many batches, with its probability."""
    for drawn in product(range(-noise.reach, noise.reach + 1), repeat=categories):
        yield tuple(one + noise.reach for one in drawn), float(np.prod(noise.pmf(np.array(drawn))))


@cache
def run(first, second, mine, theirs, added):
    """One session, by the real code: the sizes that each side sees, and the counts that the first one finds."""
    own = Masked(b"m" * 32, b"p" * 32, mine, ((0,), (0,)))
    other = Masked(b"n" * 32, b"q" * 32, theirs, added)
    offered = protocol.offer(members(first), own, KEY)
    replied = protocol.answer(offered, members(second), other, KEY, NOISE.second.reach)
    counts = protocol.match(replied, offered, own.mask, NOISE.second.reach)
    sizes = [tuple(len(one) for one in batches) for batches in (offered.batches, replied.batches, replied.returned)]
    return sizes, tuple(counts.reshape(-1).tolist())


def seen_by_first(first, second, noise=NOISE.second, sizes=NOISE.sizes):
    """The first one's view: sizes of the answer, and counts with the second one's noise. 2 × 1 categories."""
    found = defaultdict(float)
    for theirs, chance in padded(sizes, 1):
        for drawn in product(range(-1, 2), repeat=2):
            seen, counts = run(first, second, (1, 1), theirs, tuple((one,) for one in drawn))
            found[seen[1], seen[2], counts] += chance * float(np.prod(noise.pmf(np.array(drawn))))
    return found


def seen_by_second(first, second):
    """The second one's view: sizes of the offer, and the published counts less the own noise."""
    found = defaultdict(float)
    for mine, chance in padded(NOISE.sizes, 2):
        sizes, counts = run(first, second, mine, (1,), ((0,), (0,)))
        for drawn in FAR:
            # One person moves one cell. The noise of the other is independent and the same for both neighbours.
            for moving in range(2):
                key = (sizes[0], moving, counts[moving] + drawn, counts[1 - moving])
                found[key] += chance * float(NOISE.first.pmf(drawn))
    return found


def worst(one, other, epsilon):
    """The least δ for which two views are (ε, δ)-close."""
    keys = set(one) | set(other)
    sides = ((one, other), (other, one))
    return max(sum(max(a[key] - exp(epsilon) * b[key], 0.0) for key in keys) for a, b in sides)


def neighbours(sets, moves):
    """Pairs that differ by one added person, or (two moves) by one replaced."""
    for one, other in product(sets, repeat=2):
        lost, gained = set(one) - set(other), set(other) - set(one)
        if moves == 1 and not lost and len(gained) == 1:
            yield one, other
        if moves == 2 and len(lost) == len(gained) == 1:
            yield one, other


@pytest.mark.slow
@pytest.mark.parametrize(("moves", "relation"), [(1, "add-remove"), (2, "replace")])
def test_what_the_first_owner_sees_of_the_others_people_costs_what_is_charged(moves, relation):
    cost = NOISE.cost(1, relation)
    largest = 0.0
    for first in FIRST:
        for one, other in neighbours(SECOND, moves):
            found = worst(seen_by_first(first, one), seen_by_first(first, other), float(cost.epsilon))
            assert found <= float(cost.delta) * (1 + 1e-9)
            largest = max(largest, found)
    # And what is charged is not much more than what is lost; with one category of a side, no size moves by replacing.
    assert largest > float(cost.delta) * (0.5 if moves == 1 else 0.25)


def test_the_cost_would_be_too_little_if_any_part_of_it_were_left_out():
    """ε of counts alone, ε of sizes alone, and δ of either alone are all seen to be exceeded."""
    one, other = (seen_by_first(ONLY_A, second) for second in (EMPTY, (("a", 0),)))
    cost = NOISE.cost(1, "add-remove")
    for part in (float(1 / NOISE.first.scale), float(1 / NOISE.sizes.scale)):
        assert worst(one, other, part) > float(cost.delta) * 1.01
    for part in (NOISE.second.delta, NOISE.sizes.delta):
        assert worst(one, other, float(cost.epsilon)) > float(part) * 1.01


@pytest.mark.slow
@pytest.mark.parametrize("second", SECOND)
def test_what_the_second_owner_sees_of_the_firsts_people_costs_what_is_charged(second):
    cost = NOISE.cost(0, "add-remove")
    largest = 0.0
    for one, other in neighbours(FIRST, 1):
        views = seen_by_second(one, second), seen_by_second(other, second)
        for moving in range(2):
            kept = [{key: p for key, p in view.items() if key[1] == moving} for view in views]
            if len({key[3] for view in kept for key in view}) == 1:  # the other cell did not move
                found = worst(*(defaultdict(float, view) for view in kept), float(cost.epsilon))
                assert found <= float(cost.delta) * (1 + 1e-9)
                largest = max(largest, found)
    assert largest > float(cost.delta) * 0.8


QUIET = TruncatedLaplace(Fraction(1, 60), 1)
"""Noise that is zero but once in e^60."""


@pytest.mark.parametrize("bug", ["dummies", "padding"])
def test_forgotten_dummies_and_forgotten_padding_would_be_noticed(bug):
    noise, sizes = {"dummies": (QUIET, NOISE.sizes), "padding": (NOISE.second, QUIET)}[bug]
    cost = NOISE.cost(1, "add-remove")
    views = [seen_by_first(ONLY_A, second, noise, sizes) for second in (EMPTY, (("a", 0),))]
    assert worst(*views, float(cost.epsilon)) > float(cost.delta) + 0.5


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3)])
def test_what_the_public_sees_costs_epsilon_alone(scale):
    noise = PairNoise.of(scale, Fraction(1, 1000), ApproxDP(Fraction(1), Fraction(1, 1000)))
    here, there = noise.published.pmf(FAR[5:-5]), noise.published.pmf(FAR[5:-5] - 1)
    epsilon = float(noise.public_cost("add-remove").epsilon)
    assert epsilon == 1 / float(scale)
    assert max((here / there).max(), (there / here).max()) <= exp(epsilon) * (1 + 1e-9)


def test_a_helpers_one_noise_costs_epsilon_and_has_half_the_variance():
    pair = PairNoise.of(Fraction(4), Fraction(1, 10**9), ApproxDP(Fraction(1), Fraction(1, 10**9)))
    helped = HelperNoise(DiscreteLaplace(Fraction(4)))
    assert helped.cost(0, "add-remove") == helped.public_cost("add-remove") == pair.public_cost("add-remove")
    assert helped.cost(2, "replace").epsilon == Fraction(1, 2)
    assert pair.published.variance == pytest.approx(2 * helped.published.variance, rel=1e-4)


def test_noise_drawn_anew_on_a_retry_would_be_noticed():
    """Two answers to one question are two noises: averaged, they tell more than was charged."""
    one, other = (seen_by_first(ONLY_A, second) for second in (EMPTY, (("a", 0),)))
    cost = NOISE.cost(1, "add-remove")

    def twice(view):
        found = defaultdict(float)
        for (here, p), (there, q) in product(view.items(), repeat=2):
            found[here, there] += p * q
        return found

    assert worst(twice(one), twice(other), float(cost.epsilon)) > float(cost.delta) * 1.5


def test_somebody_in_several_categories_would_be_noticed(monkeypatch):
    """Unbounded, one person moves as many counts and sizes as there are categories."""
    monkeypatch.setattr(protocol, "check_distinct", lambda *_: None)
    monkeypatch.setattr(protocol, "check_order", lambda *_: None)
    cost, both = NOISE.cost(1, "add-remove"), (("a", 0), ("a", 1))
    own = Masked(b"m" * 32, b"p" * 32, (1, 1), ((0, 0), (0, 0)))
    other = replace(own, mask=b"n" * 32, points=b"q" * 32)
    counts = {}
    for second in (EMPTY, both):
        offered = protocol.offer(members(ONLY_A), own, KEY)
        replied = protocol.answer(offered, members(second), other, KEY, NOISE.second.reach)
        counts[second] = protocol.match(replied, offered, own.mask, NOISE.second.reach)
    moved = int(np.abs(counts[EMPTY] - counts[both]).sum())
    assert moved == 2 and moved / NOISE.first.scale > cost.epsilon


AUDITED = 1500
"""Sessions of each of two neighbours, with noise as it is really drawn."""


def lower_bound(one, other, epsilon):
    """By how much an event, chosen by the first half, is likelier than e^ε allows in the second: in standard errors."""
    half = AUDITED // 2
    events = {key for view in (one, other) for key in view[:half]}
    first, second = (np.array([[key == event for event in events] for key in view]) for view in (one, other))
    excess = first[:half].mean(axis=0) - exp(epsilon) * second[:half].mean(axis=0)
    chosen = excess > 0
    hits, misses = first[half:][:, chosen].any(axis=1), second[half:][:, chosen].any(axis=1)
    error = np.sqrt((hits.var() + exp(2 * epsilon) * misses.var() + 1e-9) / half)
    return (hits.mean() - exp(epsilon) * misses.mean()) / error


AUDIT = PairNoise.of(Fraction(1), Fraction(1, 10**3), ApproxDP(Fraction(1), Fraction(1, 10**3)))


@cache
def audited(first, second, mine, theirs, added):
    """One session of one category each: the sizes that are sent, and the count. Masks change nothing of these."""
    own, other = Masked(b"m" * 32, b"p" * 32, (mine,), ((0,),)), Masked(b"n" * 32, b"q" * 32, (theirs,), ((added,),))
    offered = protocol.offer(members(first), own, KEY)
    replied = protocol.answer(offered, members(second), other, KEY, AUDIT.second.reach)
    counts = protocol.match(replied, offered, own.mask, AUDIT.second.reach)
    return len(offered.batches[0]), len(replied.batches[0]), int(counts[0, 0])


def sampled(view, first, second, generator, bug):
    """What is seen in a session, with everything drawn as it really is, but for a bug."""
    padded = AUDIT.sizes.reach if bug == "padding" else protocol.padding(AUDIT.sizes, 1, generator)[0]
    mine, theirs = (0, padded) if view == "first" else (padded, 0)  # nobody sees the own padding
    added = 0 if bug == "dummies" else int(AUDIT.second.sample(1, generator)[0])
    own = 0 if bug == "noise" else int(AUDIT.first.sample(1, generator)[0])
    offered, replied, count = audited(first, second, mine, theirs, added)
    return {"first": (replied, count), "second": (offered, count - added + own), "public": count + own}[view]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "bug", "caught"),
    [
        ("first", "none", False),
        ("second", "none", False),
        ("public", "none", False),
        ("first", "dummies", True),
        ("first", "padding", True),
        ("second", "noise", True),
        ("second", "padding", True),
    ],
)
def test_an_audit_of_real_sessions_finds_no_violation_and_catches_bugs(view, bug, caught):
    generator = Generator.seeded(f"audit {view} {bug}")
    cost = {"first": AUDIT.cost(1, "add-remove"), "second": AUDIT.cost(0, "add-remove")}
    epsilon = float(cost.get(view, AUDIT.public_cost("add-remove")).epsilon)
    # Of the first owner's view, one of the second's people is added; of the others', one of the first's.
    there, absent = (ONLY_A, ONLY_A), ((ONLY_A, EMPTY) if view == "first" else (EMPTY, ONLY_A))
    seen = [[sampled(view, *sides, generator, bug) for _ in range(AUDITED)] for sides in (there, absent)]
    assert (max(lower_bound(*seen, epsilon), lower_bound(*seen[::-1], epsilon)) > 5) == caught
