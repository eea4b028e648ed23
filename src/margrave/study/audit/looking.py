"""The audit of a plan that looks at the data: its price by another route, selections alone, and whole transcripts.

A *transcript* is all that leaves: the fixed answers, and of each round what was selected and its noisy counts. How
likely a selection was is computed here anew, from the answers before it: nothing of how a round weighs its candidates
is used. A selection is a small part of what a transcript loses, so that a fault in it would not show there. So
selections are audited alone as well: at a rate at which they state much, on made-up counts on which they come near it,
and always after the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import pi, sqrt

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Margin
from margrave.algebra.query import Query, answer
from margrave.budget.events import Round
from margrave.budget.units import ZCDP, Budget, PureDP, amount
from margrave.crossing import Answer, Measured
from margrave.noise import Generator
from margrave.pipeline import release, select_again
from margrave.planning.forecast.accuracy import Accuracy
from margrave.planning.limits import MODEL_CELLS
from margrave.planning.plan import Plan
from margrave.planning.publication.publishing import used_domain
from margrave.reconstruct.graphical.selected import answers_of, learned
from margrave.reconstruct.graphical.trees import tree_cells
from margrave.reconstruct.unbiased import Fit
from margrave.study.audit.bounds import loss_at_least
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.mechanism import audit_mechanism, log_ratio, together
from margrave.study.audit.neighbours import Codes, Exchange, answers, table, worst
from margrave.study.audit.releases import DataPair, fast, made_up, neighbours_of, plain_plan

_STATED = Fraction(2)
"""The ε of the selection that is audited alone: what many samples show best."""
_OTHERS, _TRIES = 12, 300
"""So many records that both data sets have, drawn at random so many times: the most telling ones are taken."""
_LIKELY = 0.01
"""So often other data sets are taken to make a selection as well, when the most telling one is looked for: samples do
not tell less than that from nothing.
"""
_SLOWER = 10
"""A transcript takes so many times as long as a release of fixed measurements, about: there are as many times fewer."""
_FEWEST = 8

Counts = Mapping[Margin, Integers]


def audit_looking(plan: Plan, effort: Effort) -> Audit:
    """Price, noise, selections and transcripts of a plan with rounds."""
    audited = neighbours_of(plan, worst(plan, effort.seed).move)
    findings = (
        price_again(plan, effort.seed),
        audit_mechanism(fast(plan, audited), effort),
        selection_alone(plan, effort),
        transcripts(plan, audited, effort),
    )
    remarks = (
        f"A selection alone is audited at a rate that states {_STATED}, on made-up counts, after fixed answers.",
        "Recoding is not audited: the data sets are made of the declared values.",
    )
    return Audit("a release that looks at the data", effort.confidence, findings, remarks)


def price_again(plan: Plan, seed: int | str) -> Finding:
    """What a plan costs, by the dearest move."""
    found = worst(plan, seed)
    price = found.price + _rounds_price(plan, found.move)
    return Finding("price", "recomputed", float(amount(plan.cost)), float(price), found.moves, found.complete)


def _rounds_price(plan: Plan, move: Exchange) -> Fraction:
    """What all rounds cost for a move, whichever candidates are selected: losses move no further than their counts."""
    total, steps = Fraction(0), []
    for margin, weight in zip(plan.candidates.margins, plan.candidates.weights, strict=True):
        change = np.ravel(table(plan, move.put, margin) - table(plan, move.taken, margin)).tolist()
        steps.append((weight, sum(map(abs, change)), sum(step * step for step in change)))
    for one in plan.rounds:
        epsilon = 2 * one.selection.rate * max(weight * l1 for weight, l1, _ in steps)
        total += epsilon if one.selection.pure else epsilon**2 / 8
        total += max(one.noise.price(l1, l2_squared) for _, l1, l2_squared in steps)
    if plan.rest:
        total += plan.rest.parts * max(_part_price(plan, query, move) for query in plan.dividing)
    return total * int(plan.protection.records**plan.cost.power)


def _part_price(plan: Plan, query: Query, move: Exchange) -> Fraction:
    """What one part of the rest costs for a move, if the query gets it."""
    sides = (answer(plan.domain, query, table(plan, side, query.margin)) for side in (move.put, move.taken))
    put, taken = (side.ravel().tolist() for side in sides)
    steps = [one - other for one, other in zip(put, taken, strict=True)]
    one = plan.rest.measurement(plan.domain, query, 1, plan.measurements[0].noise, plan.protection)
    return one.noise.price(sum(map(abs, steps)), sum(step * step for step in steps))


def _priced(pure: bool, epsilon: Fraction) -> Budget:
    return PureDP(epsilon) if pure else ZCDP(epsilon**2 / 8)


def likelihoods(plan: Plan, one: Round, before: Measured, counts: Counts) -> dict[Margin, float]:
    """About the logarithm of each candidate's probability in a round that follows these answers.

    By the exponential mechanism, also where permute-and-flip is used, and as if every candidate could be selected
    again: a score need not be more.
    """
    measured = tuple(answer.measurement for answer in before.answers)
    selected = [answer.query.margin for answer in measured if answer.selection is not None]
    accuracy, domain = Accuracy(plan.domain, measured, plan.exact, ()), used_domain(plan)
    told = learned(answers_of(Fit(accuracy, before), domain, selected), domain, selected)
    model, scores = told.model, {}
    for margin, weight in zip(plan.candidates.margins, plan.candidates.weights, strict=True):
        if model.tree.home(margin) is None and tree_cells(domain, [*told.taken, margin]) > MODEL_CELLS:
            continue
        expected = model.margin(margin)
        left = 1 / (1 / accuracy.cell_variance(margin) + (2 if plan.rest else 1) / one.noise.variance)
        wrong = np.abs(counts[margin] - np.rint(expected)).sum() - np.minimum(sqrt(2 / pi * left), expected).sum()
        scores[margin] = float(one.selection.rate) * weight * float(wrong)
    top = np.logaddexp.reduce(list(scores.values()))
    return {margin: float(score - top) for margin, score in scores.items()}


@dataclass(frozen=True)
class _Telling:
    """Counts of two neighbours, the answers before a round, and for each candidate how far it speaks for the first.

    ``shown``: about the loss that the most telling candidate shows.
    """

    near: Counts
    far: Counts
    before: Measured
    speaks: dict[Margin, float]
    shown: float


def selection_alone(plan: Plan, effort: Effort) -> Finding:
    """One selection on two neighbouring data sets, after answers that are the same for both, many times over."""
    first = plan.rounds[0]
    rate = _STATED / (2 * first.selection.weight * _moved(plan))
    one = Round(replace(first.selection, rate=rate), first.noise)
    alone, generator = replace(plan, rounds=(one,)), Generator.seeded(f"{effort.seed} selections")
    tried = (_tried(alone, one, generator) for _ in range(_TRIES))
    telling = max(tried, key=lambda found: found.shown)
    drawn: list[Floats] = []
    for name, counts in (("near", telling.near), ("far", telling.far)):
        chosen = select_again(alone, counts, telling.before, effort.samples // 8, f"{effort.seed} {name}")
        drawn.append(np.array([telling.speaks.get(margin, 0.0) for margin in chosen]))
    stated = _priced(one.selection.pure, _STATED)
    shown = loss_at_least(stated, drawn[0], drawn[1], effort.confidence)
    return Finding("a selection alone", "sampled", float(stated.amount), shown.loss, 2 * len(drawn[0]))


def _moved(plan: Plan) -> int:
    """How many cells of a table one record changes, as whoever reads the spec would say."""
    return 2 if plan.spec.neighbours == "replace" else 1


def _tried(plan: Plan, one: Round, generator: Generator) -> _Telling:
    """Records at random, one of which comes or is replaced."""
    shape = plan.spec.domain.shape(_names(plan))
    drawn = np.stack([generator.below(size, _OTHERS + 2) for size in shape], axis=1)
    *others, new, old = [tuple(map(int, row)) for row in drawn]
    far: list[Codes] = [*others, old] if plan.spec.neighbours == "replace" else others
    near = [*others, new]
    truth = answers(plan, far)
    exact = tuple(Answer(measurement, counts) for measurement, counts in zip(plan.measurements, truth, strict=True))
    before = Measured(exact, {(): np.array(len(far))} if plan.exact else {}, private=False)
    sides = [{margin: table(plan, side, margin) for margin in plan.candidates.margins} for side in (near, far)]
    here, there = (likelihoods(plan, one, before, side) for side in sides)
    speaks = {margin: here[margin] - there[margin] for margin in here}
    chances = ((np.exp(here[margin]), np.exp(there[margin])) for margin in here)
    shown = max(abs(np.log((p + _LIKELY) / (q + _LIKELY))) for p, q in chances)
    return _Telling(sides[0], sides[1], before, speaks, float(shown))


def _names(plan: Plan) -> Margin:
    return plan.spec.domain.margin({name for margin in plan.candidates.margins for name in margin})


def transcripts(plan: Plan, audited: DataPair, effort: Effort) -> Finding:
    """Whole releases of both data sets, scored by how much likelier noises and selections are on the near one."""
    runs = max(_FEWEST, effort.releases // _SLOWER) // 2
    audited = replace(audited, units=together(plan.cost, runs))
    sides = [(*audited.others, *audited.side(near) * (audited.units * audited.records)) for near in (True, False)]
    counts = [{margin: table(plan, side, margin) for margin in plan.looked} for side in sides]
    fixed = [answers(plan, side) for side in sides]
    scores: list[Floats] = []
    for near in (True, False):
        data, found = made_up(plan, audited, near), []
        for run in range(runs):
            out = release(plain_plan(plan), data, seed=f"{effort.seed} {near} {run}").measured
            found.append(_score(plan, out, fixed, counts))
        scores.append(np.array(found))
    shown = loss_at_least(plan.cost, scores[0], scores[1], effort.confidence)
    times = audited.units**plan.cost.power
    return Finding("whole transcripts", "sampled", float(plan.cost.amount), shown.loss / times, 2 * runs)


def _score(plan: Plan, made: Measured, fixed: Sequence[list[Integers]], counts: Sequence[Counts]) -> float:
    score, known, ended = 0.0, len(plan.measurements), len(plan.measurements) + len(plan.rounds)
    for drawn, x, y in zip(made.answers[:known], fixed[0], fixed[1], strict=True):
        score += float(log_ratio(drawn.measurement.noise, drawn.outputs.reshape(x.shape), x, y).sum())
    for at, (one, drawn) in enumerate(zip(plan.rounds, made.answers[known:ended], strict=True), start=known):
        margin = drawn.measurement.query.margin
        x, y = (side[margin] for side in counts)
        score += float(log_ratio(one.noise, drawn.outputs.reshape(x.shape), x, y).sum())
        earlier = replace(made, answers=made.answers[:at])
        here, there = (likelihoods(plan, one, earlier, side) for side in counts)
        score += here.get(margin, 0.0) - there.get(margin, 0.0)
    for drawn in made.answers[ended:]:
        query = drawn.measurement.query
        x, y = (answer(plan.domain, query, side[query.margin]) for side in counts)
        score += float(log_ratio(drawn.measurement.noise, drawn.outputs.reshape(x.shape), x, y).sum())
    return score
