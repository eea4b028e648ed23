"""The runs: two coins repeated, how many must answer, and the same tables by a curator and without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import ceil, exp, log, sqrt
from typing import Any

import numpy as np

from margrave import examples, pipeline
from margrave.algebra.arrays import Integers
from margrave.budget.units import PureDP
from margrave.local.simulate import simulate
from margrave.noise import Generator
from margrave.planning.local.cells import Response
from margrave.planning.local.odds import Odds
from margrave.planning.local.plan import make_local_plan
from margrave.planning.local.spec import LocalSpec
from margrave.reconstruct.local import LocalFit
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted

Progress = Callable[[int, int | None], None]

ASKED, THROWS = 1000, 2000
"""How many are asked, and how often at least: coins are cheap."""
SHARES = (0.05, 0.1, 0.3, 0.5)
EPSILONS = tuple(Fraction(text) for text in ("0.25", "0.5", "1", "1.0986122886681098", "2", "4"))
EXAMPLE = "czech"
ERROR = 0.01
"""The standard error for which respondents are counted."""


@dataclass(frozen=True)
class Throws:
    """Two coins thrown by ``ASKED`` respondents, again and again: what came out, beside what the formulas say.

    ``yes``: how many said yes on average. ``printed``: what the slides print for that, pn/2 + 1/4.
    """

    share: float
    yes: float
    expected: float
    printed: float
    estimate: float
    variance: float
    formula: float


@dataclass(frozen=True)
class Needed:
    """How many must answer for a standard error of `ERROR` if half say yes; ``plain`` without any coin."""

    epsilon: float
    respondents: int
    plain: int


@dataclass(frozen=True)
class Both:
    """The root mean squared error of a share in the same one-way tables: by a curator, and without one."""

    epsilon: float
    central: float
    local: float
    forecast: float


@dataclass(frozen=True)
class WarnerSummary:
    """Everything that was found, in ``runs`` repetitions; ``people`` is the number of records of the example."""

    runs: int
    people: int
    coins: tuple[Throws, ...]
    needed: tuple[Needed, ...]
    both: tuple[Both, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def noise_variance(epsilon: float) -> float:
    """What the coins add to n times the variance of p̂: e^ε/(e^ε − 1)², which is 3/4 for ε = ln 3."""
    return exp(epsilon) / (exp(epsilon) - 1) ** 2


def thrown(share: float, runs: int) -> Throws:
    """Two coins for each of ``ASKED`` people, of whom this share would truthfully say yes."""
    coin = Response((2,), Odds(3, 1))
    generator = Generator.seeded(f"warner {share}")
    truth = np.zeros((runs * ASKED, 1), dtype=np.int64)
    truth[generator.below(10**6, len(truth)) < round(share * 10**6)] = 1
    said = coin.encode_many(truth, generator)[0].reshape(runs, ASKED).sum(axis=1)
    estimates = 2 * said / ASKED - 0.5
    expected = share * ASKED / 2 + ASKED / 4
    formula = share * (1 - share) / ASKED + noise_variance(log(3)) / ASKED
    printed = share * ASKED / 2 + 0.25
    return Throws(
        share, float(said.mean()), expected, printed, float(estimates.mean()), float(estimates.var(ddof=1)), formula
    )


def needed(epsilon: Fraction) -> Needed:
    """How the number of respondents grows with privacy."""
    plain = 0.25 / ERROR**2
    return Needed(float(epsilon), ceil(plain + noise_variance(float(epsilon)) / ERROR**2), ceil(plain))


def _people(spec: Spec) -> Integers:
    """The records of the example, which is public, as codes."""
    table = pipeline.count(spec, tables=[spec.domain.names]).table(spec.domain.names).counts
    cells = np.repeat(np.arange(table.size), table.ravel())
    return np.stack(np.unravel_index(cells, spec.domain.shape()), axis=1)


def compared(epsilon: Fraction, runs: int) -> Both:
    """The one-way tables of the example, ``runs`` times by either way."""
    spec = Spec.load(examples.path(EXAMPLE))
    single = tuple(Wanted((name,)) for name in spec.domain.names)
    central = replace(spec, tables=single, all_ways=0, budget=PureDP(epsilon), nonnegative="none")
    people = _people(spec)
    local = make_local_plan(LocalSpec(central.without_data(), len(people)))
    plan, size = pipeline.plan(central), len(people)
    true = {one.margin: np.bincount(people[:, axis]) / size for axis, one in enumerate(single)}
    errors: tuple[list[float], list[float]] = ([], [])
    for run in range(runs):
        out = pipeline.release(plan, seed=f"warner {epsilon} {run}")
        fit = LocalFit.of(local, simulate(local, people, Generator.seeded(f"warner local {epsilon} {run}")))
        for margin, shares in true.items():
            errors[0].append(float(((out.unbiased(margin) / size - shares) ** 2).mean()))
            errors[1].append(float(((fit.shares(margin) - shares) ** 2).mean()))
    found = [sqrt(float(np.mean(one))) for one in errors]
    stated = sqrt(float(np.mean([row.respondents**2 for row in local.forecast])))
    return Both(float(epsilon), found[0], found[1], stated)


def summarised(runs: int, progress: Progress | None = None) -> WarnerSummary:
    """All of it."""
    coins = tuple(thrown(share, max(runs, THROWS)) for share in SHARES)
    both = []
    for done, epsilon in enumerate(EPSILONS):
        both.append(compared(epsilon, runs))
        if progress is not None:
            progress(done + 1, len(EPSILONS))
    size = len(_people(Spec.load(examples.path(EXAMPLE))))
    return WarnerSummary(runs, size, coins, tuple(map(needed, EPSILONS)), tuple(both))
