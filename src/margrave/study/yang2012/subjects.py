"""The four tables of the paper, each with its model, and what each algorithm measures of it at which scale.

Printed scales, of ``⟨f, χ^S⟩`` in Table 1 and of ``f^S(x_S)`` in Table 2:

    Table 1   2|ℬ| / (ε 2^{k/2})             twice what adding or removing a record needs; enough to replace one
    Table 2   Σ_{S∈ℬ} 2 / (ε ∏_{j∉S} k_j)    too small for other than binary tables

An algorithm with the printed scale at ε is the right one at another, *real* ε; that is how it is run here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from math import prod

import numpy as np

from margrave import examples, pipeline
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.algebra.query import Query, one_record
from margrave.algebra.table import Table
from margrave.budget.events import Protection, cost
from margrave.budget.units import PureDP, amount
from margrave.errors import UsageError
from margrave.models.loglinear import ModelFit, fit
from margrave.models.model import Model
from margrave.planning.plan import Plan
from margrave.planning.planner import Choice, best_plan, candidates
from margrave.score.measures import l1_distance, margin_errors
from margrave.spec.choices import Strategy
from margrave.spec.spec import Spec
from margrave.study.yang2012.grid import PROGRAMS, SUBJECTS

OWN: dict[str, Strategy] = {"margrave": "auto", "adaptive": "adaptive"}
"""Margrave's contenders, each with its strategy."""
_DRAWS = 500
"""Samples drawn anew, for a mean with an error below 2 %."""


@dataclass(frozen=True, eq=False)
class Studied:
    """One table: its spec, whose wanted tables generate the model, and the true counts. These are public data."""

    name: str
    spec: Spec
    truth: Table

    @property
    def title(self) -> str:
        return SUBJECTS[self.name]

    @property
    def domain(self) -> Domain:
        return self.spec.domain

    @property
    def wanted(self) -> tuple[Margin, ...]:
        """The paper's set 𝒜 of margins to release."""
        return self.spec.margins

    @cached_property
    def closure(self) -> tuple[Margin, ...]:
        """The paper's ℬ: every margin below a wanted one."""
        return downward_closure(self.wanted)

    @property
    def binary(self) -> bool:
        return all(size == 2 for size in self.domain.shape())

    @property
    def total(self) -> int:
        """The number n of records."""
        return int(self.truth.total)

    @cached_property
    def terms(self) -> int:
        """N = Σ_{S∈ℬ} ∏_{j∈S} k_j: how many numbers f^S(x_S) there are."""
        return sum(prod(self.domain.shape(margin)) for margin in self.closure)

    @cached_property
    def model(self) -> Model:
        return Model(self.domain, self.wanted)

    @cached_property
    def letters(self) -> str:
        """The model in the paper's letters: A for the first attribute, and so on."""
        letter = {name: chr(ord("A") + place) for place, name in enumerate(self.domain.names)}
        return "".join(f"[{''.join(letter[name] for name in margin)}]" for margin in self.wanted)

    @cached_property
    def fit(self) -> ModelFit:
        """The model fitted to the truth."""
        return fit(self.model, self.truth)

    @cached_property
    def uniform(self) -> Table:
        return Table(self.domain, self.domain.names, np.ones(self.domain.shape()))

    @cached_property
    def from_uniform(self) -> float:
        """L1 between the fitted and the uniform probabilities: how much there is to be known."""
        return l1_distance(self.fit.fitted, self.uniform)

    @cached_property
    def sampling(self) -> float:
        """What sampling alone does: the mean maximal L1 of a wanted table for n records drawn from the true one."""
        random, shape = np.random.default_rng(0), self.domain.shape()  # a yardstick, no noise of a release
        drawn = random.multinomial(self.total, self.truth.counts.ravel() / self.total, _DRAWS)
        tables = (Table(self.domain, self.domain.names, counts.reshape(shape)) for counts in drawn)
        true = self.margins(self.truth)
        return float(np.mean([margin_errors(true, self.margins(table)).largest for table in tables]))

    def margins(self, table: Table) -> list[Table]:
        """The wanted tables of a full one."""
        return [table.project(margin) for margin in self.wanted]


@cache
def subject(name: str) -> Studied:
    """A table of the paper by its name."""
    spec = Spec.load(examples.path(name))
    whole = spec.domain.names
    return Studied(name, spec, pipeline.count(spec, tables=[whole]).table(whole))


@lru_cache(maxsize=256)
def planned(contender: str, table: str, epsilon: Fraction) -> Plan:
    """What a contender measures at the ε that is stated for it."""
    whose = subject(table)
    spent = epsilon * real_factor(whose) if contender == "printed" else epsilon
    spec, choices = _choices(table, _strategy(contender, whose))
    return best_plan(replace(spec, budget=PureDP(spent)), choices)


def _strategy(contender: str, whose: Studied) -> Strategy:
    if contender not in (*PROGRAMS, *OWN):
        raise UsageError(f"no plan for the contender {contender!r}: there are plans for {', '.join((*PROGRAMS, *OWN))}")
    if contender in OWN:
        return OWN[contender]
    return "fourier" if contender == "barak" or (contender == "printed" and whose.binary) else "efron-stein"


@cache
def _choices(table: str, strategy: Strategy) -> tuple[Spec, list[Choice]]:
    """The spec of a table with a strategy, and that strategy's shares, which are the same for every ε."""
    spec = replace(subject(table).spec, strategy=strategy)
    if strategy not in OWN.values():
        spec = replace(spec, nonnegative="linear-program", rounding="nearest")
    return spec, candidates(spec)


def printed_scale(whose: Studied) -> int:
    """The paper's scale at ε = 1, of whole-number answers: ±1 contrasts in Table 1, ∏k_j · f^S in Table 2."""
    return 2 * len(whose.closure) if whose.binary else 2 * whose.terms


def needed_scale(whose: Studied) -> int:
    """The scale that the same answers need at ε = 1 for one record that is added or removed."""
    if whose.binary:
        return len(whose.closure)
    return sum(one_record(whose.domain, Query(margin, residual=margin))[0] for margin in whose.closure)


def real_factor(whose: Studied) -> Fraction:
    """By how much the printed algorithm's real ε differs from the one stated: above 1 it is not private as printed."""
    return Fraction(needed_scale(whose), printed_scale(whose))


def replaced_factor(whose: Studied) -> Fraction:
    """The same where neighbours replace one record instead."""
    plan = planned("printed", whose.name, Fraction(1))
    spent = amount(cost(plan.domain, plan.measurements, Protection("replace")))
    # Noise is rounded up by a few parts in 2^33, which is undone here to give the factor of the printed scale itself.
    return (spent / amount(plan.cost) * real_factor(whose)).limit_denominator(10**6)


def private_as_printed(whose: Studied) -> bool:
    """Whether the printed scale keeps the stated ε under both neighbour relations."""
    return max(real_factor(whose), replaced_factor(whose)) <= 1
