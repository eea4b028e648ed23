"""One run: a table released once by one contender, and how far it is from the truth."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from math import sqrt

from margrave import pipeline
from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.table import Table
from margrave.budget.numbers import exact_number
from margrave.models.loglinear import fit
from margrave.planning.plan import Plan
from margrave.publish.released import Released
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.nonnegative.linear_program import linear_program
from margrave.reconstruct.whole import whole
from margrave.score.measures import l1_distance, l2_distance, margin_errors
from margrave.study.yang2012.grid import PROGRAMS, Task
from margrave.study.yang2012.mwem import Rounds, mwem_release
from margrave.study.yang2012.subjects import Studied, planned, subject


@dataclass(frozen=True, eq=False)
class Outcome:
    """A released full table, and the optimum b of the linear program in units of Fourier coefficients.

    ``bound`` is √cells times the largest error of an ``f^S(x_S)``, and None where there is no program.
    """

    table: Table
    bound: float | None


def outcome(contender: str, table: str, epsilon: Fraction, seed: str) -> Outcome:
    """Release one table once."""
    whose = subject(table)
    if contender == "mwem":
        return Outcome(mwem_release(whose.truth, whose.wanted, mwem_rounds(whose, epsilon), seed), None)
    released = pipeline.release(planned(contender, table, epsilon), seed=seed)
    if contender not in PROGRAMS:
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


def mwem_rounds(whose: Studied, epsilon: Fraction) -> Rounds:
    """As many rounds as wanted tables, a public number."""
    return Rounds(epsilon, len(whose.wanted))


def _measured(plan: Plan) -> list[Margin]:
    return [measurement.query.margin for measurement in plan.measurements]


def _uncentred(released: Released) -> dict[Margin, Floats]:
    """The noisy blocks as the paper's program takes them: they do not sum to zero, as the true ones do."""
    domain = released.plan.domain
    return {
        answer.measurement.query.margin: answer.outputs.reshape(domain.shape(answer.measurement.query.margin))
        / domain.cells(answer.measurement.query.margin)
        for answer in released.measured.answers
    }


@dataclass(frozen=True)
class Run:
    """What one run measured.

    ``size``: the released sample size. ``largest`` and ``mean``: L1 between true and released wanted tables, in
    records. ``g2``, ``p_value``: the model's test on the released table. ``l1``, ``l2``: between the fitted
    probabilities of truth and release. ``bound``: the optimum b, or None. An empty release has no fit: it is read as
    the uniform distribution, with ``g2`` and ``p_value`` zero.
    """

    size: int
    largest: float
    mean: float
    g2: float
    p_value: float
    l1: float
    l2: float
    bound: float | None


def work(task: Task) -> tuple[Task, list[dict[str, float | None]]]:
    """Do one task. Each run has a seed of its own, so results do not depend on blocks, order or processes."""
    whose, epsilon = subject(task.table), exact_number(task.epsilon)
    done = []
    for run in range(task.start, task.start + task.count):
        seed = f"yang2012/{task.table}/{task.contender}/{task.epsilon}/{run}"
        found = outcome(task.contender, task.table, epsilon, seed)
        done.append(asdict(measure(whose, found.table, found.bound)))
    return task, done


def measure(whose: Studied, released: Table, bound: float | None = None) -> Run:
    """Compare a released table with the truth."""
    errors = margin_errors(whose.margins(whose.truth), whose.margins(released))
    if released.total > 0:
        fitted = fit(whose.model, released)
        probabilities, g2, p_value = fitted.fitted, fitted.g2, fitted.p_value
    else:
        probabilities, g2, p_value = whose.uniform, 0.0, 0.0
    return Run(
        size=int(released.total),
        largest=errors.largest,
        mean=errors.mean,
        g2=float(g2),
        p_value=float(p_value),
        l1=l1_distance(whose.fit.fitted, probabilities),
        l2=l2_distance(whose.fit.fitted, probabilities),
        bound=bound,
    )
