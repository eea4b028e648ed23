"""A table: the counts of one margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Table:
    """Counts, whole or real, over the cells of a margin, one axis for each attribute in the domain's order."""

    domain: Domain
    margin: Margin
    counts: NDArray[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", tuple(self.margin))
        if self.margin != self.domain.margin(self.margin):
            raise UsageError(f"margin {self.margin!r} must follow the order of the domain, without repetition")
        counts = np.asarray(self.counts)
        if counts.dtype.kind not in "iuf":
            raise UsageError("counts must be whole or real numbers")
        cells = self.domain.cells(self.margin)
        if counts.size != cells:
            raise UsageError(f"{counts.size} counts do not fill the {cells} cells of the table")
        counts = counts.reshape(self.domain.shape(self.margin)).view()
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        same_frame = self.domain == other.domain and self.margin == other.margin
        return same_frame and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The frame only: exact counts are confidential and must not show up in a log or a stack trace."""
        return f"Table({', '.join(self.margin) or 'total'}: {self.counts.size} cells)"

    @property
    def total(self) -> int | float:
        """The sum of all cells."""
        total: int | float = self.counts.sum().item()
        return total

    def project(self, margin: Margin) -> Table:
        """Sum down to a smaller margin."""
        margin = self.domain.margin(margin)
        if not set(margin) <= set(self.margin):
            raise UsageError(f"{margin!r} is not below {self.margin!r}")
        axes = tuple(axis for axis, name in enumerate(self.margin) if name not in margin)
        return Table(self.domain, margin, self.counts.sum(axis=axes))

    def expand(self, margin: Margin) -> Table:
        """Repeat each count over a larger margin: the transpose of :meth:`project`."""
        margin = self.domain.margin(margin)
        if not set(self.margin) <= set(margin):
            raise UsageError(f"{margin!r} is not above {self.margin!r}")
        shape = tuple(self.domain[name].size if name in self.margin else 1 for name in margin)
        repeated = np.broadcast_to(self.counts.reshape(shape), self.domain.shape(margin))
        return Table(self.domain, margin, repeated.copy())

    def align(self, domain: Domain) -> Table:
        """The same table in a domain that lists the same attributes and values in another order."""
        margin = domain.margin(self.margin)
        counts = np.transpose(self.counts, [self.margin.index(name) for name in margin])
        for axis, name in enumerate(margin):
            old, new = self.domain[name], domain[name]
            if set(old.values) != set(new.values):
                raise UsageError(f"attribute {name!r} has other values in the other domain")
            counts = counts.take([old.code(value) for value in new.values], axis=axis)
        return Table(domain, margin, counts)

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row a cell: the value of each attribute, then the count; cells in the domain's order."""
        grid = np.indices(self.counts.shape).reshape(len(self.margin), self.counts.size)
        values = {
            name: np.array(self.domain[name].values, dtype=object)[grid[axis]] for axis, name in enumerate(self.margin)
        }
        return {**values, "count": self.counts.ravel()}

    def to_pandas(self) -> pd.DataFrame:
        """One row a cell; attributes are categories in the declared order, so that pivots and sorts keep it."""
        import pandas as pd

        grid = np.indices(self.counts.shape).reshape(len(self.margin), self.counts.size)
        categories = {
            name: pd.Categorical.from_codes(
                grid[axis], categories=pd.Index(self.domain[name].values, dtype=object), ordered=True
            )
            for axis, name in enumerate(self.margin)
        }
        return pd.DataFrame({**categories, "count": self.counts.ravel()})

    def to_arrow(self) -> pa.Table:
        import pyarrow as pa

        return pa.table(self.columns())

    @classmethod
    def from_columns(cls, domain: Domain, columns: dict[str, Any], count: str = "count") -> Table:
        """From one row a cell, in any order; cells that are not listed are zero, none may be listed twice."""
        if count not in columns:
            raise UsageError(f"no column {count!r} with the counts")
        margin = domain.margin(name for name in columns if name != count)
        shape = domain.shape(margin)
        numbers = np.asarray(columns[count])
        codes = [np.array([domain[name].code(value) for value in columns[name]], dtype=np.intp) for name in margin]
        flat = np.ravel_multi_index(codes, shape) if margin else np.zeros(len(numbers), dtype=np.intp)
        if len(np.unique(flat)) != len(flat):
            raise UsageError("a cell is listed twice")
        counts = np.zeros(int(np.prod(shape, dtype=object)), dtype=numbers.dtype)
        counts[flat] = numbers
        return cls(domain, margin, counts)

    @classmethod
    def from_pandas(cls, domain: Domain, frame: pd.DataFrame, count: str = "count") -> Table:
        return cls.from_columns(domain, {str(name): frame[name].to_numpy() for name in frame.columns}, count)

    @classmethod
    def from_arrow(cls, domain: Domain, table: pa.Table, count: str = "count") -> Table:
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        return cls.from_columns(domain, columns, count)
