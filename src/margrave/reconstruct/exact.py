"""Tables that keep exact counts: whole margins and single cells, whatever the reason that they are exact.

All of them are about the attributes U that they mention together. So first a table over U is found that has all exact
counts and is near the fitted one, and then every slice of the full table above a cell of U is scaled, or rounded, to
the count of that cell. The table over U solves a program in whole numbers: for one margin there is nothing to solve,
for two it is a flow in a network, whose vertices are whole; for more it may be hard. Of large tables with whole margins
alone, a walk is tried first. What either finds depends on the counts and not on the machine: the search of the program
is limited by the nodes of its tree, and a clock only ends what would take far longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from margrave.algebra.arrays import Floats, Integers
from margrave.algebra.domain import Domain, Margin
from margrave.algebra.incidence import margin_sums
from margrave.algebra.table import Table
from margrave.errors import RefusedError, UsageError
from margrave.reconstruct.estimates import Possible
from margrave.reconstruct.walk import STEPS, walked

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = tuple[Margin, tuple[int, ...]]

_NODES = 2_000
"""Nodes of the search tree of one program, at most."""
_SECONDS = 120.0
"""A guard: no program of the sizes that are published takes so long for its nodes."""
_LARGE = 512
"""Tables of more cells are looked for by a walk first."""
_SWEEPS = 200
_CLOSE = 1e-9
_NEAR = 1e-7
"""How far a number may be from a whole one that it stands for."""


class NotKept(Exception):
    """No table with the exact counts was found in time, or there is none; the text says which."""


@dataclass(frozen=True)
class ExactCounts:
    """Counts to keep, over a ``domain``: ``tables`` by margin, none below another, and single ``cells`` by codes.

    ``optional``: it is no loss if they are not kept, so that no long search is worth it in a large table.
    """

    domain: Domain
    tables: Mapping[Margin, Integers] = field(default_factory=dict)
    cells: Mapping[Codes, int] = field(default_factory=dict)
    optional: bool = False

    def __post_init__(self) -> None:
        tables = {
            margin: np.asarray(counts, dtype=np.int64).reshape(self.domain.shape(margin))
            for margin, counts in self.tables.items()
        }
        object.__setattr__(self, "tables", tables)
        if any((counts < 0).any() for counts in tables.values()) or any(count < 0 for count in self.cells.values()):
            raise UsageError("exact counts cannot be negative")

    @cached_property
    def names(self) -> Margin:
        """U: the attributes that some exact count mentions."""
        return self.domain.margin({name for margin in (*self.tables, *(m for m, _ in self.cells)) for name in margin})

    @cached_property
    def _matrix(self) -> tuple[csr_array, Floats]:
        """A row for each exact count, a column for each cell over U; and the counts."""
        from scipy.sparse import csr_array, vstack

        rows, known = [], []
        for margin, counts in self.tables.items():
            rows.append(margin_sums(self.domain, self.names, margin))
            known.append(counts.ravel())
        for (margin, codes), count in self.cells.items():
            place = int(np.ravel_multi_index(codes, self.domain.shape(margin))) if margin else 0
            rows.append(margin_sums(self.domain, self.names, margin)[[place]])
            known.append(np.array([count]))
        return csr_array(vstack(rows)), np.concatenate(known).astype(float)

    def core(self, table: Floats, possible: Possible | None = None, *, whole: bool = True) -> Integers | Floats:
        """The table over U that has the exact counts and is near the given one; in whole numbers, or not."""
        if self.names in self.tables:
            return self.tables[self.names]
        near = raked(self, table, possible)
        if not whole:
            missed = np.abs(self._matrix[0] @ near.ravel() - self._matrix[1]).max(initial=0.0)
            if missed <= _CLOSE * max(1.0, float(near.sum())):
                return near
        elif near.size > _LARGE and not self.cells:
            walk = walked(self.domain.restrict(self.names), self.tables, near, possible)
            if walk is not None:
                return walk
            if self.optional:
                raise NotKept(f"a walk of {STEPS} steps found no table with all of these counts")
        open_cells = np.ones(near.size, dtype=bool) if possible is None else possible.ravel()
        found = self._solved(near.ravel(), open_cells, whole)
        return found.reshape(near.shape)

    def _solved(self, near: Floats, possible: Possible, whole: bool) -> Integers | Floats:
        """The nearest table, first among those that round each cell up or down, then among all."""
        from scipy.sparse import csr_array, hstack

        matrix, known = self._matrix
        low = np.floor(near + _NEAR) if whole else near
        if whole:
            broken = np.flatnonzero(possible & (near - low > _NEAR))
            part = near[broken] - low[broken]
            steps = _program(1 - 2 * part, matrix[:, broken], known - matrix @ low, np.ones(len(broken)), True)
            if steps is not None:
                low[broken] += steps
                return low.astype(np.int64)
            part = near - low
            prices, most = [1 - 2 * part, 1 + 0 * part, 1 + 0 * part], [1 + 0 * part, np.inf + 0 * part, low]
            columns = hstack([matrix, matrix, -matrix])
        else:
            prices, most = [np.ones(near.size), np.ones(near.size)], [np.full(near.size, np.inf), low]
            columns = hstack([matrix, -matrix])
        limits = np.concatenate([np.where(possible, one, 0.0) for one in most[:-1]] + [low])
        steps = _program(np.concatenate(prices), csr_array(columns), known - matrix @ low, limits, whole, last=True)
        assert steps is not None
        up, down = steps[: -near.size], steps[-near.size :]
        found: Floats = low + up.reshape(-1, near.size).sum(axis=0) - down
        return found.astype(np.int64) if whole else np.maximum(found, 0.0)


def _program(
    prices: Floats, matrix: csr_array, wanted: Floats, most: Floats, whole: bool, *, last: bool = False
) -> Floats | None:
    """Steps from 0 to ``most`` at the least price that add up to what is wanted; None if there are none."""
    if not len(prices):
        return prices if not np.abs(wanted).max(initial=0.0) > _NEAR else None
    from scipy.optimize import Bounds, LinearConstraint, milp

    solved = milp(
        prices,
        constraints=LinearConstraint(matrix, wanted, wanted),
        integrality=np.full(len(prices), int(whole)),
        bounds=Bounds(0, most),
        options={"node_limit": _NODES, "time_limit": _SECONDS, "mip_rel_gap": 0.01},
    )
    if solved.x is not None:
        return np.rint(solved.x) if whole else np.asarray(solved.x, dtype=np.float64)
    if last and solved.status == 2:
        raise NotKept("the exact counts contradict each other: no table of counts has them all")
    if last:
        raise NotKept(f"no table with all exact counts was found in {_NODES} steps of the search")
    return None


def raked(exact: ExactCounts, table: Floats, possible: Possible | None = None) -> Floats:
    """A table over U scaled to its exact margins and cells in turn, until it has them or no longer comes nearer.

    Cells that may hold records are given a trace of one first, so that no exact count is out of reach.
    """
    domain, names = exact.domain, exact.names
    total = max((float(counts.sum()) for counts in exact.tables.values()), default=float(table.sum()))
    found = np.maximum(
        np.asarray(table, dtype=np.float64).reshape(domain.shape(names)), 1e-9 * max(total, 1.0) / table.size
    )
    if possible is not None:
        found = np.where(possible.reshape(found.shape), found, 0.0)
    for _ in range(_SWEEPS):
        before = found
        for margin, counts in exact.tables.items():
            axes = tuple(axis for axis, name in enumerate(names) if name not in margin)
            sums = found.sum(axis=axes, keepdims=True)
            shape = [domain[name].size if name in margin else 1 for name in names]
            found = found * np.divide(counts.reshape(shape), sums, out=np.zeros(shape), where=sums > 0)
        for (margin, codes), count in exact.cells.items():
            where = tuple(codes[margin.index(name)] if name in margin else slice(None) for name in names)
            inside = float(found[where].sum())
            found = found.copy()
            found[where] = found[where] * (count / inside) if inside > 0 else 0.0
        if np.abs(found - before).max(initial=0.0) <= _CLOSE * max(1.0, total) / 100:
            break
    return found


def slices(domain: Domain, names: Margin) -> Integers:
    """For each cell of the full table, the number of the cell over ``names`` that it lies in."""
    places = np.arange(domain.cells(names)).reshape(
        [domain[name].size if name in names else 1 for name in domain.names]
    )
    return np.broadcast_to(places, domain.shape()).ravel()


def sliced(table: Floats, groups: Integers, counts: Floats | Integers, possible: Possible | None = None) -> Floats:
    """The table with each slice scaled to its count; a slice that is empty and should not be is filled evenly."""
    flat, target = table.ravel(), np.asarray(counts, dtype=np.float64).ravel()
    mass = np.bincount(groups, weights=flat, minlength=target.size)
    scaled = flat * np.divide(target, mass, out=np.zeros(target.size), where=mass > 0)[groups]
    missing = (mass <= 0) & (target > 0)
    if missing.any():
        allowed = missing[groups] if possible is None else missing[groups] & possible.ravel()
        room = np.bincount(groups, weights=allowed, minlength=target.size)
        if (room[missing] == 0).any():
            raise NotKept("an exact count is not zero where no record can be")
        scaled = scaled + allowed * np.divide(target, room, out=np.zeros(target.size), where=room > 0)[groups]
    return scaled.reshape(table.shape)


def keep(exact: ExactCounts, table: Floats, possible: Possible | None = None) -> Floats:
    """The full table, not rounded, with every exact count."""
    domain = exact.domain
    over = Table(domain, domain.names, table).project(exact.names).counts
    allowed = None if possible is None else _any(domain, exact.names, possible)
    core = exact.core(over, allowed, whole=False)
    return sliced(table, slices(domain, exact.names), core, possible)


def whole_core(exact: ExactCounts, table: Floats, possible: Possible | None = None) -> Integers:
    """The table over U, in whole numbers, for a full table."""
    domain = exact.domain
    over = Table(domain, domain.names, table).project(exact.names).counts
    allowed = None if possible is None else _any(domain, exact.names, possible)
    return np.asarray(exact.core(over, allowed), dtype=np.int64)


def _any(domain: Domain, names: Margin, possible: Possible) -> Possible:
    axes = tuple(axis for axis, name in enumerate(domain.names) if name not in names)
    return np.asarray(possible.reshape(domain.shape()).any(axis=axes))


def check_feasible(exact: ExactCounts, possible: Possible | None = None) -> None:
    """Refuse exact counts that no table of counts has; needs no other numbers, so it costs nothing to find out."""
    size = exact.domain.cells(exact.names)
    even = np.full(exact.domain.shape(exact.names), 1.0 / size)
    try:
        exact.core(even, None if possible is None else _any(exact.domain, exact.names, possible))
    except NotKept as reason:
        raise RefusedError(f"release.public: {reason}") from None
