"""Which tables to count, so that every wanted one is a sum of counted cells. Knows no data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log, prod

import numpy as np
import numpy.typing as npt

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import maximal
from margrave.errors import RefusedError

BLOCK_ROWS = 1 << 16
"""Records are counted in blocks of about this many: the codes of a few attributes then fit in a core's cache."""

MERGED_CELLS = 1 << 15
"""Wanted margins are merged into wider tables of at most this many cells: one pass over a block then serves many."""

MAX_CELLS = 1 << 31
"""Counting more cells than this, in one table or in all, is refused: 16 GiB of counts."""

Flags = npt.NDArray[np.bool_]

_GREEDY_MARGINS = 20_000


def cover(domain: Domain, margins: Collection[Margin]) -> tuple[Margin, ...]:
    """Tables above all the margins: the cheapest of the maximal margins themselves and of two ways to merge them."""
    single = maximal(margins)
    if len(single) < 2:
        return single
    merge = _greedy if len(single) <= _GREEDY_MARGINS else _by_blocks
    return min(single, merge(domain, single), key=lambda tables: cost(domain, tables))


def cost(domain: Domain, tables: Collection[Margin]) -> float:
    """Passes over a block: one for each table, and the time to add its cells to those of the blocks before."""
    return sum(1 + domain.cells(table) / BLOCK_ROWS for table in tables)


def _greedy(domain: Domain, margins: Sequence[Margin]) -> tuple[Margin, ...]:
    """Starts from the largest margin not covered yet, and adds attributes as long as that completes more margins.

    The next attribute is the one that completes most margins for the room it takes, log k.
    """
    sizes = [attribute.size for attribute in domain]
    ordered = sorted(margins, key=lambda margin: (-domain.cells(margin), margin))
    inside = np.zeros((len(ordered), len(domain)), dtype=bool)
    for row, margin in enumerate(ordered):
        inside[row, [domain.position(name) for name in margin]] = True
    tables = []
    while len(inside):
        table = inside[0].copy()
        missing = (inside & ~table).sum(axis=1)
        cells = prod(sizes[place] for place in np.flatnonzero(table))
        while (place := _next(inside[missing == 1], table, sizes, MERGED_CELLS // cells)) is not None:
            table[place] = True
            missing -= inside[:, place]
            cells *= sizes[place]
        tables.append(tuple(domain.names[place] for place in np.flatnonzero(table)))
        inside = inside[missing > 0]
    return maximal(tables)


def _next(close: Flags, table: Flags, sizes: Sequence[int], room: int) -> int | None:
    """The best attribute of at most ``room`` values, where each of the ``close`` margins lacks just one."""
    gains = (close & ~table).sum(axis=0)
    places = [place for place in np.flatnonzero(gains).tolist() if sizes[place] <= room]
    return max(places, key=lambda place: gains[place] / log(sizes[place] + 0.5), default=None)


def _by_blocks(domain: Domain, margins: Sequence[Margin]) -> tuple[Margin, ...]:
    """Unions of blocks of neighbouring attributes: coarser, but quick however many margins there are."""
    width = max(len(margin) for margin in margins)
    names = domain.margin(name for margin in margins for name in margin)
    blocks = _blocks(domain, names, MERGED_CELLS ** (1 / width))
    home = {name: block for block in blocks for name in block}
    return maximal(_union(domain, margin, home) for margin in margins)


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
