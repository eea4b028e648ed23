"""Audits of local collections and of joins: their mechanisms are small enough for exact probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import exp, log

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.budget.units import ApproxDP, PureDP
from margrave.noise import DiscreteLaplace, Generator, Noise, TruncatedLaplace
from margrave.noise.tape import Tape
from margrave.planning.join.noise import PairNoise
from margrave.planning.join.plan import JoinPlan
from margrave.planning.local.mechanism import Mechanism
from margrave.planning.local.plan import LocalPlan
from margrave.study.audit.exact import loss_of
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.mechanism import Audited, audit_mechanism

_MOST_CHANCES = 40_000
"""Chances of symbols that are computed for one question, at most."""
_MOST_REPORTS = 20_000

Hiding = DiscreteLaplace | TruncatedLaplace


def audit_local(plan: LocalPlan, effort: Effort) -> Audit:
    """Every question of a collection: the chances of its symbols under all answers, then reports as devices draw
    them."""
    epsilon = float(plan.cost.epsilon)
    findings, remarks = [], ["That she took part is not protected, and not audited."]
    for number, one in enumerate(plan.questions, 1):
        ratio, looked, whole = largest_ratio(one.mechanism)
        name = f"question {number}: {', '.join(one.margin)}, {one.mechanism.name}"
        findings.append(Finding(name, "exact", epsilon, log(ratio), looked, whole))
        if not whole:
            remarks.append(f"Question {number} has too many symbols to look at all.")
    dearest = max(plan.questions, key=lambda one: one.mechanism.cells)
    reports = Effort(min(effort.samples, _MOST_REPORTS), effort.releases, effort.confidence, effort.seed)
    findings.append(audit_mechanism(_reported(dearest.mechanism, plan.cost), reports))
    return Audit("a local collection", effort.confidence, tuple(findings), tuple(remarks))


def largest_ratio(mechanism: Mechanism) -> tuple[float, int, bool]:
    """How much more likely a symbol is under one answer than under another, at most; how many chances were looked
    at."""
    answers = [tuple(map(int, codes)) for codes in np.ndindex(*mechanism.shape)]
    most = max(2, _MOST_CHANCES // len(answers))
    symbols = list(islice(mechanism.symbols(), most + 1))
    largest = 1.0
    for symbol in symbols[:most]:
        chances = [mechanism.chance(answer, symbol) for answer in answers]
        if min(chances) == 0 < max(chances):
            return float("inf"), len(symbols) * len(answers), False
        if max(chances) > 0:
            largest = max(largest, float(max(chances) / min(chances)))
    return largest, min(len(symbols), most) * len(answers), len(symbols) <= most


def _reported(mechanism: Mechanism, stated: PureDP) -> Audited:
    """Reports of two respondents who differ in every answer, one by one as their devices draw them."""
    near = tuple(0 for _ in mechanism.shape)
    far = tuple(size - 1 for size in mechanism.shape)

    def draw(of_near: bool, count: int, generator: Generator) -> Floats:
        tape = Tape.of(generator)
        drawn = (mechanism.encode(near if of_near else far, tape) for _ in range(count))
        ratios = (mechanism.chance(near, symbol) / mechanism.chance(far, symbol) for symbol in drawn)
        return np.array([log(ratio) for ratio in ratios])

    return Audited("reports as devices draw them", stated, draw)


def audit_join(plan: JoinPlan, effort: Effort) -> Audit:
    """What the public and the other owner see of one person, by the exact probabilities of the noise."""
    findings = list(_seen(plan))
    remarks = ("The protocol itself is not audited: both owners are supposed to keep to it.",)
    return Audit("a join", effort.confidence, tuple(findings), remarks)


def _seen(plan: JoinPlan) -> Iterator[Finding]:
    noise, z = plan.noise, _window(plan)
    for place, owner in enumerate(plan.spec.owners):
        moves = 2 if owner.neighbours == "replace" else 1
        public = noise.public_cost(owner.neighbours)
        assert isinstance(public, PureDP)
        loss = moves * _pure(noise.published, z)
        yield Finding(f"{owner.name}, to the public", "exact", float(public.epsilon), loss, z.size)
        cost = noise.cost(place, owner.neighbours)
        if isinstance(noise, PairNoise) and isinstance(cost, ApproxDP):
            count = noise.second if place else noise.first
            found = moves * delta_of(count, noise.sizes, float(cost.epsilon) / moves, z)
            name = f"{owner.name}, to the other owner: δ at the stated ε"
            yield Finding(name, "exact", float(cost.delta), found, z.size)


def _window(plan: JoinPlan) -> Floats:
    """Values of the noise beyond which there is next to nothing of it."""
    widest = max(float(noise.variance) for noise in _noises(plan)) ** 0.5
    reach = int(60 * widest) + 4
    return np.arange(-reach, reach + 1).astype(np.float64)


def _noises(plan: JoinPlan) -> tuple[Hiding, ...]:
    noise = plan.noise
    return (noise.first, noise.second, noise.sizes) if isinstance(noise, PairNoise) else (noise.only,)


def _pure(noise: Noise, z: Floats) -> float:
    """The largest log-ratio of the noise and itself moved by one, where it is not next to nothing."""
    p, q = noise.pmf(z), noise.pmf(z - 1)
    there = (p > 1e-280) & (q > 1e-280)
    return loss_of(p[there], q[there])


def delta_of(count: Hiding, sizes: Hiding, epsilon: float, z: Floats) -> float:
    """Σ (P − e^ε Q)₊ over a count and a size that one person moves by one each, both ways, exactly up to rounding."""
    worst = 0.0
    for sign in (1, -1):
        p = np.outer(count.pmf(z), sizes.pmf(z))
        q = np.outer(count.pmf(z - sign), sizes.pmf(z - sign))
        worst = max(worst, float(np.maximum(0.0, p - exp(epsilon) * (1 + 1e-12) * q).sum()))
    return worst
