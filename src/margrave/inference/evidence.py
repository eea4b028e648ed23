"""What a release says about the true table of some attributes, as one linear statement with known noise.

With ``n`` the true table, flattened, each noisy output is ``q·n + z``: ``q`` whole numbers, ``z`` noise of known
variance ``v``. Outputs are divided by ``√v`` and turned to orthonormal coordinates of the space that the ``q`` span:

    y = F n + Uᵀ ζ        ζ independent, of mean 0 and variance 1, so that Cov(Uᵀζ) = I

Nothing is lost: what is left out is noise alone. Cells that cannot hold a record are no part of ``n``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.arrays import Floats
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.query import Query
from margrave.errors import RefusedError
from margrave.models.model import LARGEST_MATRIX, Mask
from margrave.planning.plan import Plan
from margrave.spec.spec import possible_mask

if TYPE_CHECKING:
    from margrave.publish.released import Released

EXACT = 1e-4
"""The least variance of an output. Exact numbers get it too: a standard error of 0.01 of a record."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """``values`` is y, ``matrix`` F (one column a possible cell), ``sources`` U, and ``excess`` the fourth cumulant of
    each ζ: 3 for a Laplace, 0 for a Gaussian. ``possible`` marks the cells of the table that may hold a record.
    """

    values: Floats
    matrix: Floats
    sources: Floats
    excess: Floats
    possible: Mask


def evidence(release: Released, margin: Margin) -> Evidence:
    """All that the measurements of a release say about the table of some attributes."""
    plan = release.plan
    shape = plan.spec.domain.shape(margin)
    possible = possible_mask(plan.spec, margin).reshape(shape)
    size = prod(shape) * sum(rows for rows, _ in _shapes(plan, margin))
    if size > LARGEST_MATRIX:
        raise RefusedError(
            f"inference about {', '.join(margin)} needs a matrix of {size} entries, over the limit of "
            f"{LARGEST_MATRIX}: name fewer attributes in the model"
        )
    rows, values, excess = [], [], []
    for matrix, outputs, variance, fourth in _statements(release, margin):
        floored = max(variance, EXACT)
        rows.append(matrix[:, possible.ravel()] / sqrt(floored))
        values.append(outputs / sqrt(floored))
        excess.append(np.full(len(outputs), fourth / floored**2))
    turned, sizes, right = np.linalg.svd(np.concatenate(rows), full_matrices=False)
    kept = sizes > 1e-9 * sizes.max()
    sources = turned[:, kept]
    return Evidence(
        values=sources.T @ np.concatenate(values),
        matrix=sizes[kept, None] * right[kept],
        sources=sources,
        excess=np.concatenate(excess),
        possible=possible,
    )


def _shapes(plan: Plan, margin: Margin) -> Iterator[tuple[int, Query]]:
    """Each measurement that says something about the margin, summed down to it: how many outputs, and the query."""
    measured = plan.measured_margin(margin)
    queries = [one.query for one in plan.measurements] + [Query(exact) for exact in plan.exact]
    for query in queries:
        if set(query.contrast) | set(query.residual) <= set(measured):
            below = tuple(name for name in query.margin if name in measured)
            summed = Query(below, query.contrast, query.residual)
            yield summed.outputs(plan.domain), summed


def _statements(release: Released, margin: Margin) -> Iterator[tuple[Floats, Floats, float, float]]:
    """Each measurement summed down to the margin: its matrix, its outputs, their variance and fourth cumulant."""
    plan = release.plan
    measured = plan.measured_margin(margin)
    columns = _columns(plan, margin)
    for answer in release.measured.answers:
        query, noise = answer.measurement.query, answer.measurement.noise
        if not set(query.contrast) | set(query.residual) <= set(measured):
            continue
        summed, outputs, times = _summed(plan.domain, query, answer.outputs, measured)
        variance = noise.variance
        fourth = noise.fourth_cumulant
        yield _matrix(plan.domain, measured, summed)[:, columns], outputs, times * variance, times * fourth
    for exact, counts in release.measured.exact.items():
        summed, outputs, _ = _summed(plan.domain, Query(exact), counts, measured)
        yield _matrix(plan.domain, measured, summed)[:, columns], outputs, 0.0, 0.0


def _summed(domain: Domain, query: Query, outputs: NDArray[np.int64], measured: Margin) -> tuple[Query, Floats, int]:
    """A query's outputs summed over the attributes outside the margin, and how many noises are in each sum."""
    values = np.asarray(outputs, dtype=float).reshape(query.shape(domain))
    outside = tuple(axis for axis, name in enumerate(query.margin) if name not in measured)
    below = Query(tuple(name for name in query.margin if name in measured), query.contrast, query.residual)
    return below, values.sum(axis=outside).ravel(), prod(values.shape[axis] for axis in outside)


def _matrix(domain: Domain, margin: Margin, query: Query) -> Floats:
    """The matrix that maps a flattened table of the margin to the outputs of a query below it."""
    matrix: Floats = np.ones((1, 1))
    for name in margin:
        size = domain[name].size
        if name in query.contrast:
            part = np.array([[1.0, -1.0]])
        elif name in query.residual:
            part = size * np.eye(size) - 1.0
        else:
            part = np.eye(size) if name in query.margin else np.ones((1, size))
        matrix = np.asarray(np.kron(matrix, part), dtype=np.float64)
    return matrix


def _columns(plan: Plan, margin: Margin) -> NDArray[np.int64]:
    """Where the cells of a table of the spec are among those of what is measured."""
    cells = np.arange(1, plan.spec.domain.cells(margin) + 1)
    coded = plan.encoding.encode(margin, cells).ravel()
    return np.asarray(np.flatnonzero(coded)[np.argsort(coded[coded > 0])])
