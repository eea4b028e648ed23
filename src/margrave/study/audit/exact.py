"""What needs no sampling of releases: exact probabilities on small shapes, and exact tests of the samplers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import inf

import numpy as np
from scipy.stats import binom

from margrave.algebra.arrays import Floats
from margrave.budget.units import ZCDP, Budget, PureDP, amount
from margrave.noise import DiscreteGaussian, DiscreteLaplace, Generator, Noise
from margrave.planning.plan import Plan
from margrave.planning.planner import make_plan
from margrave.spec.choices import NEIGHBOURS, STRATEGIES, Strategy
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted
from margrave.study.audit.findings import Audit, Effort, Finding
from margrave.study.audit.neighbours import Exchange, answers, worst

SHAPES: tuple[tuple[tuple[int, ...], tuple[str, ...]], ...] = (
    ((2, 2, 2), ("ab", "bc")),
    ((2, 3, 2), ("ab", "bc")),
    ((3, 1, 2), ("ab", "c")),
    ((3, 4), ("ab",)),
)
BUDGETS: tuple[Budget, ...] = (PureDP(Fraction(1)), ZCDP(Fraction(1, 10)))
SAMPLED: tuple[Noise, ...] = (
    DiscreteLaplace(Fraction(1, 3)),
    DiscreteLaplace(Fraction(1)),
    DiscreteLaplace(Fraction(17, 2)),
    DiscreteGaussian(Fraction(1, 3)),
    DiscreteGaussian(Fraction(2)),
    DiscreteGaussian(Fraction(90)),
)
_WINDOW = 60
_ORDERS = (1.001, 1.5, 2.0, 4.0, 8.0)
_CERTAIN = 1e-9
"""A sampler is called wrong when draws as far off are less likely than this."""

FIXED: tuple[Strategy, ...] = tuple(one for one in STRATEGIES if one != "adaptive")
"""The strategies whose measurements are fixed before data is opened, so that a move is all there is to look at."""


def loss_of(p: Floats, q: Floats) -> float:
    """The largest |log P(o)/Q(o)| over all outcomes: the pure ε of two known distributions."""
    either = (p > 0) | (q > 0)
    if ((p > 0) != (q > 0)).any():
        return inf
    return float(np.abs(np.log(p[either]) - np.log(q[either])).max())


def divergence_of(p: Floats, q: Floats) -> float:
    """The largest D_a(P‖Q)/a over a few orders a: the ρ of two known distributions, from below."""
    inside = (p > 1e-290) & (q > 1e-290)
    logs_p, logs_q = np.log(p[inside]), np.log(q[inside])
    return max(float(np.logaddexp.reduce(a * logs_p + (1 - a) * logs_q)) / (a * (a - 1)) for a in _ORDERS)


def probable_loss(plan: Plan, move: Exchange) -> float:
    """The loss of one move by the probabilities of every output: they are independent, so their losses add up."""
    total = 0.0
    for one, before, after in zip(plan.measurements, answers(plan, move.taken), answers(plan, move.put), strict=True):
        for step in np.ravel(after - before).tolist():
            if step:
                total += _loss(one.noise, step, not one.noise.pure)
    return total


def _loss(noise: Noise, step: int, concentrated: bool) -> float:
    reach = _WINDOW + 2 * abs(step) + (int(20 * noise.variance**0.5) if concentrated else 0)
    z = np.arange(-reach, reach + 1)
    p, q = noise.pmf(z), noise.pmf(z - step)
    if concentrated:
        return divergence_of(p, q)
    here = (p > 1e-290) & (q > 1e-290)
    return loss_of(p[here], q[here])


def audit_mechanisms(effort: Effort) -> Audit:
    """Every strategy on small shapes by exact probabilities over all neighbours, and every sampler by exact tests."""
    findings = [*_shapes(effort), *(audit_sampler(noise, effort) for noise in SAMPLED)]
    return Audit("mechanisms and samplers", effort.confidence, tuple(findings))


def _shapes(effort: Effort) -> Iterator[Finding]:
    for budget, neighbours, strategy in product(BUDGETS, NEIGHBOURS, FIXED):
        losses, moves = [], 0
        for sizes, tables in SHAPES:
            entries = (CodebookEntry("abcd"[i], Categories(tuple(map(str, range(k))))) for i, k in enumerate(sizes))
            wanted = tuple(Wanted(tuple(table)) for table in tables)
            spec = Spec(Codebook(tuple(entries)), budget, wanted, strategy=strategy, neighbours=neighbours)
            plan = make_plan(spec)
            found = worst(plan, effort.seed)
            moves += found.moves
            losses.append(max(float(found.price), probable_loss(plan, found.move)))
        yield Finding(f"{strategy}, {neighbours}, {budget}", "exact", float(amount(budget)), max(losses), moves)


def audit_sampler(noise: Noise, effort: Effort, really: Noise | None = None) -> Finding:
    """How often each value is drawn, and each is exceeded, by exact binomial tests.

    ``found``: how many times nine digits the probability of draws as far off has; ``stated`` 1 stands for 10⁻⁹, the
    chance of accusing a sampler that is right.
    """
    count = effort.samples
    drawn = (really or noise).sample(count, Generator.seeded(f"{effort.seed} {noise}"))
    reach = max(2, int(4 * noise.variance**0.5))
    values, limits = np.arange(-reach, reach + 1), np.arange(reach)
    hits = np.array(
        [
            *(int((drawn == value).sum()) for value in values.tolist()),
            *(int((np.abs(drawn) > limit).sum()) for limit in limits.tolist()),
        ]
    )
    chances = np.concatenate([noise.pmf(values), noise.tail(limits)])
    below, above = binom.cdf(hits, count, chances), binom.sf(hits - 1, count, chances)
    least = float(np.minimum(1.0, 2 * np.minimum(below, above)).min()) * len(hits)
    digits = -np.log10(max(least, 1e-300)) / -np.log10(_CERTAIN)
    return Finding(f"sampler {noise}", "exact", 1.0, max(0.0, float(digits)), count)
