"""Which tables to count, so that every wanted one is a sum of counted cells. Knows no data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import maximal
from margrave.errors import RefusedError

MERGED_CELLS = 1 << 14
"""Wanted margins are merged into wider tables of at most this many cells: one pass over a batch then serves many."""

MAX_CELLS = 1 << 31
"""Counting more cells than this, in one table or in all, is refused: 16 GiB of counts."""


@dataclass(frozen=True)
class Cover:
    """The tables to count, and blocks of neighbouring attributes whose codes are combined once for all tables."""

    blocks: tuple[Margin, ...]
    tables: tuple[Margin, ...]

    def parts(self, table: Margin) -> tuple[Margin, ...]:
        """The table as a sequence of whole blocks and, where only part of a block is in it, single attributes."""
        inside = set(table)
        found: list[Margin] = []
        for block in self.blocks:
            shared = tuple(name for name in block if name in inside)
            found += [block] if shared == block else [(name,) for name in shared]
        return tuple(found)

    @property
    def steps(self) -> int:
        """How many passes over a batch the cover takes: one for each part, and one to count."""
        return sum(len(self.parts(table)) + 1 for table in self.tables)


def cover(domain: Domain, margins: Collection[Margin]) -> Cover:
    """The cheaper of counting the maximal margins themselves and counting unions of blocks that contain them."""
    names = domain.margin(name for margin in margins for name in margin)
    single = Cover(tuple((name,) for name in names), maximal(margins))
    width = max((len(margin) for margin in margins), default=0)
    if width < 1 or len(single.tables) < 2:
        return single
    blocks = _blocks(domain, names, MERGED_CELLS ** (1 / width))
    home = {name: block for block in blocks for name in block}
    merged = Cover(blocks, maximal(_union(domain, margin, home) for margin in single.tables))
    return min(single, merged, key=lambda choice: choice.steps)


def _blocks(domain: Domain, names: Margin, limit: float) -> tuple[Margin, ...]:
    """Neighbouring attributes, as many as fit in ``limit`` cells together."""
    blocks: list[list[str]] = []
    for name in names:
        if blocks and prod(domain.shape((*blocks[-1], name))) <= limit:
            blocks[-1].append(name)
        else:
            blocks.append([name])
    return tuple(tuple(block) for block in blocks)


def _union(domain: Domain, margin: Margin, home: dict[str, Margin]) -> Margin:
    wide = domain.margin(name for inside in margin for name in home[inside])
    return wide if domain.cells(wide) <= MERGED_CELLS else margin


def check_cells(domain: Domain, margins: Sequence[Margin], max_cells: int = MAX_CELLS) -> None:
    """Refuses tables that could not be held; needs no data, so it costs nothing to ask first."""
    for margin in margins:
        if domain.cells(margin) > max_cells:
            raise RefusedError(
                f"the table of {', '.join(margin)} has {domain.cells(margin):,} cells, more than {max_cells:,}: "
                "ask for fewer attributes at once, or declare fewer values"
            )
    total = sum(domain.cells(margin) for margin in margins)
    if total > max_cells:
        raise RefusedError(
            f"the {len(margins):,} tables have {total:,} cells together, more than {max_cells:,}: ask for fewer tables"
        )
