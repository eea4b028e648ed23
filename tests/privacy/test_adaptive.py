"""Plans that look at the data, against brute force: whole transcripts, all neighbours, exact probabilities.

A transcript is all that leaves: the fixed answers, and in each round what was selected and its noisy counts. Given the
answers before, the losses of a round follow from the data, and so does the exact probability of what was selected. So
the probability of a whole transcript is known under any data set, and is compared between all neighbours.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest

from margrave.algebra.query import answer
from margrave.budget.events import NO_REST, Protection, Round, Selection, cost
from margrave.budget.units import ZCDP, PureDP
from margrave.crossing import Answer, Measured
from margrave.measure.looking import look, loss, seen
from margrave.noise import Generator
from margrave.planning.planner import make_plan
from margrave.reconstruct.graphical.looked import divided, so_far
from tests.shapes import spec_of

pytestmark = pytest.mark.slow

BINARY = ((2, 2, 2), ["ab", "ac", "bc"])
MIXED = ((2, 3, 2), ["ab", "bc", "ac"])
WEIGHED = ((2, 2, 2), ["abc", "ab"])


def planned(shape, tables, *, gaussian, neighbours, rounds=3, budget=2):
    amount = (ZCDP if gaussian else PureDP)(Fraction(budget))
    plan = make_plan(spec_of(shape, tables, amount, strategy="adaptive", neighbours=neighbours))
    return replace(plan, rounds=plan.rounds[-rounds:], rest=NO_REST)


def tables_of(plan, data):
    """The exact counts of any margin of a full table."""
    names = plan.domain.names

    def counts(margin):
        return data.sum(axis=tuple(at for at, name in enumerate(names) if name not in margin))

    return counts


def drawn(plan, data, seed):
    """A transcript: what a release of this data would let out."""
    generator, counts = Generator.seeded(seed), tables_of(plan, data)
    fixed = []
    for one in plan.measurements:
        truth = answer(plan.domain, one.query, counts(one.query.margin))
        fixed.append(Answer(one, truth + one.noise.sample(truth.size, generator).reshape(truth.shape)))
    known = {(): np.array(data.sum())} if plan.exact else {}
    return look(plan, counts, fixed, known, generator), known


def chances(losses, selection):
    """The exact probability of each candidate, by both rules."""
    above = [float(selection.rate) * (one - min(losses)) for one in losses]
    heads = [exp(-one) for one in above]
    if not selection.pure:
        return [one / sum(heads) for one in heads]
    found = [0.0] * len(heads)
    for coins in product((0, 1), repeat=len(heads)):
        chance = np.prod([p if coin else 1 - p for p, coin in zip(heads, coins, strict=True)])
        for at, coin in enumerate(coins):
            found[at] += coin * chance / max(sum(coins), 1)
    return found


def told_before(plan, transcript, known):
    """What the answers before each round told it, and at last what all of them tell."""
    told = None
    for number in range(len(plan.measurements), len(transcript) + 1):
        told = so_far(plan, Measured(tuple(transcript[:number]), known, private=True), told)
        yield told


def views(plan, transcript, known):
    """What each round saw of the answers before it."""
    *before, _ = told_before(plan, transcript, known)
    return [seen(plan, told) for told in before]


def logarithms(plan, transcript, rounds, data):
    """The log-probabilities of a transcript's parts under some data: noises, and selections (all candidates)."""
    counts = tables_of(plan, data)
    noises = sum(
        np.log(
            one.measurement.noise.pmf(
                one.outputs - answer(plan.domain, one.measurement.query, counts(one.measurement.query.margin))
            )
        ).sum()
        for one in transcript
    )
    choices = []
    for one, view, made in zip(plan.rounds, rounds, transcript[len(plan.measurements) :], strict=True):
        losses = [loss(view, margin, counts(margin), one) for margin in view.offered]
        choices.append((chances(losses, one.selection), [*view.offered].index(made.measurement.query.margin)))
    return noises, choices


def neighbours_of(data, relation):
    """Every data set that one record makes of this one."""
    cells = list(np.ndindex(data.shape))
    more = [(cell, 1) for cell in cells] + [(cell, -1) for cell in cells if data[cell]]
    if relation == "replace":
        moves = [((one, -1), (other, 1)) for one in cells for other in cells if one != other and data[one]]
    else:
        moves = [(one,) for one in more]
    for move in moves:
        other = data.copy()
        for cell, by in move:
            other[cell] += by
        yield other


def data_sets(shape, seed, count):
    random = np.random.default_rng(seed)
    return [random.poisson(1.5, size=shape) + (np.arange(np.prod(shape)).reshape(shape) == 0) for _ in range(count)]


def worst_losses(plan, relation, transcripts=12, seed=0):
    """The largest log-ratio of a whole transcript, and of one selection, over data sets, transcripts and neighbours."""
    whole = single = 0.0
    for number, data in enumerate(data_sets(plan.domain.shape(), seed, transcripts)):
        transcript, known = drawn(plan, data, number)
        rounds = views(plan, transcript, known)
        here, choices = logarithms(plan, transcript, rounds, data)
        for other in neighbours_of(data, relation):
            there, others = logarithms(plan, transcript, rounds, other)
            steps = [log(p[at] / q[at]) for (p, at), (q, _) in zip(choices, others, strict=True)]
            whole = max(whole, abs(here - there + sum(steps)))
            for (p, _), (q, _) in zip(choices, others, strict=True):
                single = max(single, *(abs(log(a / b)) for a, b in zip(p, q, strict=True)))
    return whole, single


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("case", [BINARY, MIXED, WEIGHED])
def test_no_transcript_tells_neighbours_apart_by_more_than_its_price(case, relation):
    plan = planned(*case, gaussian=False, neighbours=relation)
    whole, single = worst_losses(plan, relation)
    assert whole <= float(plan.cost.amount) + 1e-9
    priced = max(float(one.selection.price(1 if relation == "add-remove" else 2)) for one in plan.rounds)
    assert single <= priced + 1e-9
    assert single > priced / 2  # A price of less than half would be seen.


def renyi(p, q, order):
    return log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("case", [BINARY, MIXED, WEIGHED])
def test_every_selection_with_gaussian_noise_is_within_its_rho(case, relation):
    plan = planned(*case, gaussian=True, neighbours=relation)
    moved, worst = (1 if relation == "add-remove" else 2), 0.0
    for number, data in enumerate(data_sets(plan.domain.shape(), 5, 12)):
        transcript, known = drawn(plan, data, number)
        rounds = views(plan, transcript, known)
        _, choices = logarithms(plan, transcript, rounds, data)
        for other in neighbours_of(data, relation):
            _, others = logarithms(plan, transcript, rounds, other)
            for one, (p, _), (q, _) in zip(plan.rounds, choices, others, strict=True):
                for order in (1.01, 2, 4, 16):
                    rate = renyi(p, q, order) / order / float(one.selection.price(moved))
                    worst = max(worst, rate)
    assert worst <= 1 + 1e-9
    assert worst > 0.25  # A selection at twice its rate, four times the ρ, would be seen.


@pytest.mark.parametrize("fault", ["rate", "moved", "weight"])
def test_a_wrong_sensitivity_is_found(fault):
    """Three faults, planted: a rate twice as high, a replaced record priced as an added one, a weight left out."""
    case, relation = (WEIGHED, "add-remove") if fault == "weight" else (BINARY, "replace")
    plan = planned(*case, gaussian=False, neighbours=relation)
    stated = max(float(one.selection.price(1 if relation == "add-remove" else 2)) for one in plan.rounds)
    factor = {"rate": 2, "moved": 2, "weight": plan.candidates.weight}[fault]
    wrong = tuple(
        replace(one, selection=replace(one.selection, rate=one.selection.rate * factor)) for one in plan.rounds
    )
    _, single = worst_losses(replace(plan, rounds=wrong), relation)
    assert single > stated + 1e-9


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("gaussian", [False, True])
def test_what_is_selected_has_the_chances_that_are_priced(gaussian, relation):
    """Three thousand first rounds against the exact distribution: χ² with two degrees of freedom."""
    plan = planned(*BINARY, gaussian=gaussian, neighbours=relation, rounds=1, budget=Fraction(4))
    data = np.array([[[9, 1], [2, 3]], [[0, 4], [3, 8]]])
    transcript, known = drawn(plan, data, 1)
    fixed = transcript[: len(plan.measurements)]
    view = views(plan, transcript, known)[0]
    counts, one = tables_of(plan, data), plan.rounds[0]
    losses = [loss(view, margin, counts(margin), one) for margin in view.offered]
    wanted = np.array(chances(losses, one.selection))
    assert np.ptp(wanted) > 0.02
    generator, found = Generator.seeded("chances"), np.zeros(len(wanted))
    rounds = 3000
    from margrave.measure import looking

    losses = np.array(losses, dtype=object)
    for _ in range(rounds):
        found[looking._draw(one, losses, generator)] += 1
    off = ((found - rounds * wanted) ** 2 / (rounds * wanted)).sum()
    assert off < 20
    assert len(look(plan, counts, fixed, known, generator)) == len(fixed) + 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("pure", [False, True])
def test_rounds_cost_the_same_before_and_after_whatever_was_selected(neighbours, records, pure):
    plan = planned(*MIXED, gaussian=not pure, neighbours=neighbours)
    protection = Protection(neighbours, (), records)
    before = cost(plan.domain, plan.measurements, protection, plan.rounds)
    data = np.ones(plan.domain.shape(), dtype=np.int64)
    for seed in range(4):
        transcript, _ = drawn(plan, data, seed)
        after = cost(plan.domain, [one.measurement for one in transcript], protection)
        assert after == before


def test_a_selection_must_pay_in_the_unit_of_its_noise():
    plan = planned(*BINARY, gaussian=True, neighbours="add-remove")
    mixed = (Round(replace(plan.rounds[0].selection, pure=True), plan.rounds[0].noise),)
    with pytest.raises(Exception, match="unit of the noise"):
        cost(plan.domain, plan.measurements, plan.protection, mixed)


@pytest.mark.parametrize(("rate", "weight"), [(0, 1), (-1, 1), (1, 0)])
def test_a_selection_needs_a_rate_and_a_weight(rate, weight):
    with pytest.raises(Exception, match="rate above zero"):
        Selection(Fraction(rate), True, weight)


def test_the_price_of_a_selection_is_that_of_the_exponential_mechanism():
    assert Selection(Fraction(1, 2), True, 3).price(2) == 6
    assert Selection(Fraction(1, 2), False, 3).price(2) == Fraction(36, 8)
    plan = planned(*BINARY, gaussian=True, neighbours="add-remove")
    assert isinstance(plan.cost, ZCDP)


def with_rest(case, relation, budget=2):
    amount = ZCDP(Fraction(budget))
    return make_plan(spec_of(*case, amount, strategy="adaptive", neighbours=relation))


def moved(plan, data, other, measurements):
    """ρ between two data sets, of measurements that are the same for both: Σ ‖move‖² / (2σ²), exactly."""
    here, there = tables_of(plan, data), tables_of(plan, other)
    total = Fraction(0)
    for one in measurements:
        step = answer(plan.domain, one.query, here(one.query.margin) - there(one.query.margin))
        total += Fraction(int((step**2).sum())) / (2 * one.noise.sigma_squared)
    return total


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("case", [BINARY, MIXED, WEIGHED])
def test_what_the_rest_goes_to_costs_no_neighbours_more_than_it_states(case, relation):
    """Whatever was seen, and however the rest was divided by it: all neighbours of random data sets."""
    plan, worst, divisions = with_rest(case, relation), Fraction(0), set()
    for number, data in enumerate(data_sets(plan.domain.shape(), 9, 8)):
        transcript, _ = drawn(plan, data, number)
        ended = [one.measurement for one in transcript if one.measurement.parts]
        assert sum(one.parts for one in ended) == plan.rest.parts
        divisions.add(tuple(one.parts for one in ended))
        worst = max(worst, *(moved(plan, data, other, ended) for other in neighbours_of(data, relation)))
    assert len(divisions) > 4  # It does depend on what was seen.
    assert worst <= plan.rest.price
    assert worst == plan.rest.price if relation == "add-remove" else worst > plan.rest.price / 2


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_plan_with_a_rest_costs_the_same_before_and_after(relation):
    plan = with_rest(MIXED, relation)
    for seed in range(4):
        transcript, _ = drawn(plan, np.ones(plan.domain.shape(), dtype=np.int64), seed)
        after = plan.grown(one.measurement for one in transcript)
        assert after.cost == plan.cost and not after.rest


def test_the_rest_is_divided_by_noisy_answers_alone():
    """The same answers of another data set lead to the same division: it has nothing else to go by."""
    plan = with_rest(MIXED, "add-remove")
    data = data_sets(plan.domain.shape(), 3, 1)[0]
    transcript, known = drawn(plan, data, 1)
    before = [one for one in transcript if not one.measurement.parts]
    *_, told = told_before(plan, before, known)
    again = divided(plan, told)
    made = [one.measurement for one in transcript if one.measurement.parts]
    assert {one.query.margin for one in again} == {one.query.margin for one in made}
    np.testing.assert_allclose([one.parts for one in again], [one.parts for one in made], atol=2, rtol=0.02)


def test_noise_of_half_the_variance_in_the_rest_would_be_seen():
    plan = with_rest(BINARY, "add-remove")
    data = data_sets(plan.domain.shape(), 3, 1)[0]
    ended = [one.measurement for one in drawn(plan, data, 1)[0] if one.measurement.parts]
    wrong = [replace(one, noise=one.noise.dearer(Fraction(2))) for one in ended]
    assert max(moved(plan, data, other, wrong) for other in neighbours_of(data, "add-remove")) > plan.rest.price
