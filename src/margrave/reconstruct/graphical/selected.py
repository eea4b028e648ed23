"""The graphical model of what was measured: single attributes, and the tables that were selected, by all answers.

Every residual below a selected table is compared in the metric of its own variance, so that whatever was measured of
it counts, in whichever basis and however often.
"""

from __future__ import annotations

from collections.abc import Iterable

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.reconstruct.graphical.fit import TOLERANCE, NoisyTable, fit
from margrave.reconstruct.graphical.model import GraphicalModel
from margrave.reconstruct.unbiased import Fit

LEAST_VARIANCE = 1e-6
"""No residual is known better than this, so that its weight can be reckoned with."""


def model_of(
    answers: Fit,
    domain: Domain,
    selected: Iterable[Margin],
    *,
    start: GraphicalModel | None = None,
    tolerance: float = TOLERANCE,
) -> GraphicalModel:
    """The model of the given attributes in which only the selected tables say how they depend on each other."""
    measured = answers.accuracy.domain
    single = ((name,) for name in domain.names if name in measured.names)
    below = [one for one in downward_closure([*single, *selected]) if one]
    answers.prepare([(), *below])
    noisy = [NoisyTable(one, answers.residual(one), _variance(answers, one), centred=True) for one in below]
    return fit(domain, noisy, total=total_of(answers), start=start, tolerance=tolerance)


def total_of(answers: Fit) -> float:
    """The estimated number of records, at least one."""
    return max(1.0, float(answers.residual(())))


def _variance(answers: Fit, margin: Margin) -> float:
    return max(answers.accuracy.variance(margin), LEAST_VARIANCE)
