"""How the numbers of a release are spread over files: one for each table, or, of a large release, a few narrow ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from margrave.planning.plan import Plan

MOST_TABLES = 1000
MOST_ROWS = 1 << 21
"""A release of more tables, or of more cells and measured numbers together, is laid out as a large one."""
PART_ROWS = 1 << 20
"""Rows after which a new file is begun."""
MEASUREMENTS, EXACT, TABLES = "measurements", "exact", "tables"


def is_large(plan: Plan) -> bool:
    """Whether a release by this plan is too large to have a file, and text, for each of its tables."""
    margins = plan.spec.margins
    if len(margins) > MOST_TABLES:
        return True
    numbers = sum(one.query.outputs(plan.domain) for one in plan.measurements)
    return numbers + sum(map(plan.spec.domain.cells, margins)) > MOST_ROWS


@dataclass(frozen=True)
class Parts:
    """Blocks of rows (the cells of each table, the outputs of each measurement) spread over numbered files.

    ``sizes`` are the rows of each block; ``starts`` is the first block of each file, counted from 0.
    """

    folder: str
    sizes: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, folder: str, sizes: Sequence[int]) -> Parts:
        """A new file is begun when the one before has enough rows."""
        starts, rows = [], PART_ROWS
        for block, size in enumerate(sizes):
            if rows >= PART_ROWS:
                starts.append(block)
                rows = 0
            rows += size
        return cls(folder, tuple(sizes), tuple(starts))

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def _before(self) -> list[int]:
        return list(accumulate(self.sizes, initial=0))

    def rows(self, block: int) -> slice:
        """Where the rows of a block are in its file."""
        first = self._before[self.starts[self.part(block)]]
        return slice(self._before[block] - first, self._before[block + 1] - first)

    def name(self, part: int) -> str:
        """The name of a file."""
        return f"{self.folder}/{part + 1:04}.parquet"

    def part(self, block: int) -> int:
        """The file that a block is in."""
        return bisect_right(self.starts, block) - 1

    def blocks(self, part: int) -> range:
        """The blocks of a file."""
        return range(self.starts[part], (*self.starts, len(self.sizes))[part + 1])

    def ends(self, part: int) -> tuple[int, int]:
        """The first block of a file, and the last: the one that made it full."""
        return self.blocks(part).start, self.blocks(part).stop - 1

    def frame(self, part: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For each row of a file, the number of its block (from 1) and its own number in the block (from 0)."""
        blocks = self.blocks(part)
        sizes = self.sizes[blocks.start : blocks.stop]
        numbers = np.repeat(np.arange(blocks.start + 1, blocks.stop + 1, dtype=np.int32), sizes)
        return numbers, np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])


@dataclass(frozen=True)
class Layout:
    """The files of a large release that hold numbers."""

    measurements: Parts
    exact: Parts
    tables: Parts

    @classmethod
    def of(cls, plan: Plan) -> Layout:
        """The layout that is written."""
        return cls(*(Parts.of(folder, sizes) for folder, sizes in sizes_of(plan).items()))

    @classmethod
    def stated(cls, plan: Plan, starts: dict[str, Sequence[int]]) -> Layout:
        """The layout that `release.json` states by the number of the first block of each file; ValueError if none."""
        found = []
        for folder, sizes in sizes_of(plan).items():
            numbers = [int(number) - 1 for number in starts[folder]]
            first = numbers[:1] == [0] if sizes else not numbers
            if not first or sorted(set(numbers)) != numbers or any(number >= len(sizes) for number in numbers):
                raise ValueError
            found.append(Parts(folder, sizes, tuple(numbers)))
            if any(sum(sizes[slice(*found[-1].ends(part))]) > 2 * PART_ROWS for part in range(len(numbers))):
                raise ValueError
        return cls(*found)

    def as_dict(self) -> dict[str, list[int]]:
        """The number of the first measurement or table of each file, counted from 1."""
        return {one.folder: [start + 1 for start in one.starts] for one in (self.measurements, self.exact, self.tables)}

    @property
    def files(self) -> int:
        """How many files have numbers."""
        return len(self.measurements) + len(self.exact) + len(self.tables)


def sizes_of(plan: Plan) -> dict[str, tuple[int, ...]]:
    """The rows of each block, by the folder that they stand in."""
    return {
        MEASUREMENTS: tuple(one.query.outputs(plan.domain) for one in plan.measurements),
        EXACT: tuple(map(plan.domain.cells, plan.exact)),
        TABLES: tuple(map(plan.spec.domain.cells, plan.spec.margins)),
    }
