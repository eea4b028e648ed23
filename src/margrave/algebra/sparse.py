"""A table of a margin that has far more cells than there are records: only its occupied cells are held."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class SparseTable:
    """The occupied cells of a margin, by number in mixed radix (the last attribute fastest), and their counts.

    ``cells`` increase; every cell that is not listed is zero.
    """

    domain: Domain
    margin: Margin
    cells: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)

    def __post_init__(self) -> None:
        if self.margin != self.domain.margin(self.margin):
            raise UsageError(f"margin {self.margin!r} must follow the order of the domain, without repetition")
        if self.cells.shape != self.counts.shape or self.cells.ndim != 1:
            raise UsageError("a sparse table needs one count for each cell that it lists")
        if len(self.cells) and not (self.cells[0] >= 0 and self.cells[-1] < self.domain.cells(self.margin)):
            raise UsageError("a sparse table lists a cell that its margin does not have")
        if (np.diff(self.cells) <= 0).any():
            raise UsageError("the cells of a sparse table must increase")

    def __repr__(self) -> str:
        """The frame only: exact counts are confidential and must not show up in a log or a stack trace."""
        return f"SparseTable({', '.join(self.margin) or 'total'}: {self.domain.cells(self.margin)} cells)"

    @property
    def total(self) -> int:
        """The sum of all cells."""
        return int(self.counts.sum())

    def codes(self) -> NDArray[np.int64]:
        """One row for each occupied cell, one column for each attribute: the positions of its values."""
        if not self.margin:
            return np.zeros((len(self.cells), 0), dtype=np.int64)
        return np.column_stack(np.unravel_index(self.cells, self.domain.shape(self.margin))).astype(np.int64)

    def to_arrow(self) -> pa.Table:
        """One row for each occupied cell: the value of each attribute, then the count."""
        import pyarrow as pa

        codes = self.codes()
        values = {
            name: pa.array(self.domain[name].values, pa.string()).take(pa.array(codes[:, axis]))
            for axis, name in enumerate(self.margin)
        }
        return pa.table({**values, "count": pa.array(self.counts)})

    def to_pandas(self) -> pd.DataFrame:
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame
