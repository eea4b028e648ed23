"""Everything that may leave the confidential side, as plain values that know nothing of raw data.

Private: `Measured`, noisy whole numbers with the measurement that made them, and the tables that a spec declares to be
published exactly. **Not private**: `Profile`, for the curator who drafts a spec, and `ExactTables`, for the curator's
own eyes and for studies of data that is not confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.table import Table
from margrave.budget.events import Measurement
from margrave.errors import UsageError

ColumnKind = Literal["categories", "integers", "numbers", "dates", "identifier", "empty"]
COLUMN_KINDS: tuple[ColumnKind, ...] = get_args(ColumnKind)


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds. Not private.

    ``values`` are the distinct values of categories, in canonical text; ``low`` and ``high`` the extremes of
    integers, numbers (decimal text) and dates (ISO text); ``distinct`` the number of distinct values where counted.
    """

    name: str
    kind: ColumnKind
    values: tuple[str, ...] = ()
    low: str | None = None
    high: str | None = None
    has_missing: bool = False
    distinct: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if self.kind not in COLUMN_KINDS:
            raise UsageError(f"unknown kind of column {self.kind!r}")


@dataclass(frozen=True)
class Profile:
    """What a data source holds, column by column. Not private."""

    source: str
    columns: tuple[ColumnProfile, ...]

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

    ``exact``: the tables published without noise, by margin. ``private``: false when the noise came from a seed, so
    that anybody who knows the seed can take it away again.
    """

    answers: tuple[Answer, ...]
    exact: Mapping[Margin, NDArray[np.int64]]
    private: bool


@dataclass(frozen=True, eq=False)
class ExactTables:
    """Exact counts. Not private."""

    domain: Domain
    counts: Mapping[Margin, NDArray[np.int64]]

    def table(self, margin: Margin) -> Table:
        """The exact table of one of the margins counted."""
        return Table(self.domain, margin, self.counts[margin])

    def __repr__(self) -> str:
        return f"ExactTables({len(self.counts)} tables, not private)"
