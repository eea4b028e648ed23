"""How far one unit can move what is asked. docs/questions.md has the proofs; tests try all neighbours of small data.

What is asked is a sum over units of vectors that depend on the rows of that unit alone. So adding or removing a unit
moves it by one such vector, replacing a unit by the difference of two.
"""

from __future__ import annotations

from dataclasses import dataclass

from margrave.budget.neighbours import Neighbours as Neighbours


@dataclass(frozen=True)
class UnitBounds:
    """What of one unit is used at most: rows in all, groups, rows in a group; and how many groups there are."""

    rows: int
    groups: int
    per_group: int
    cells: int

    @classmethod
    def of(cls, rows: int, groups: int, per_group: int, cells: int) -> UnitBounds:
        """The bounds that follow from these: none is larger than the others let it be."""
        groups = min(groups, rows, cells)
        return cls(min(rows, groups * per_group), groups, min(rows, per_group), cells)


@dataclass(frozen=True)
class UnitMove:
    """How far one unit moves an answer: the largest L1 distance and the square of the largest L2 distance."""

    l1: int
    l2_squared: int

    def times(self, factor: int) -> UnitMove:
        return UnitMove(self.l1 * factor, self.l2_squared * factor)


def added_rows(bounds: UnitBounds) -> UnitMove:
    """The counts of one unit's rows by group: at most ``per_group`` in each of ``groups``, ``rows`` in all.

    The squares are largest where as many groups as possible are full.
    """
    full = min(bounds.groups, bounds.rows // bounds.per_group)
    rest = min(bounds.per_group, bounds.rows - full * bounds.per_group) if full < bounds.groups else 0
    return UnitMove(full * bounds.per_group + rest, full * bounds.per_group**2 + rest**2)


def rows_move(bounds: UnitBounds, weight: int, parts: int, neighbours: Neighbours) -> UnitMove:
    """Sums by group of ``parts`` numbers for each row, none negative, which add up to ``weight``.

    They move as ``weight`` times the counts do. Under replace two such vectors differ by at most their sum in L1 and
    by the sum of their squares in L2², none being negative; with one group and one part, by no more than one of them.
    """
    added = added_rows(bounds)
    move = UnitMove(added.l1 * weight, added.l2_squared * weight**2)
    return move if neighbours == "add-remove" or (bounds.cells == 1 and parts == 1) else move.times(2)


def totals_move(low: int, high: int, groups: int, cells: int, neighbours: Neighbours) -> UnitMove:
    """Totals of units by group, each clamped to low … high, zero where a unit has no rows.

    Under replace a group that both units have moves by at most ``apart``; two groups, one of each, by the larger end
    each. With one group that is all.
    """
    larger = max(abs(low), abs(high))
    if neighbours == "add-remove":
        return UnitMove(groups * larger, groups * larger**2)
    apart = max(high - low, larger)
    if cells == 1:
        return UnitMove(apart, apart**2)
    return UnitMove(2 * groups * larger, groups * max(apart**2, 2 * larger**2))
