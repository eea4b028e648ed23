"""What the answers to a plan that looks at the data tell so far, and how the rest of its budget is divided by it.

Only noisy answers come in here. In single attributes and in the tables that it has taken in the model follows the
answers, and says nothing of its own; in every other pair of attributes it predicts a residual, and how far the noisy
one is from that, beyond its noise, tells how far off the model may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Margin
from margrave.algebra.query import Query, spread
from margrave.budget.events import Measurement
from margrave.crossing import Measured
from margrave.planning.expected import Expected
from margrave.planning.forecast.accuracy import Accuracy
from margrave.planning.looking.dividing import Doubt, divide
from margrave.planning.plan import Plan
from margrave.planning.publication.publishing import used_domain
from margrave.reconstruct.estimates import LEAST_VARIANCE
from margrave.reconstruct.graphical.model import GraphicalModel
from margrave.reconstruct.graphical.selected import Learned, answers_of, learned, off_by
from margrave.reconstruct.unbiased import Fit

_RELIED_ON = 2.0
"""What an error in such a table counts for: the model has it in all tables between its attributes and others."""


@dataclass(frozen=True, eq=False)
class SoFar:
    """The unbiased estimates so far, and what was learned from them of the tables that were selected."""

    fit: Fit
    learned: Learned

    @property
    def model(self) -> GraphicalModel:
        return self.learned.model


def so_far(plan: Plan, measured: Measured, before: SoFar | None = None) -> SoFar:
    """What the answers so far tell. ``before``: what those before the last round told."""
    domain = used_domain(plan)
    measurements = tuple(answer.measurement for answer in measured.answers)
    selected = [one.query.margin for one in measurements if one.selection is not None]
    fit = Fit(Accuracy(plan.domain, measurements, plan.exact, ()), measured)
    answers = answers_of(fit, domain, selected)
    if before is None:
        return SoFar(fit, learned(answers, domain, selected))
    return SoFar(fit, learned(answers, domain, selected[-1:], before.learned))


def divided(plan: Plan, told: SoFar) -> list[Measurement]:
    """The measurements that the rest of the budget goes to."""
    queries, noise = plan.dividing, plan.measurements[0].noise

    def measurement(query: Query, parts: int) -> Measurement:
        return plan.rest.measurement(plan.domain, query, parts, noise, plan.protection)

    doubts = {}
    for query in queries:
        variance = measurement(query, 1).noise.variance * float(spread(plan.domain, query, query.margin))
        doubts[query.margin] = _doubt(told, query.margin, 1 / max(variance, LEAST_VARIANCE))
    parts = divide(plan.domain, plan.candidates, doubts, plan.rest.parts)
    return [measurement(query, some) for query, some in zip(queries, parts, strict=True) if some]


def _doubt(told: SoFar, margin: Margin, part: float) -> Doubt:
    domain, variance = told.fit.accuracy.domain, max(told.fit.accuracy.variance(margin), LEAST_VARIANCE)
    total = max(1, round(float(told.fit.margin(()))))
    sizes = np.concatenate([[0.0], Expected(total).spreads(domain, margin)])
    if len(margin) == 1 or margin in told.learned.taken:
        relied_on = _RELIED_ON if len(margin) > 1 else 1.0
        return Doubt(1 / variance, part, np.zeros(sizes.shape), np.full(sizes.shape, 1 / len(sizes)), relied_on)
    with np.errstate(divide="ignore"):
        return Doubt(1 / variance, part, 1 / sizes, _chances(told, margin, variance, sizes))


def _chances(told: SoFar, margin: Margin, variance: float, sizes: Floats) -> Floats:
    """How likely the model is off by each of some sizes, which were all as likely before, given the noisy residual."""
    domain = told.fit.accuracy.domain
    off = off_by(domain, margin, told.fit.residual(margin), told.model)
    if off is None:
        return np.full(sizes.shape, 1 / len(sizes))
    freedom = float(np.prod([size - 1 for size in domain.shape(margin)]))
    likely = -0.5 * (freedom * np.log(variance + sizes) + off / (variance + sizes))
    weights = np.exp(likely - likely.max())
    return np.asarray(weights / weights.sum())
