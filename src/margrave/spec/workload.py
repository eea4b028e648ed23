"""What a release is asked for, and what is known beforehand: wanted tables, public facts, structural zeros."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.errors import UsageError

if TYPE_CHECKING:
    from margrave.spec.codebook import Codebook

Pattern = Mapping[str, frozenset[str]]
"""The cells that have, for each attribute named, one of the values given; attributes not named are free."""

MOST_TABLES = 2_000_000
"""More wanted tables than this are refused: no plan over them could be read, let alone published."""

_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table to publish and its weight in the objective; a table of weight 2 counts as two."""

    margin: Margin
    weight: Fraction = _ONE

    def __post_init__(self) -> None:
        if not isinstance(self.weight, Fraction) or self.weight <= 0:
            raise UsageError(f"the weight of table {self.margin} must be a Fraction greater than 0")


@dataclass(frozen=True, slots=True)
class PublicFact:
    """Counts that are known exactly: a whole margin, or the one cell of it whose values are given in its order.

    ``counts`` are the counts themselves, in the order of the margin's cells; None where they are read from the data.
    """

    margin: Margin
    cell: tuple[str, ...] | None = None
    counts: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.cell is not None and len(self.cell) != len(self.margin):
            raise UsageError(f"a public cell of {self.margin} needs {len(self.margin)} values")
        if self.counts is not None and any(type(count) is not int or count < 0 for count in self.counts):
            raise UsageError(f"the counts of a public fact about {self.margin} must be whole numbers, none below 0")


def count_margins(attributes: int, ways: int) -> int:
    """The number of margins of 1 to ``ways`` out of so many attributes."""
    return sum(comb(attributes, size) for size in range(1, ways + 1))


def expand_workload(domain: Domain, tables: tuple[Wanted, ...], ways: int) -> tuple[Wanted, ...]:
    """The listed tables and every margin of 1 to ``ways`` attributes, by size and then in the order of the domain.

    A listed table keeps its weight; the others weigh 1. The grand total is wanted only where it is listed: it follows
    from every other table.
    """
    listed = {wanted.margin: wanted for wanted in tables}
    position = {name: axis for axis, name in enumerate(domain.names)}

    def canonical(wanted: Wanted) -> tuple[int, tuple[int, ...]]:
        return len(wanted.margin), tuple(position[name] for name in wanted.margin)

    # `combinations` is in canonical order already, and may run to millions: only the listed tables are sorted.
    every = (margin for size in range(1, ways + 1) for margin in combinations(domain.names, size))
    middle = [listed.get(margin) or Wanted(margin) for margin in every]
    total = [wanted for wanted in tables if not wanted.margin]
    larger = sorted((wanted for wanted in tables if len(wanted.margin) > ways and wanted.margin), key=canonical)
    return (*total, *middle, *larger)


def determined_zeros(codebook: Codebook) -> tuple[Pattern, ...]:
    """The cells ruled out because one attribute determines another: every value together with a value it excludes."""
    patterns: list[Pattern] = []
    for entry in codebook.entries:
        for target, implied in entry.determines.items():
            everything = frozenset(codebook.domain[target].values)
            for value in dict.fromkeys(implied.values()):
                excluded = everything - {value}
                if excluded:
                    here = frozenset(own for own, there in implied.items() if there == value)
                    patterns.append({entry.name: here, target: excluded})
    return tuple(patterns)


def mask_possible(domain: Domain, zeros: tuple[Pattern, ...], margin: Margin) -> NDArray[np.bool_]:
    """For each cell of a margin, whether a record may fall into it, given the patterns that are impossible.

    A cell is impossible when a single pattern covers every full cell above it: the pattern holds all values of each
    attribute that it names outside the margin. Cells that only several patterns together rule out count as possible.
    """
    possible = np.ones(domain.shape(margin), dtype=np.bool_)
    for pattern in zeros:
        if all(name in margin or len(values) == domain[name].size for name, values in pattern.items()):
            axes = [_selected(domain, name, pattern.get(name)) for name in margin]
            possible[np.ix_(*axes)] = False
    return possible


def _selected(domain: Domain, name: str, values: frozenset[str] | None) -> list[int]:
    return [code for code, value in enumerate(domain[name].values) if values is None or value in values]
