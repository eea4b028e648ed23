"""The lattice of margins: which tables lie below or above which, and the cells of the data cube.

What stands for an attribute is its name, its axis or its number: whatever can be told apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import combinations, groupby
from typing import TYPE_CHECKING, TypeVar

from margrave.errors import UsageError

if TYPE_CHECKING:
    from margrave.algebra.domain import Domain, Margin

A = TypeVar("A", bound=Hashable)
"""What stands for an attribute."""

STAR = "*"
"""Stands for 'all values' in a cell of the data cube."""


def subsets(margin: Iterable[A]) -> Iterator[tuple[A, ...]]:
    """Every margin below the given one, itself included, smallest first."""
    members = tuple(margin)
    for width in range(len(members) + 1):
        yield from combinations(members, width)


def supersets(domain: Domain, margin: Margin) -> Iterator[Margin]:
    """Every margin above the given one, itself included, smallest first."""
    rest = tuple(name for name in domain.names if name not in margin)
    for added in subsets(rest):
        yield domain.margin((*margin, *added))


def up_to(domain: Domain, width: int) -> Iterator[Margin]:
    """Every margin of at most ``width`` attributes, smallest first, the grand total () included."""
    for size in range(min(width, len(domain)) + 1):
        yield from combinations(domain.names, size)


def downward_closure(margins: Iterable[tuple[A, ...]]) -> tuple[tuple[A, ...], ...]:
    """Every margin below some given one, without repetition, smallest first."""
    closure = {below: None for margin in margins for below in subsets(margin)}
    return tuple(sorted(closure, key=len))


def maximal(margins: Iterable[tuple[A, ...]]) -> tuple[tuple[A, ...], ...]:
    """The given margins that lie below no other given one, widest first.

    Compares only margins of different width that share an attribute, so a hundred thousand margins are no trouble.
    """
    kept: list[tuple[A, ...]] = []
    wider: dict[A, set[tuple[A, ...]]] = {}
    for width, group in groupby(sorted(dict.fromkeys(margins), key=len, reverse=True), len):
        if not width:
            return tuple(kept) or ((),)
        found = [one for one in group if not set.intersection(*(wider.get(name, set()) for name in one))]
        for margin in found:
            for name in margin:
                wider.setdefault(name, set()).add(margin)
        kept += found
    return tuple(kept)


def cube_cell(domain: Domain, fixed: Mapping[str, str]) -> tuple[str, ...]:
    """The cell of the data cube that fixes the given values: an entry for each attribute, ``*`` for all values."""
    for name, value in fixed.items():
        domain[name].code(value)
    return tuple(fixed.get(name, STAR) for name in domain.names)


def fixed_values(domain: Domain, cell: tuple[str, ...]) -> dict[str, str]:
    """The inverse of :func:`cube_cell`: the attributes that a cube cell fixes, with their values."""
    if len(cell) != len(domain):
        raise UsageError(f"a cube cell needs {len(domain)} entries, one for each attribute, not {len(cell)}")
    fixed = {name: value for name, value in zip(domain.names, cell, strict=True) if value != STAR}
    cube_cell(domain, fixed)
    return fixed


def covers(cell: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether every record counted in ``other`` is also counted in ``cell``: the order of the data cube."""
    return len(cell) == len(other) and all(a in (STAR, b) for a, b in zip(cell, other, strict=True))
