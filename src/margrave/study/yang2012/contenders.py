"""The four algorithms that are compared. All neighbours are tables that differ by one record added or removed.

    printed     what the paper says it ran: its Table 1 on binary tables, its Table 2 on others, with its own scales
    corrected   the paper's Table 2 on every table, with the noise that it needs
    barak       Barak et al. (2007): Fourier coefficients, on other than binary tables of a binary encoding
    margrave    what `margrave release` publishes with the same ε

The first three solve the min–max linear program and round each cell to the nearest whole number. Their noise is
discrete, on whole-number multiples of the coefficients; its scale there is 6 or more for ε up to 2, so that it can
hardly be told from the continuous one. Seeded noise is not private; these four tables are public anyway.

Printed scales, of ``⟨f, χ^S⟩`` in Table 1 and of ``f^S(x_S)`` in Table 2:

    Table 1   2|ℬ| / (ε 2^{k/2})             twice what adding or removing a record needs; enough to replace one
    Table 2   Σ_{S∈ℬ} 2 / (ε ∏_{j∉S} k_j)    too small for other than binary tables

An algorithm with the printed scale at ε is the right one at another, *real* ε; that is how it is run here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from math import sqrt
from typing import TYPE_CHECKING

from margrave import pipeline
from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.query import Query, one_record
from margrave.algebra.table import Table
from margrave.budget.events import Protection, cost
from margrave.budget.units import PureDP, amount
from margrave.errors import UsageError
from margrave.planning.plan import Plan
from margrave.planning.planner import Choice, best_plan, candidates
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.nonnegative.linear_program import linear_program
from margrave.reconstruct.whole import whole
from margrave.spec.choices import Strategy
from margrave.spec.spec import Spec
from margrave.study.yang2012.grid import TITLES
from margrave.study.yang2012.subjects import Subject, subject

if TYPE_CHECKING:
    from margrave.publish.release import Release


@dataclass(frozen=True, eq=False)
class Outcome:
    """A released full table, and the optimum b of the linear program in units of Fourier coefficients.

    ``bound`` is √cells times the largest error of an ``f^S(x_S)``, and None where there is no program.
    """

    table: Table
    bound: float | None


def outcome(contender: str, table: str, epsilon: Fraction, seed: str) -> Outcome:
    """Release one table once."""
    released = pipeline.release(planned(contender, table, epsilon), seed=seed)
    whose = subject(table)
    if contender == "margrave":
        published = released.publication
        assert published is not None, "the bundled specs publish whole numbers"
        return Outcome(Table(whose.domain, whose.domain.names, published.table), None)
    plan = released.plan
    uncentred = contender == "printed" and not whose.binary
    values = _uncentred(released) if uncentred else {one: released.fit.residual(one) for one in _measured(plan)}
    solved = linear_program(Estimates(plan.domain, values, {one: plan.accuracy.variance(one) for one in values}))
    found = plan.encoding.decode(whose.domain.names, solved.table)
    rounded = whole(found, whose.domain, whose.wanted, "nearest").table
    return Outcome(Table(whose.domain, whose.domain.names, rounded), solved.bound * sqrt(plan.domain.cells()))


def _measured(plan: Plan) -> list[Margin]:
    return [measurement.query.margin for measurement in plan.measurements]


def _uncentred(released: Release) -> dict[Margin, Floats]:
    """The noisy blocks as the paper's program takes them: they do not sum to zero, as the true ones do."""
    domain = released.plan.domain
    return {
        answer.measurement.query.margin: answer.outputs.reshape(domain.shape(answer.measurement.query.margin))
        / domain.cells(answer.measurement.query.margin)
        for answer in released.measured.answers
    }


@lru_cache(maxsize=256)
def planned(contender: str, table: str, epsilon: Fraction) -> Plan:
    """What a contender measures at the ε that is stated for it."""
    whose = subject(table)
    spent = epsilon * real_factor(whose) if contender == "printed" else epsilon
    spec, choices = _choices(table, _strategy(contender, whose))
    return best_plan(replace(spec, budget=PureDP(spent)), choices)


def _strategy(contender: str, whose: Subject) -> Strategy:
    if contender not in TITLES:
        raise UsageError(f"unknown contender {contender!r}: there are {', '.join(TITLES)}")
    if contender == "margrave":
        return "auto"
    return "fourier" if contender == "barak" or (contender == "printed" and whose.binary) else "efron-stein"


@cache
def _choices(table: str, strategy: Strategy) -> tuple[Spec, list[Choice]]:
    """The spec of a table with a strategy, and that strategy's shares, which are the same for every ε."""
    spec = replace(subject(table).spec, strategy=strategy)
    if strategy != "auto":
        spec = replace(spec, nonnegative="linear-program", rounding="nearest")
    return spec, candidates(spec)


def printed_scale(whose: Subject) -> int:
    """The paper's scale at ε = 1, of whole-number answers: ±1 contrasts in Table 1, ∏k_j · f^S in Table 2."""
    return 2 * len(whose.closure) if whose.binary else 2 * whose.terms


def needed_scale(whose: Subject) -> int:
    """The scale that the same answers need at ε = 1 for one record that is added or removed."""
    if whose.binary:
        return len(whose.closure)
    return sum(one_record(whose.domain, Query(margin, residual=margin))[0] for margin in whose.closure)


def real_factor(whose: Subject) -> Fraction:
    """By how much the printed algorithm's real ε differs from the one stated: above 1 it is not private as printed."""
    return Fraction(needed_scale(whose), printed_scale(whose))


def replaced_factor(whose: Subject) -> Fraction:
    """The same where neighbours replace one record instead."""
    plan = planned("printed", whose.name, Fraction(1))
    spent = amount(cost(plan.domain, plan.measurements, Protection("replace")))
    # Noise is rounded up by a few parts in 2^33, which is undone here to give the factor of the printed scale itself.
    return (spent / amount(plan.cost) * real_factor(whose)).limit_denominator(10**6)


def private_as_printed(whose: Subject) -> bool:
    """Whether the printed scale keeps the stated ε under both neighbour relations."""
    return max(real_factor(whose), replaced_factor(whose)) <= 1
