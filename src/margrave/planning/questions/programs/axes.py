"""What rows are grouped or parted by: over all declared values of a key, or over the given ones alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from margrave.errors import RefusedError, UsageError
from margrave.planning.questions.kinds import Kind, size_of
from margrave.planning.questions.language.relations import Key
from margrave.planning.questions.programs.lowering import Lowered, constant_code
from margrave.planning.questions.programs.programs import AllTests, Fixed, Member, Order, Test, Whole

MOST_ANSWERS = 1 << 20
"""Cells of one answer, groups times values of a grid: each gets its noise."""


@dataclass(frozen=True)
class Axis:
    """One key of the groups: its name, its kind, and the whole numbers that it is grouped over."""

    name: str
    kind: Kind
    codes: Sequence[int]

    @property
    def shown(self) -> list[object]:
        return [self.kind.show(code) for code in self.codes]

    @property
    def named(self) -> list[object]:
        """The names of groups."""
        return [self.kind.named(code) for code in self.codes]


def axis_of(key: Key, lowered: Lowered) -> Axis:
    """The axis of a key, or why there is none."""
    kind = lowered.kind
    if kind is None:
        raise UsageError(f"{key.name!r} is always missing: there is nothing to group by")
    if not key.only:
        return Axis(key.name, kind, _declared(kind, repr(key.name)))
    codes = [constant_code(kind, one) for one in key.only]
    found = tuple(dict.fromkeys(code for code in codes if code is not None))
    if len(found) < len(codes):
        raise UsageError(f"the values given for {key.name!r} must be different, and values that it can have")
    return Axis(key.name, kind, found)


def _declared(kind: Kind, what: str) -> range:
    if size_of(kind) > MOST_ANSWERS:
        raise RefusedError(f"{what} has {size_of(kind):,} values, at most {MOST_ANSWERS:,} are possible: use bins")
    return range(kind.low, kind.high + 1)


def within(key: Whole, axis: Axis) -> Test:
    """Whether a row's key is one of the axis."""
    codes = axis.codes
    if isinstance(codes, range):
        return AllTests((Order(">=", key, Fixed(codes[0])), Order("<=", key, Fixed(codes[-1]))))
    return Member(key, tuple(codes))
