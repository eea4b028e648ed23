"""The graphical model of what was measured: single attributes, and the tables that were selected, by all answers.

Every residual below a selected table is compared in the metric of its own variance, so that whatever was measured of
it counts, in whichever basis and however often.
"""

from __future__ import annotations

from collections.abc import Iterable

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.graphical.fit import NoisyTable, fit
from margrave.reconstruct.graphical.model import GraphicalModel
from margrave.reconstruct.unbiased import Fit

NEAR = 1e-4
"""How nearly a model is fitted: what it is used for does not tell a nearer one from it (docs/adaptive.md)."""
LEAST_VARIANCE = 1e-6
"""No residual is known better than this, so that its weight can be reckoned with."""


def model_of(
    answers: Estimates,
    domain: Domain,
    selected: Iterable[Margin],
    *,
    start: GraphicalModel | None = None,
    tolerance: float = NEAR,
) -> GraphicalModel:
    """The model of the given attributes in which only the selected tables say how they depend on each other."""
    below = _below(answers.domain, domain, selected)
    noisy = [
        NoisyTable(one, answers.values[one], max(answers.variances[one], LEAST_VARIANCE), centred=True) for one in below
    ]
    return fit(domain, noisy, total=max(1.0, answers.total), start=start, tolerance=tolerance)


def answers_of(fitted: Fit, domain: Domain, selected: Iterable[Margin]) -> Estimates:
    """The estimates that a model is fitted to, out of all answers."""
    measured = fitted.accuracy.domain
    below = [(), *_below(measured, domain, selected)]
    fitted.prepare(below)
    variances = {one: fitted.accuracy.variance(one) for one in below}
    return Estimates(measured, {one: fitted.residual(one) for one in below}, variances)


def _below(measured: Domain, domain: Domain, selected: Iterable[Margin]) -> list[Margin]:
    single = ((name,) for name in domain.names if name in measured.names)
    return [one for one in downward_closure([*single, *selected]) if one]
