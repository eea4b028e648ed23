"""The graphical model of what was measured: single attributes, and the tables that were selected, by all answers.

Every residual below a selected table is compared in the metric of its own variance, so that whatever was measured of
it counts, in whichever basis and however often.

A selection can be in vain: the selected table may tell nothing that its noise does not drown. So the model takes tables
in one after the other, and only those whose residual is further from what the model of those before predicts than
noise alone explains.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import downward_closure
from margrave.algebra.residual import residuals
from margrave.errors import RefusedError
from margrave.planning.limits import MODEL_CELLS
from margrave.reconstruct.estimates import LEAST_VARIANCE, Estimates
from margrave.reconstruct.graphical.fit import NoisyTable, fit
from margrave.reconstruct.graphical.model import GraphicalModel
from margrave.reconstruct.graphical.trees import tree_cells
from margrave.reconstruct.unbiased import Fit

NEAR = 1e-4
"""How nearly a model is fitted: what it is used for does not tell a nearer one from it (docs/adaptive.md)."""

STANDS_OUT = 1.5
"""A table is taken in if its residual is further off than noise alone would explain, by this factor of the square. With
2 taking it in would be as wrong as leaving it out, in the mean; counts that cannot be negative hold noise back as well.
"""


@dataclass(frozen=True, eq=False)
class Learned:
    """A model, and the tables that it has taken in, in the order in which they were selected."""

    model: GraphicalModel
    taken: tuple[Margin, ...] = ()

    def has_room(self, margin: Margin) -> bool:
        """Whether the model holds a table, or would not grow too large by taking it in."""
        held = self.model.tree.home(margin) is not None
        return held or tree_cells(self.model.domain, [*self.taken, margin]) <= MODEL_CELLS


def learned(answers: Estimates, domain: Domain, selected: Iterable[Margin], before: Learned | None = None) -> Learned:
    """The model of what stands out of the selected tables.

    ``before``: what was learned from earlier answers, of whose tables all stay; only the others are looked at.
    """
    found = before or Learned(model_of(answers, domain, ()))
    for margin in dict.fromkeys(selected):
        if margin not in found.taken and found.has_room(margin) and _stands_out(answers, margin, found.model):
            found = _refitted(answers, domain, (*found.taken, margin), found.model)
    return _refitted(answers, domain, found.taken, found.model) if found is before else found


def _refitted(answers: Estimates, domain: Domain, taken: tuple[Margin, ...], start: GraphicalModel) -> Learned:
    return Learned(model_of(answers, domain, taken, start=start), taken)


def _stands_out(answers: Estimates, margin: Margin, model: GraphicalModel) -> bool:
    off = off_by(answers.domain, margin, answers.values[margin], model)
    freedom = prod(size - 1 for size in answers.domain.shape(margin))
    return off is not None and off > STANDS_OUT * freedom * max(answers.variances[margin], LEAST_VARIANCE)


def off_by(domain: Domain, margin: Margin, residual: Array, model: GraphicalModel) -> float | None:
    """The square of how far a residual is from the predicted one; None where the model has no room to predict one."""
    try:
        predicted = residuals(domain, margin, model.margin(margin))[margin]
    except RefusedError:
        return None
    return float(((residual - predicted) ** 2).sum())


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
