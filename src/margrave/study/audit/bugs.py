"""Known bugs as mechanisms: each states a privacy that it does not have, and the auditor must find it.

They wrap plans and noise from outside. Nothing here is reachable from a release, and nothing that is can weaken noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, floor, log

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.budget.units import Budget, PureDP
from margrave.noise import DiscreteLaplace, Generator
from margrave.planning.plan import Plan
from margrave.planning.planner import make_plan
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.spec import Spec
from margrave.spec.workload import PublicFact, Wanted
from margrave.study.audit.exact import loss_of
from margrave.study.audit.findings import Effort, Finding
from margrave.study.audit.mechanism import Audited, audit_mechanism, noisy_answers
from margrave.study.audit.neighbours import Exchange, worst
from margrave.study.audit.releases import DataPair, neighbours_of

LADDER = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Numbers of samples that are tried in turn."""
_ONE = PureDP(Fraction(1))


@dataclass(frozen=True)
class Bug:
    """A bug in words, the loss that it really has between two neighbours, and the mechanism that has it."""

    name: str
    words: str
    really: float
    mechanism: Audited

    @property
    def stated(self) -> float:
        return self.mechanism.allowed


@dataclass(frozen=True)
class Caught:
    """A bug, and from how many samples on the auditor found it; 0 if it did not. ``finding``: what it found then."""

    bug: Bug
    samples: int
    finding: Finding


def _spec(sizes: tuple[int, ...], tables: tuple[str, ...], **settings: object) -> Spec:
    entries = (
        CodebookEntry(name, Categories(tuple(map(str, range(size))))) for name, size in zip("abcd", sizes, strict=False)
    )
    wanted = tuple(Wanted(tuple(table)) for table in tables)
    return Spec(Codebook(tuple(entries)), _ONE, wanted, **settings)  # type: ignore[arg-type]


def _audited(name: str, plan: Plan, audited: DataPair, stated: Budget, narrower: int = 1) -> Audited:
    """The plan on two data sets, with noise of a scale that is divided by ``narrower``."""
    noises = [one.noise for one in plan.measurements]
    really = [DiscreteLaplace(noise.scale / narrower) for noise in noises if isinstance(noise, DiscreteLaplace)]
    near, far = audited.answers(plan, True), audited.answers(plan, False)
    return noisy_answers(name, stated, noises, near, far, really=really)


def scale_halved() -> Bug:
    """Laplace noise of scale 1/(2ε), as if a factor of 2 in a formula were forgotten."""
    plan = make_plan(_spec((2, 2, 2), ("ab", "bc")))
    audited = neighbours_of(plan, worst(plan, "bug").move)
    mechanism = _audited("scale halved", plan, audited, _ONE, 2)
    return Bug("scale halved", "the noise has half the scale that it should have", 2.0, mechanism)


def replace_forgotten() -> Bug:
    """A plan for adding or removing a record, said to protect against replacing one."""
    plan = make_plan(_spec((2, 2, 2), ("ab", "bc"), strategy="base"))
    audited = neighbours_of(plan, Exchange(((0, 0, 0),), ((1, 1, 1),)))
    mechanism = _audited("replace forgotten", plan, audited, _ONE)
    return Bug("replace forgotten", "priced for add-remove, stated for replace", 2.0, mechanism)


def facts_forgotten() -> Bug:
    """A plan that knows nothing of the public one-way tables, on two data sets that agree on them."""
    public = tuple(PublicFact((name,)) for name in "abc")
    careful = make_plan(_spec((2, 2, 2), ("ab", "bc"), public=public, induced="worst-case"))
    forgetful = make_plan(_spec((2, 2, 2), ("ab", "bc")))
    with_facts = replace(forgetful, spec=careful.spec)
    found = worst(with_facts, "bug")
    mechanism = _audited("facts forgotten", forgetful, neighbours_of(forgetful, found.move), _ONE)
    return Bug("facts forgotten", "public tables are not in the price", float(found.price), mechanism)


def retried() -> Bug:
    """A release that failed after its noise was drawn is made again with fresh noise, and both can be seen."""
    noise = DiscreteLaplace(Fraction(1))
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    mechanism = noisy_answers("retry", _ONE, [noise, noise], [zero, zero], [one, one])
    return Bug("retry", "fresh noise after a failure, charged once", 2.0, mechanism)


def unit_unbounded() -> Bug:
    """A unit may own one record, and the bound is applied before a step that brings its others back."""
    plan = make_plan(_spec((2, 2), ("ab",)))
    audited = replace(neighbours_of(plan, worst(plan, "bug").move), records=3)
    mechanism = _audited("unit bound undone", plan, audited, _ONE)
    return Bug("unit bound undone", "three records of one person counted, one priced", 3.0, mechanism)


def delta_forgotten(delta: Fraction = Fraction(1, 1000)) -> Bug:
    """Noise that is cut off, so that its end tells the truth with probability about δ, said to be pure."""
    noise, reach = DiscreteLaplace(Fraction(1)), _reach(delta)

    def draw(near: bool, count: int, generator: Generator) -> Floats:
        # The count is 1 in the near data set and 0 in the far one: the largest output can only come from the near.
        return np.clip(noise.sample(count, generator), -reach, reach).astype(np.float64) + float(near)

    mechanism = Audited("delta forgotten", _ONE, draw)
    p, q = delta_probabilities(delta)
    words = f"noise cut off at {reach}: the truth is told with probability {float(p[-1]):.1g}, and no δ is stated"
    return Bug("delta forgotten", words, loss_of(p, q), mechanism)


def _reach(delta: Fraction) -> int:
    """Where to cut discrete Laplace noise of scale 1 so that an end has a probability of δ or a little more."""
    return max(1, floor(log(1 / (float(delta) * (1 + exp(-1))))))


def delta_probabilities(delta: Fraction) -> tuple[Floats, Floats]:
    """The exact probabilities of every output, where the count is 1 and where it is 0."""
    noise, reach = DiscreteLaplace(Fraction(1)), _reach(delta)
    z = np.arange(-reach, reach + 1)
    inside = noise.pmf(z)
    inside[[0, -1]] += (1 - inside.sum()) / 2
    return np.append(0.0, inside), np.append(inside, 0.0)


BUGS: dict[str, Callable[[], Bug]] = {
    "scale halved": scale_halved,
    "replace forgotten": replace_forgotten,
    "facts forgotten": facts_forgotten,
    "retry": retried,
    "unit bound undone": unit_unbounded,
    "delta forgotten": delta_forgotten,
}


def catch(bug: Bug, effort: Effort) -> Caught:
    """Look with more and more samples until the bug is found, or the samples are used up."""
    finding = Finding(bug.name, "sampled", bug.stated, 0.0)
    for samples in LADDER:
        if samples > effort.samples:
            break
        finding = audit_mechanism(bug.mechanism, replace(effort, samples=samples))
        if finding.violated:
            return Caught(bug, samples, finding)
    return Caught(bug, 0, finding)
