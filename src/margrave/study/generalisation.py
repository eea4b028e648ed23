"""Privacy and generalisation are aligned: a model chosen on private tables fits its own data no better than fresh data.

Many attributes are tabled with an outcome. Those with the strongest association are chosen, and vote. On exact tables
the vote fits the data that it was chosen on much better than fresh data, because chance associations are chosen, too.
What a private release can overfit is bounded by its guarantee (docs/mathematics.md, section 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.budget.units import PureDP
from margrave.errors import UsageError
from margrave.noise import Generator
from margrave.planning.promise.advantage import advantage
from margrave.study.attacks.subjects import Subject, domain_of, uniform

RECORDS, FRESH = 1000, 4000
ATTRIBUTES, TRUE, CHOSEN = 100, 4, 20
"""How many attributes there are, how many really go with the outcome, and how many vote."""
_AGREES = 0.62
EPSILONS = (Fraction(1), Fraction(2), Fraction(5), Fraction(20))
_OUTCOME = "outcome"


@dataclass(frozen=True)
class Predictor:
    """One model: chosen on exact tables (ε None) or on private ones.

    ``own``, ``fresh``: the share of records that it predicts rightly, of those it was chosen on and of others.
    ``true``: how many of the attributes that it chose really go with the outcome. ``most``: the gap that ε allows.
    """

    epsilon: Fraction | None
    own: float
    fresh: float
    true: float
    most: float

    @property
    def gap(self) -> float:
        """How much better it fits its own data."""
        return self.own - self.fresh


def people(count: int, generator: Generator) -> Integers:
    """Records of binary attributes, the outcome last: a few attributes agree with it more often than not."""
    bits = (uniform(generator, count * (ATTRIBUTES + 1)) < 0.5).reshape(count, ATTRIBUTES + 1).astype(np.int64)
    agrees = uniform(generator, count * TRUE).reshape(count, TRUE) < _AGREES
    bits[:, :TRUE] = np.where(agrees, bits[:, -1:], 1 - bits[:, -1:])
    return bits


def associations(tables: Sequence[Floats]) -> Floats:
    """For each two-way table of an attribute with the outcome, agreements minus disagreements."""
    return np.array([table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0] for table in tables])


def right(records: Integers, found: Floats) -> float:
    """How often the vote of the strongest associations predicts the outcome."""
    chosen = np.argsort(-np.abs(found), kind="stable")[:CHOSEN]
    votes = (2 * records[:, chosen] - 1) @ np.sign(found[chosen])
    return float(((votes > 0) == (records[:, -1] == 1)).mean())


def study(runs: int, seed: str) -> tuple[Predictor, ...]:
    """The model chosen on exact tables, and on private ones at several ε, each the mean over many data sets."""
    if runs < 1:
        raise UsageError(f"runs ({runs}) must be at least 1")
    generator = Generator.seeded(f"{seed} generalisation")
    found: dict[Fraction | None, list[tuple[float, float, float]]] = {None: [], **{epsilon: [] for epsilon in EPSILONS}}
    for run in range(runs):
        records, fresh = people(RECORDS, generator), people(FRESH, generator)
        for epsilon, kept in found.items():
            scores = associations(tables(records, epsilon, f"{seed} {run} {epsilon}"))
            chosen = np.argsort(-np.abs(scores), kind="stable")[:CHOSEN]
            kept.append((right(records, scores), right(fresh, scores), float((chosen < TRUE).sum())))
    return tuple(_fitted(epsilon, kept) for epsilon, kept in found.items())


def _fitted(epsilon: Fraction | None, kept: Sequence[tuple[float, float, float]]) -> Predictor:
    own, fresh, true = np.mean(kept, axis=0).tolist()
    return Predictor(epsilon, own, fresh, true, 1.0 if epsilon is None else advantage(PureDP(epsilon), 1))


def tables(records: Integers, epsilon: Fraction | None, seed: str) -> list[Floats]:
    """The two-way tables of each attribute with the outcome: exact, or of a release that spends ε on all of them."""
    names = [f"a{at}" for at in range(ATTRIBUTES)]
    values = dict.fromkeys([*names, _OUTCOME], ("0", "1"))
    subject = Subject(domain_of(values), records, "coins")
    wanted = [(name, _OUTCOME) for name in names]
    if epsilon is None:
        return [subject.table(table).astype(np.float64) for table in wanted]
    out = subject.released(subject.plan(wanted, epsilon, neighbours="replace", strategy="residual"), seed)
    return [out.unbiased(table) for table in wanted]


def reading(rows: Sequence[Predictor]) -> str:
    """What the study says."""
    exact, small, middle = rows[0], rows[1], rows[3]
    return (
        f"Chosen on exact tables, the vote is right about {100 * exact.own:.1f} % of its own records and "
        f"{100 * exact.fresh:.1f} % of fresh ones: {100 * exact.gap:.1f} points are an illusion. Chosen on private "
        f"tables at ε = {float(middle.epsilon or 0):g} it is right about {100 * middle.fresh:.1f} % of fresh records, "
        f"with a gap of {100 * middle.gap:.1f}; at ε = {float(small.epsilon or 0):g} the gap is {100 * small.gap:.1f} "
        f"points, where at most {100 * small.most:.0f} are possible, and little is learnt."
    )
