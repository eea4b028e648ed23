"""The numbers of a large bundle, read from its files when they are asked for: never more than a few files at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Margin
from margrave.crossing import Answer
from margrave.errors import BundleError
from margrave.planning.plan import Plan
from margrave.publish.bundle.parts.layout import Layout, Parts
from margrave.publish.bundle.untrusted.parquet import read_parquet
from margrave.publish.numbers import numbers_in

if TYPE_CHECKING:
    from margrave.reconstruct.bars import Bars

KEPT = 4
"""Files whose numbers are kept at the same time."""

Read = Callable[[str], bytes]
"""The content of a file of a bundle by its name, once its checksum was found to fit."""
Columns = dict[str, NDArray[Any]]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of rows that are spread over files (:class:`Parts`), found again by their numbers.

    ``kinds`` are the columns that are read, with the letters of the types that they may have (``i`` whole, ``f`` real).
    """

    parts: Parts
    frame: tuple[str, str]
    kinds: Mapping[str, str]
    read: Read
    _kept: OrderedDict[int, Columns] = field(default_factory=OrderedDict, init=False, repr=False)

    def __getitem__(self, block: int) -> Columns:
        part = self.parts.part(block)
        if part in self._kept:
            self._kept.move_to_end(part)
        else:
            self._kept[part] = self._load(part)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        rows = self.parts.rows(block)
        return {name: numbers[rows] for name, numbers in self._kept[part].items()}

    def _load(self, part: int) -> Columns:
        name = self.parts.name(part)
        numbers, places = self.parts.frame(part)
        table = read_parquet(self.read(name), name, len(numbers), [*self.frame, *self.kinds])
        if any(column.null_count for column in table.columns):
            raise BundleError(f"{name} leaves numbers out")
        found = {label: numbers_in(table.column(label)) for label in table.column_names}
        first, second = (found.pop(label) for label in self.frame)
        if not (np.array_equal(first, numbers) and np.array_equal(second, places)):
            raise BundleError(f"{name} does not list its numbers in their order")
        for label, kinds in self.kinds.items():
            if found[label].dtype.kind not in kinds or found[label].dtype.itemsize != 8:
                raise BundleError(f"{name}: the column {label!r} must hold 64-bit numbers")
        return found


@dataclass(frozen=True, eq=False)
class StoredAnswers(Sequence[Answer]):
    """The noisy answers of a plan, in its order."""

    plan: Plan
    blocks: Blocks

    def __len__(self) -> int:
        return len(self.plan.measurements)

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Answer]: ...
    def __getitem__(self, index: int | slice) -> Answer | Sequence[Answer]:
        if isinstance(index, slice):
            return tuple(self[one] for one in range(*index.indices(len(self))))
        number = range(len(self))[index]
        measurement = self.plan.measurements[number]
        outputs = self.blocks[number]["value"].reshape(measurement.query.shape(self.plan.domain))
        return Answer(measurement, outputs)


@dataclass(frozen=True, eq=False)
class StoredTables(Mapping[Margin, T]):
    """What is stored of each of some tables, by margin: ``made`` from the columns of the table."""

    blocks: Blocks
    numbers: Mapping[Margin, int]
    made: Callable[[Margin, Columns], T]

    @classmethod
    def of(cls, blocks: Blocks, margins: Sequence[Margin], made: Callable[[Margin, Columns], T]) -> StoredTables[T]:
        """The tables in the order in which they are stored."""
        return cls(blocks, {margin: number for number, margin in enumerate(margins)}, made)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Margin]:
        return iter(self.numbers)

    def __getitem__(self, margin: Margin) -> T:
        return self.made(margin, self.blocks[self.numbers[margin]])


def stored_answers(plan: Plan, layout: Layout, read: Read) -> StoredAnswers:
    """The noisy answers of a large bundle."""
    return StoredAnswers(plan, Blocks(layout.measurements, ("measurement", "output"), {"value": "i"}, read))


def stored_exact(plan: Plan, layout: Layout, read: Read) -> StoredTables[NDArray[np.int64]]:
    """The tables of a large bundle that are published without noise."""
    blocks = Blocks(layout.exact, ("table_number", "cell"), {"count": "i"}, read)
    return StoredTables.of(blocks, plan.exact, lambda margin, found: found["count"].reshape(plan.domain.shape(margin)))


def stored_bars(plan: Plan, layout: Layout, read: Read) -> StoredTables[Bars]:
    """The standard errors and half-widths of the published tables of a large bundle."""
    blocks = Blocks(layout.tables, ("table_number", "cell"), {"std_error": "f", "half_width": "f"}, read)
    return StoredTables.of(blocks, plan.spec.margins, lambda _, found: (found["std_error"], found["half_width"]))
