"""Which tables to count, so that every wanted one is a sum of counted cells. Knows no data."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Sequence
from itertools import islice
from math import log, prod

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import maximal
from margrave.errors import RefusedError

BLOCK_ROWS = 1 << 18
"""Records are counted in blocks of about this many: the codes of a few attributes then fit in a core's cache."""

MERGED_CELLS = 1 << 15
"""Wanted margins are merged into wider tables of at most this many cells: one pass over a block then serves many."""

MAX_CELLS = 1 << 31
"""Counting more cells than this, in one table or in all, is refused: 16 GiB of counts."""

_GREEDY_MARGINS = 20_000


def cover(domain: Domain, margins: Collection[Margin]) -> tuple[Margin, ...]:
    """Tables above all the margins: the cheapest of the maximal margins themselves and of two ways to merge them."""
    single = maximal(margins)
    if len(single) < 2:
        return single
    merge = _greedy if len(single) <= _GREEDY_MARGINS else _by_blocks
    return min(single, merge(domain, single), key=lambda tables: passes(domain, tables))


def passes(domain: Domain, tables: Collection[Margin]) -> float:
    """Passes over a block: one for each table, and the time to add its cells to those of the blocks before."""
    return sum(1 + domain.cells(table) / BLOCK_ROWS for table in tables)


def _greedy(domain: Domain, margins: Sequence[Margin]) -> tuple[Margin, ...]:
    """Starts from the largest margin not covered yet, and adds attributes as long as that completes more margins.

    The next attribute is the one that completes most margins for the room it takes, log k.
    """
    ordered = sorted(margins, key=lambda margin: (-domain.cells(margin), margin))
    waiting = _Waiting(domain, [tuple(map(domain.position, margin)) for margin in ordered])
    grown = (waiting.table_from(row) for row in range(len(ordered)) if waiting.alive[row])
    return maximal(tuple(domain.names[place] for place in sorted(table)) for table in grown)


class _Waiting:
    """Margins, as places of attributes, that no table covers yet. None of them lies below another.

    Only margins that share an attribute with a table are looked at while it grows. Those of a single attribute share
    theirs with no other margin; they wait in a queue of their own, the smallest first.
    """

    def __init__(self, domain: Domain, margins: Sequence[tuple[int, ...]]) -> None:
        self.alive = [True] * len(margins)
        self._margins = margins
        self._sizes = [attribute.size for attribute in domain]
        self._rows: dict[int, list[int]] = {}
        for row, margin in enumerate(margins):
            for place in margin:
                self._rows.setdefault(place, []).append(row)
        alone = ((self._sizes[margin[0]], margin[0]) for margin in margins if len(margin) == 1)
        self._singles = deque(place for _, place in sorted(alone))

    def table_from(self, row: int) -> set[int]:
        """The table that grows from a margin. All margins that it covers wait no longer."""
        table: set[int] = set()
        lacking: dict[int, int] = {}
        gains: Counter[int] = Counter()
        room = MERGED_CELLS // prod(self._sizes[place] for place in self._margins[row])
        for place in self._margins[row]:
            self._add(place, table, lacking, gains)
        while (best := self._next(gains, room)) is not None:
            self._add(best, table, lacking, gains)
            room //= self._sizes[best]
        return table

    def _add(self, place: int, table: set[int], lacking: dict[int, int], gains: Counter[int]) -> None:
        """Take an attribute into a table: ``gains`` counts the margins that lack just one more, by what they lack."""
        table.add(place)
        gains.pop(place, None)
        for row in self._rows[place]:
            if not self.alive[row]:
                continue
            lacking[row] = lacking.get(row, len(self._margins[row])) - 1
            if not lacking[row]:
                self.alive[row] = False
            elif lacking[row] == 1:
                gains[next(other for other in self._margins[row] if other not in table)] += 1

    def _next(self, gains: Counter[int], room: int) -> int | None:
        """The best attribute of at most ``room`` values."""
        while self._singles and not self.alive[self._rows[self._singles[0]][0]]:
            self._singles.popleft()
        ready = [*gains.items(), *((place, 1) for place in islice(self._singles, 1))]
        places = [(gain / log(self._sizes[place] + 0.5), -place) for place, gain in ready if self._sizes[place] <= room]
        return -max(places)[1] if places else None


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
