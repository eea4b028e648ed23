"""Fitting a graphical model to noisy tables of known variance.

With ``y_S`` a noisy table of margin ``S`` and ``v_S`` its variance, the model is the table ``x ≥ 0`` of total ``n``
that minimises

    Σ_S ‖M_S x − y_S‖² / (2 v_S)  +  κ · Σ x log x

a least-squares fit with a little entropy, ``κ = smoothing / √(largest v_S)``: potentials stay bounded where noise says
that a cell is negative, and a table changes by at most about ``smoothing`` standard deviations for each unit of its
potential. The minimum has the form ``x ∝ exp(Σ_S θ_S)``, and its dual is smooth and convex without constraints:

    min_θ  n · log Σ exp(Σ_S θ_S)  −  Σ_S ⟨θ_S, y_S⟩  +  Σ_S κ v_S ‖θ_S‖² / 2

Its gradient is ``M_S x − y_S + κ v_S θ_S``, one belief propagation. L-BFGS takes tens of these, fewer from the
potentials of an earlier fit. A table may be *centred*: then only its residual is compared, ``R_S x`` with ``y_S``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from margrave.algebra.arrays import Array, Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.residual import centre
from margrave.errors import UsageError
from margrave.reconstruct.graphical.beliefs import Potentials, Propagation
from margrave.reconstruct.graphical.descent import minimised
from margrave.reconstruct.graphical.model import GraphicalModel
from margrave.reconstruct.graphical.trees import junction_tree

SMOOTHING = 0.1
STEPS = 600
"""The most steps of a fit. With noise as small as a thousandth of the records it takes about 400, with more fewer."""
TOLERANCE = 1e-7
"""The fit ends when a step gains less than this part of the dual's value."""
_GRADIENT = 1e-5
"""It ends as well when no cell is further off than this part of the root of its count."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A noisy table with the variance of each cell; with ``centred``, the residual of the table and its variance.

    A residual's ``variance`` is the one that weighs it: the noise of its cells is that of equal variances, centred.
    """

    margin: Margin
    counts: Array
    variance: float
    centred: bool = False

    def __post_init__(self) -> None:
        if not self.variance > 0:
            raise UsageError(f"the variance of {', '.join(self.margin)} must be above zero, not {self.variance}")


def fit(
    domain: Domain,
    noisy: Iterable[NoisyTable],
    *,
    total: float,
    start: GraphicalModel | None = None,
    smoothing: float = SMOOTHING,
    steps: int = STEPS,
    tolerance: float = TOLERANCE,
) -> GraphicalModel:
    """The model of the given total that is nearest to all noisy tables, each weighed by its variance.

    ``start``: an earlier model, whose potentials are where the search begins; its answer is the same without.
    """
    if total <= 0:
        raise UsageError(f"a model needs a total above zero, not {total}")
    targets = _targets(domain, noisy, total)
    problem = _Problem(domain, targets, total, smoothing)
    potentials, taken = problem.solved({} if start is None else start.potentials, steps, tolerance)
    calibrated = problem.propagation.calibrate(potentials, total)
    return GraphicalModel(problem.propagation.tree, calibrated, problem.named(potentials), total, taken)


def _targets(domain: Domain, noisy: Iterable[NoisyTable], total: float) -> list[NoisyTable]:
    """One target for each margin: several by inverse variance, centred as asked, and of the model's total otherwise."""
    together: dict[tuple[Margin, bool], list[NoisyTable]] = {}
    for one in noisy:
        together.setdefault((domain.margin(one.margin), one.centred), []).append(one)
    targets = []
    for (margin, centred), several in together.items():
        shape = domain.shape(margin)
        weight = sum(1 / one.variance for one in several)
        mean = np.zeros(shape)
        for one in several:
            mean += np.asarray(one.counts, dtype=float).reshape(shape) / one.variance / weight
        mean = _centred(mean) if centred else mean + (total - mean.sum()) / mean.size
        targets.append(NoisyTable(margin, mean, 1 / weight, centred))
    return targets


def _centred(table: Floats) -> Floats:
    for axis in range(table.ndim):
        table = centre(table, axis)
    return table


class _Problem:
    """The dual problem, with variables scaled so that its second derivatives are about one."""

    def __init__(self, domain: Domain, targets: Sequence[NoisyTable], total: float, smoothing: float) -> None:
        self.targets, self.total = targets, total
        margins = tuple(one.margin for one in targets)
        self.propagation = Propagation(junction_tree(domain, margins), margins)
        largest = max((one.variance for one in targets), default=1.0)
        self.ridges = [smoothing / sqrt(largest) * one.variance for one in targets]
        self.scales = [1 / np.sqrt(self._likely(one) + ridge) for one, ridge in zip(targets, self.ridges, strict=True)]
        self.ends = np.cumsum([0, *(one.counts.size for one in targets)])

    def _likely(self, target: NoisyTable) -> Array:
        """About the counts of a target's cells, by which its potentials are scaled."""
        if target.centred:
            return np.full(target.counts.shape, self.total / target.counts.size)
        return np.clip(target.counts, sqrt(target.variance) / 2, None)

    def named(self, potentials: Sequence[Floats]) -> Potentials:
        return {(one.margin, one.centred): theta for one, theta in zip(self.targets, potentials, strict=True)}

    def _potentials(self, variables: Floats) -> list[Floats]:
        parts = zip(self.targets, self.scales, self.ends[:-1], self.ends[1:], strict=True)
        found = [variables[a:b].reshape(one.counts.shape) * scale for one, scale, a, b in parts]
        return [_centred(theta) if one.centred else theta for one, theta in zip(self.targets, found, strict=True)]

    def _value(self, variables: Floats) -> tuple[float, Floats]:
        potentials = self._potentials(variables)
        model = self.propagation.calibrate(potentials, self.total)
        value, slopes = self.total * model.log_partition, []
        tables = self.propagation.tables(model.counts)
        for one, theta, table, ridge, scale in zip(
            self.targets, potentials, tables, self.ridges, self.scales, strict=True
        ):
            value += float(ridge / 2 * np.vdot(theta, theta) - np.vdot(theta, one.counts))
            slope = table - one.counts + ridge * theta
            slopes.append(((_centred(slope) if one.centred else slope) * scale).ravel())
        return value, np.concatenate(slopes) if slopes else np.zeros(0)

    def solved(self, start: Potentials, steps: int, tolerance: float) -> tuple[list[Floats], int]:
        """The potentials at the minimum, and how often tables were computed to find them."""
        begun = [
            start.get((one.margin, one.centred), np.zeros(one.counts.shape)) / scale
            for one, scale in zip(self.targets, self.scales, strict=True)
        ]
        if not begun:
            return [], 0
        variables = np.concatenate([one.ravel() for one in begun])
        found, taken = minimised(self._value, variables, steps=steps, tolerance=tolerance, flat=_GRADIENT)
        return self._potentials(found), taken
