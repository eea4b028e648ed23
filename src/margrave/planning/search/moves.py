"""Candidates and covers: which counts are worth trying, and simple sets of them to start from.

A candidate (S, b) is *closed* when b lies in the closure and every attribute of S∖b extends b within the closure.
Any other candidate is dominated: the smaller margin that covers the same residuals has less noise.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.lattice import maximal, subsets
from margrave.planning.search.designs import deal, designs
from margrave.planning.search.model import Candidate, Goal, Places, cells_of, closure_of, indicator

MANY_TABLES = 1_000
MANY_TABLES_CELLS = range(16, 257)
"""Of more tables than the first, only covers whose margins have so many cells are made: each takes long to make."""
FIRST_COVER = 4
"""The cells of the smallest margins that tables are covered with; then twice as many, and so on."""
TOUCHED = 1e-3
"""What a table that an attribute does not complete counts for beside one that it does: it decides among equals."""


class Candidates:
    """The closed candidates of a target whose margin has at most `max_cells` cells, wanted tables excepted."""

    def __init__(self, target: Goal, max_cells: int) -> None:
        self.target = target
        self.max_cells = max_cells
        self.binary = frozenset(j for j, k in enumerate(target.sizes) if k == 2)
        everything = closure_of(target.workload)
        self._inside = set(everything)
        self._fits: dict[Places, bool] = {}
        links: dict[Places, set[int]] = {b: set() for b in everything if self.binary.issuperset(b)}
        for t in everything:
            for j in t:
                rest = tuple(i for i in t if i != j)
                if rest in links:
                    links[rest].add(j)
        self._links = {b: frozenset(link) for b, link in links.items()}

    def closed(self, margin: Iterable[int], contrast: Iterable[int]) -> Candidate | None:
        """The closed candidate that covers what (margin, contrast) covers; None if that is nothing, or too large."""
        b = tuple(sorted(contrast))
        link = self._links.get(b)
        if link is None:
            return None
        s = tuple(sorted({*b, *(link & set(margin))}))
        if s not in self._fits:
            self._fits[s] = s in self._inside or cells_of(self.target.sizes, s) <= self.max_cells
        return (s, b) if self._fits[s] else None

    def swapped(self, candidate: Candidate, first: int, second: int) -> Candidate | None:
        """The closed candidate of a closed one in which two attributes change places."""
        if (first in candidate[0]) == (second in candidate[0]) and (first in candidate[1]) == (second in candidate[1]):
            return candidate
        place = {first: second, second: first}
        margin, contrast = ([place.get(j, j) for j in part] for part in candidate)
        return self.closed(margin, contrast)

    def everything(self, limit: int) -> list[Candidate] | None:
        """All closed candidates, or None if there are more than `limit`."""
        if sum(2.0 ** min(len(link), 64) for link in self._links.values()) > limit:
            return None
        found = (self.closed({*b, *extra}, b) for b, link in self._links.items() for extra in subsets(sorted(link)))
        return [c for c in found if c is not None]

    def small(self, limit: int) -> list[Candidate]:
        """Tables and residuals of the closure in every contrast, the largest margins first, at most `limit`."""
        out: list[Candidate] = []
        for t in sorted(self.target.closure, key=lambda t: (-len(t), t)):
            for b in subsets(j for j in t if j in self.binary):
                out.append((t, b))
                if len(out) >= limit:
                    return out
        return out

    def variants(self, candidate: Candidate) -> list[Candidate]:
        """Closed candidates one step away: an attribute added, dropped, exchanged, or put in or out of the contrast."""
        s, b = candidate
        others = [j for j in range(len(self.target.sizes)) if j not in s]
        found: dict[Candidate, None] = {}
        for margin, contrast in self._steps(s, b, others):
            closed = self.closed(margin, contrast)
            if closed is not None and closed != candidate:
                found[closed] = None
        return list(found)

    def _steps(self, s: Places, b: Places, others: Sequence[int]) -> Iterator[tuple[set[int], set[int]]]:
        inside, contrast = set(s), set(b)
        for new in others:
            yield inside | {new}, contrast
        for old in s:
            yield inside - {old}, contrast - {old}
            for new in others:
                yield (inside - {old}) | {new}, contrast - {old}
            if old in self.binary:
                yield inside, contrast ^ {old}

    def unions(self, first: Candidate, second: Candidate) -> list[Candidate]:
        """Closed candidates on the union of two margins, with what their contrasts share or less."""
        margin = {*first[0], *second[0]}
        shared = sorted(set(first[1]) & set(second[1]))
        found = (self.closed(margin, b) for b in subsets(shared))
        return [c for c in found if c is not None]


def widest(margins: Iterable[Places]) -> list[Places]:
    """The margins that lie in no other one, larger first."""
    return sorted(maximal(margins), key=lambda t: (-len(t), t))


def cover(target: Goal, tables: Sequence[Places], max_cells: int) -> list[Candidate]:
    """Margins of at most `max_cells` cells (or a single table) that together contain every table, built greedily.

    Each margin starts from the first table not yet inside one and takes in the attribute that completes most tables,
    then the one that touches most.
    """
    if all(len(table) == 1 for table in tables):
        return _packed(target, tables, max_cells)
    return grown(target, tables, max_cells)


def grown(target: Goal, tables: Sequence[Places], max_cells: int) -> list[Candidate]:
    """`cover` of any tables: each block looks at all tables that wait."""
    waiting = indicator(tables, len(target.sizes)).astype(np.float32)
    blocks: list[Candidate] = []
    while len(waiting):
        block = waiting[0] > 0
        # Some linear algebra libraries raise the flag for invalid numbers at random, also for zeros and ones.
        with np.errstate(invalid="ignore"):
            missing = waiting.sum(axis=1) - waiting @ waiting[0]
        while (added := _best_extension(target, block, waiting, missing, max_cells)) is not None:
            block[added] = True
            missing -= waiting[:, added]
        waiting = waiting[missing > 0.5]
        blocks.append((tuple(int(j) for j in np.flatnonzero(block)), ()))
    return blocks


def _packed(target: Goal, tables: Sequence[Places], max_cells: int) -> list[Candidate]:
    """`cover` of tables of one attribute each, without looking at all of them again for each block.

    Any attribute completes one table, so a block takes in the smallest that fit, and of these the first.
    """
    attributes = sorted(j for (j,) in tables)
    waiting: dict[int, deque[int]] = {}
    for j in attributes:
        waiting.setdefault(target.sizes[j], deque()).append(j)
    blocks: list[Candidate] = []
    for first in attributes:
        alike = waiting[target.sizes[first]]
        if not alike or alike[0] != first:  # it is in a block already
            continue
        block, room = [alike.popleft()], max_cells // target.sizes[first]
        for size in sorted(waiting):
            while waiting[size] and size <= room:
                block.append(waiting[size].popleft())
                room //= size
        blocks.append((tuple(sorted(block)), ()))
    return blocks


def _best_extension(
    target: Goal, block: NDArray[np.bool_], waiting: NDArray[np.float32], missing: NDArray[np.float32], max_cells: int
) -> int | None:
    """The attribute to take into the block next; `missing` counts the attributes each waiting table still lacks."""
    fits = ~block & (np.asarray(target.sizes) <= max_cells // cells_of(target.sizes, np.flatnonzero(block).tolist()))
    if not fits.any():
        return None
    touched = np.where(missing > 0.5, 1 / np.maximum(missing, 1), 0)
    gains = np.where(touched > 0.99, 1.0, TOUCHED * touched * touched).astype(np.float32)
    # A larger domain costs noise in proportion: the gain is per doubling of the block.
    with np.errstate(invalid="ignore"):
        gain = np.where(fits, (gains @ waiting) / target.log_sizes, 0.0)
    return int(np.argmax(gain)) if gain.max() > 0 else None


def simple_sets(target: Goal, candidates: Candidates) -> list[list[Candidate]]:
    """Starting sets: wanted tables, contrasts of the residuals, the base table if it fits, designs, greedy covers."""
    binary = candidates.binary
    uncovered = set(target.closure)
    tables = widest(t for t in target.workload if not uncovered.isdisjoint(subsets(t)))
    sets: list[list[Candidate]] = [
        [(t, ()) for t in tables],
        [(t, tuple(j for j in t if j in binary)) for t in target.closure],
    ]
    everything = tuple(sorted({j for t in tables for j in t}))
    if cells_of(target.sizes, everything) <= candidates.max_cells:
        sets.append([(everything, ())])
    sets.extend(designed(target, tables, candidates))
    limit = FIRST_COVER
    while limit <= min(candidates.max_cells, 2 * cells_of(target.sizes, everything)):
        if len(tables) <= MANY_TABLES or limit in MANY_TABLES_CELLS:
            sets.append(cover(target, tables, limit))
        limit *= 2
    unique: dict[tuple[Candidate, ...], None] = {tuple(s): None for s in sets}
    return [list(s) for s in unique]


def designed(target: Goal, tables: Sequence[Places], candidates: Candidates) -> Iterator[list[Candidate]]:
    """Sets whose margins are the blocks of a design, with the tables that lie in no block beside them."""
    used = sorted({j for t in tables for j in t})
    strength = max(len(t) for t in tables)
    for g, blocks in designs(strength, len(used)) if strength >= 2 else ():
        points = dict(zip(used, deal([target.log_sizes[j] for j in used], g), strict=True))
        margins = [tuple(j for j in used if points[j] in block) for block in map(set, blocks)]
        margins = [m for m in margins if cells_of(target.sizes, m) <= candidates.max_cells]
        inside = [set(m) for m in margins]
        rest = [t for t in tables if not any(m.issuperset(t) for m in inside)]
        kept = [m for m in margins if any(set(m).issuperset(t) for t in tables)]
        yield [(m, ()) for m in dict.fromkeys([*kept, *rest])]
