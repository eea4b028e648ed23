"""Something that can be sampled on two neighbouring data sets, with the privacy that it states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Protocol

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.budget.units import Budget
from margrave.noise import Generator, Noise
from margrave.study.audit.bounds import loss_at_least
from margrave.study.audit.findings import Effort, Finding

_LEAST = 1e-300
_BEYOND = 1e-6
_AT_ONCE = 1 << 20
_TELLING = 3.0
"""The loss that many releases show best: where a step loses less, several are made together."""
_MOST_STEPS = 20


@dataclass(frozen=True)
class Audited:
    """``draw(near, count, generator)``: scores of so many releases of the near data set, or of the far one.

    A high score speaks for the near one. ``steps``: how many neighbours apart the two are.
    """

    name: str
    stated: Budget
    draw: Callable[[bool, int, Generator], Floats]
    steps: int = 1

    @property
    def allowed(self) -> float:
        """The loss that is stated between the two data sets."""
        return float(self.stated.amount * self.steps**self.stated.power)


def audit_mechanism(mechanism: Audited, effort: Effort) -> Finding:
    """A lower bound on the loss, from half of the samples on each data set."""
    generator = Generator.seeded(f"{effort.seed} {mechanism.name}")
    near, far = (mechanism.draw(which, effort.samples // 2, generator) for which in (True, False))
    shown = loss_at_least(mechanism.stated, near, far, effort.confidence)
    return Finding(mechanism.name, "sampled", mechanism.allowed, shown.loss, effort.samples)


class Spread(Protocol):
    """Whatever is added, as far as probabilities tell it apart."""

    @property
    def variance(self) -> float: ...

    def pmf(self, values: Any) -> Floats: ...


def together(stated: Budget, releases: int) -> int:
    """How many units make the same step, so that together they lose about what so many releases of a side show best.

    Events that always happen here, and never there, show about log(releases / 10): more could not be seen.
    """
    loss, telling = float(stated.amount), min(_TELLING, 0.75 * log(max(20, releases) / 10))
    return max(1, min(_MOST_STEPS, round(float((telling / loss) ** (1 / stated.power)))))


def log_ratio(noise: Spread, outputs: Integers, near: Integers, far: Integers) -> Floats:
    """log P(outputs | near) / P(outputs | far) for one noise, output by output.

    For Laplace noise it is the same for all outputs beyond both. There a little is added for how far beyond they are:
    who moves an answer farther than is stated shows up there.
    """
    here, there = noise.pmf(outputs - near), noise.pmf(outputs - far)
    ratio = np.log(np.maximum(here, _LEAST)) - np.log(np.maximum(there, _LEAST))
    return np.asarray(ratio + _BEYOND * (outputs - near) * np.sign(near - far) / noise.variance**0.5)


def noisy_answers(
    name: str,
    stated: Budget,
    noises: Sequence[Noise],
    near: Sequence[Integers],
    far: Sequence[Integers],
    *,
    really: Sequence[Noise] | None = None,
    steps: int = 1,
) -> Audited:
    """Exact answers with independent noise on each output; only outputs that differ between the two tell anything.

    ``really``: the noise that is drawn, if it is not the one that is stated. The score is the likelihood ratio under
    the stated noise.
    """
    moved: Counter[tuple[Noise, Noise, int]] = Counter()
    for said, drawn, x, y in zip(noises, really or noises, near, far, strict=True):
        for move in (y.ravel() - x.ravel()).tolist():
            if move:
                moved[said, drawn, abs(move)] += 1

    def draw(of_near: bool, count: int, generator: Generator) -> Floats:
        scores = np.zeros(count)
        for (said, drawn, move), times in moved.items():
            truth = np.int64(0 if of_near else move)
            for _ in range(times):
                for start in range(0, count, _AT_ONCE):
                    part = scores[start : start + _AT_ONCE]
                    outputs = drawn.sample(part.size, generator) + truth
                    part += log_ratio(said, outputs, np.int64(0), np.int64(move))  # type: ignore[arg-type]
        return scores

    return Audited(name, stated, draw, steps)
