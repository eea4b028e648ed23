"""Everything that may leave the confidential side, as plain values that know nothing of raw data.

Private: `Measured` and `MeasuredGraph`, noisy whole numbers, together with the facts that a spec declares to be
published exactly; and `Collected`, sums of reports that were private when they left the respondents' devices. **Not
private**: `Profile`, for the curator who drafts a spec; `ExactTables`, for the curator's own eyes and for studies of
data that is not confidential; and `People`, for the owner's own side of a join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.sparse import SparseTable
from margrave.algebra.table import Table
from margrave.budget.events import Measurement
from margrave.errors import UsageError
from margrave.planning.graphs.degrees import Side
from margrave.spec.dialect import USUAL, Dialect

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ColumnKind = Literal["categories", "integers", "numbers", "dates", "identifier", "empty", "days", "commas", "unknown"]
COLUMN_KINDS: tuple[ColumnKind, ...] = get_args(ColumnKind)


@dataclass(frozen=True)
class Repeats:
    """How often ids occur. ``most``: the most records of one. ``usual``: so many of each keep nearly all records."""

    most: int
    usual: int


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds. Not private.

    ``values`` are the distinct values of categories, in canonical text; ``low`` and ``high`` the extremes of
    integers, numbers (decimal text) and dates (ISO text); ``distinct`` the number of distinct values where counted.
    ``title`` and ``labels`` come from the header of the file. ``public``: all of it comes from a codebook, none of it
    from cells. ``repeats``: of a column that tells people apart, how often one of its values occurs.
    """

    name: str
    kind: ColumnKind
    values: tuple[str, ...] = ()
    low: str | None = None
    high: str | None = None
    has_missing: bool = False
    distinct: int | None = None
    title: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    public: bool = False
    repeats: Repeats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if self.kind not in COLUMN_KINDS:
            raise UsageError(f"unknown kind of column {self.kind!r}")


@dataclass(frozen=True)
class Profile:
    """What a data source holds, column by column, how it is written and how many records it has. Not private."""

    source: str
    columns: tuple[ColumnProfile, ...]
    dialect: Dialect = USUAL
    records: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))


@dataclass(frozen=True, eq=False)
class Answer:
    """The noisy outputs of one measurement."""

    measurement: Measurement
    outputs: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.outputs.dtype != np.int64:
            raise UsageError("noisy outputs must be 64-bit whole numbers")


@dataclass(frozen=True, eq=False)
class Measured:
    """All noisy answers of one release.

    ``exact``: the tables published without noise, by margin, and ``cells`` the single cells, by margin and codes.
    ``private``: false when the noise came from a seed, so that anybody who knows the seed can take it away again.
    """

    answers: Sequence[Answer]
    exact: Mapping[Margin, NDArray[np.int64]]
    private: bool
    cells: Mapping[tuple[Margin, tuple[int, ...]], int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MeasuredGraph:
    """The noisy answers about one graph.

    ``blocks``: a number for each block, ``pairs``: one for each pair of nodes, or None where no edges are released.
    ``degrees``: the public degrees by side, exact, in the order of the nodes that the spec declares.
    """

    blocks: NDArray[np.int64]
    pairs: NDArray[np.int64] | None
    degrees: Mapping[Side, NDArray[np.int64]]
    private: bool


@dataclass(frozen=True, eq=False)
class People:
    """The people of one owner, each in one category: ``ids`` normalised, ``categories`` from 0 on. Not private."""

    ids: Sequence[bytes] = field(repr=False)
    categories: NDArray[np.int64] = field(repr=False)

    def batches(self, number: int) -> list[list[bytes]]:
        """The ids of each of so many categories."""
        order = np.argsort(self.categories, kind="stable")
        ends = np.cumsum(np.bincount(self.categories, minlength=number))
        return [[self.ids[at] for at in part] for part in np.split(order, ends[:-1])]


@dataclass(frozen=True, eq=False)
class Collected:
    """The reports of a local collection, added up.

    ``tallies``: for each question of the plan the sums that its estimates follow from, ``counts`` how many reports they
    are of. ``refused``: how many reports were not taken, by reason.
    """

    tallies: Sequence[NDArray[np.int64]]
    counts: Sequence[int]
    refused: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.tallies) != len(self.counts) or any(one.dtype != np.int64 for one in self.tallies):
            raise UsageError(
                "a local collection has whole numbers, and how many reports they are of, for each question"
            )
        for tally, count in zip(self.tallies, self.counts, strict=True):
            if count < 0 or (tally > count).any() or (tally < -count).any():
                raise UsageError("sums of a local collection are of more reports than it has: it was changed")

    @property
    def reports(self) -> int:
        """How many reports were taken."""
        return sum(self.counts)


@dataclass(frozen=True, eq=False)
class ExactTables:
    """Exact counts. Not private.

    ``counts`` has every cell, one axis for each attribute; ``sparse`` the occupied cells of tables too large for that.
    """

    domain: Domain
    counts: Mapping[Margin, NDArray[np.int64]]
    sparse: Mapping[Margin, SparseTable] = field(default_factory=dict)

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The margins counted, the large ones last."""
        return (*self.counts, *self.sparse)

    def table(self, margin: Margin) -> Table:
        """The exact table of one of the margins counted, with all its cells."""
        if margin in self.sparse:
            raise UsageError(f"the table of {', '.join(margin)} is too large to hold all its cells: ask for to_pandas")
        return Table(self.domain, margin, self.counts[margin])

    def to_pandas(self, margin: Margin) -> pd.DataFrame:
        """One row a cell: all cells, or the occupied ones of a large table."""
        return self.sparse[margin].to_pandas() if margin in self.sparse else self.table(margin).to_pandas()

    def to_arrow(self, margin: Margin) -> pa.Table:
        """The same as an Arrow table."""
        return self.sparse[margin].to_arrow() if margin in self.sparse else self.table(margin).to_arrow()

    def __repr__(self) -> str:
        return f"ExactTables({len(self.margins)} tables, not private)"
