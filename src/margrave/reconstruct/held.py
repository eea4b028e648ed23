"""How published counts are held: as the full table or, where no memory would hold that, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from margrave.algebra.arrays import Codes, Counts
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.table import Table
from margrave.errors import UsageError
from margrave.planning.limits import FULL_CELLS


class Held(Protocol):
    """Counts over all attributes of a domain, of which every table is a sum."""

    def margin(self, margin: Margin) -> Counts:
        """The counts of some attributes."""

    def full(self) -> Counts:
        """The counts of all attributes together."""

    def records(self) -> Codes:
        """One row a record, one column an attribute, in codes, in the order of the cells."""

    def content(self) -> bytes:
        """The bytes that tell these counts from others."""


@dataclass(frozen=True, eq=False)
class FullTable:
    """Every cell of the full table."""

    domain: Domain
    table: Counts

    def margin(self, margin: Margin) -> Counts:
        counts: Counts = Table(self.domain, self.domain.names, self.table).project(margin).counts
        return counts

    def full(self) -> Counts:
        return self.table

    def records(self) -> Codes:
        cells = np.repeat(np.arange(self.table.size), self.table.ravel().astype(np.int64))
        shape = self.domain.shape()
        return np.stack(np.unravel_index(cells, shape), axis=1) if shape else np.zeros((len(cells), 0), dtype=np.int64)

    def content(self) -> bytes:
        return self.table.tobytes()


@dataclass(frozen=True, eq=False)
class Margins:
    """Some tables that agree with each other, none of them below another: what lies below one is its sum."""

    domain: Domain
    tables: Mapping[Margin, Counts]

    def margin(self, margin: Margin) -> Counts:
        for above, counts in self.tables.items():
            if set(margin) <= set(above):
                found: Counts = Table(self.domain, above, counts).project(self.domain.margin(margin)).counts
                return found
        raise UsageError(f"no published table has {', '.join(margin)} together: ask for attributes of a wanted table")

    def full(self) -> Counts:
        return self.margin(self.domain.names)

    def records(self) -> Codes:
        raise UsageError("tables without a full table have no records")

    def content(self) -> bytes:
        return b"".join(counts.tobytes() for counts in self.tables.values())


@dataclass(frozen=True, eq=False)
class Records:
    """A row of codes for each record, sorted, in the smallest type that holds them."""

    domain: Domain
    codes: Codes

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != len(self.domain):
            raise UsageError(f"records must have a column for each of the {len(self.domain)} attributes")
        if ((self.codes < 0) | (self.codes >= np.array(self.domain.shape(), dtype=np.int64))).any():
            raise UsageError("records must hold codes of their attributes")
        smallest = np.min_scalar_type(max(self.domain.shape(), default=1) - 1)
        order = np.lexsort(self.codes.T[::-1]) if len(self.domain) else slice(None)
        object.__setattr__(self, "codes", self.codes[order].astype(smallest))

    def margin(self, margin: Margin) -> Counts:
        cells = np.zeros(len(self.codes), dtype=np.int64)
        for name in margin:
            cells = cells * self.domain[name].size + self.codes[:, self.domain.position(name)]
        return np.bincount(cells, minlength=self.domain.cells(margin)).reshape(self.domain.shape(margin))

    def full(self) -> Counts:
        if self.domain.cells() > FULL_CELLS:
            raise UsageError(
                f"the full table has more than {FULL_CELLS} cells: ask for single tables, or for the records"
            )
        return self.margin(self.domain.names)

    def records(self) -> Codes:
        return self.codes

    def content(self) -> bytes:
        return self.codes.tobytes()
