"""Sparse matrices of what residuals are to tables and to questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import subsets
from margrave.planning.strategies.demand import coefficient


def matrix(shape: tuple[int, int], entries: Iterable[tuple[int, int, float]]) -> Any:
    """The matrix of rows, columns and numbers."""
    from scipy import sparse

    rows, columns, values = zip(*entries, strict=True)
    return sparse.csr_array((values, (rows, columns)), shape=shape)


def within(domain: Domain, tables: Sequence[Margin], residuals: Sequence[Margin]) -> Any:
    """What each residual adds to the squared error of each table, in the metric of its L1 error."""
    place = {margin: index for index, margin in enumerate(residuals)}
    return matrix(
        (len(tables), len(place)),
        (
            (row, place[below], coefficient(domain.shape(table), domain.shape(below)) * domain.cells(table) ** 2)
            for row, table in enumerate(tables)
            for below in subsets(table)
            if below in place
        ),
    )
