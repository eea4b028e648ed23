"""The audit of a local collection: the chances of every symbol, then reports as devices make them."""

from __future__ import annotations

from itertools import islice
from math import log

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.budget.units import PureDP
from margrave.noise import Generator
from margrave.noise.tape import Tape
from margrave.planning.local.mechanism import Mechanism
from margrave.planning.local.plan import LocalPlan
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.mechanism import Audited, audit_mechanism

_MOST_CHANCES = 40_000
"""Chances of symbols that are computed for one question, at most."""
_MOST_REPORTS = 20_000


def audit_local(plan: LocalPlan, effort: Effort) -> Audit:
    """Every question of a collection: the chances of its symbols under all answers, then reports as devices draw
    them."""
    findings, remarks = [*chances(plan)], ["That she took part is not protected, and not audited."]
    remarks += [
        f"Question {number} has too many symbols to look at all."
        for number, one in enumerate(findings, 1)
        if not one.complete
    ]
    dearest = max(plan.questions, key=lambda one: one.mechanism.cells)
    reports = Effort(min(effort.samples, _MOST_REPORTS), effort.releases, effort.confidence, effort.seed)
    findings.append(audit_mechanism(_reported(dearest.mechanism, plan.cost), reports))
    return Audit("a local collection", effort.confidence, tuple(findings), tuple(remarks))


def chances(plan: LocalPlan) -> tuple[Finding, ...]:
    """For every question the largest ratio of the chances of a symbol under two answers."""
    found = []
    for number, one in enumerate(plan.questions, 1):
        ratio, looked, whole = largest_ratio(one.mechanism)
        name = f"question {number}: {', '.join(one.margin)}, {one.mechanism.name}"
        found.append(Finding(name, "exact", float(plan.cost.epsilon), log(ratio), looked, whole))
    return tuple(found)


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
