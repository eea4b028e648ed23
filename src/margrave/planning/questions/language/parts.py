"""Partitions: rows in parts by a key, each part with a purse of its own that was paid for once, for all parts together.

``most_parts``: of a unit with rows in more parts, so many parts are kept. Left out, it follows from the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from margrave.errors import UsageError
from margrave.planning.questions.language.expressions import CONSTANTS, Value
from margrave.planning.questions.language.form import LanguageNode
from margrave.planning.questions.language.relations import Except, Intersect, Join, Key, Relation, Rows, Union


@dataclass(frozen=True)
class Partition(LanguageNode, kind="partition"):
    """Rows in parts by a key, over all its declared values or over the given ones alone."""

    rows: Relation
    by: Key
    most_parts: int | None = None

    def __post_init__(self) -> None:
        self._check("rows", Relation)
        self._check("by", Key)
        self._check_bound("most_parts")

    def part(self, value: Value) -> Part:
        return Part(self.rows, self.by, value, self.most_parts)


@dataclass(frozen=True)
class Part(Relation, kind="part"):
    """The rows of one part of a partition."""

    rows: Relation
    by: Key
    value: Value
    most_parts: int | None = None

    def __post_init__(self) -> None:
        self._check("rows", Relation)
        self._check("by", Key)
        self._check("value", CONSTANTS)
        self._check_bound("most_parts")

    @property
    def partition(self) -> Partition:
        return Partition(self.rows, self.by, self.most_parts)


def parts_in(node: LanguageNode) -> Iterator[Part]:
    """The parts that a question names, the outermost of those within one another."""
    if isinstance(node, Part):
        yield node
        return
    for one in node.parts:
        yield from parts_in(one)


def descends(relation: Relation, part: Part) -> bool:
    """Whether a unit without rows in the part has no rows in the relation, whatever else it has."""
    if relation == part:
        return True
    match relation:
        case Rows():
            return False
        case Join(left, right, how):
            either = how in ("inner", "semi") and descends(right, part)
            return descends(left, part) or either
        case Union(left, right):
            return descends(left, part) and descends(right, part)
        case Intersect(left, right):
            return descends(left, part) or descends(right, part)
        case Except(left, _):
            return descends(left, part)
    rows: Relation = relation.rows  # type: ignore[attr-defined]  # every other relation is made of one
    return descends(rows, part)


def check_payable(relation: Relation, part: Part) -> None:
    """Refuse what the purse of a part cannot pay for: rows from elsewhere, the source of the part, another part."""
    if not descends(relation, part):
        raise UsageError(
            "the purse of a part pays for rows that come from the part alone: ask this outside the partition"
        )
    if any(one != part for one in parts_in(relation)):
        raise UsageError("the purse of a part pays for no other part: ask this outside the partition")
    source = {one.table for one in _tables(part.rows, None)}
    for one in _tables(relation, part):
        if one.table in source:
            raise UsageError(
                f"the part was made of {one.table!r}, which the question names again: ask this outside the partition"
            )


def _tables(node: LanguageNode, part: Part | None) -> Iterator[Rows]:
    """The tables that are named, outside a part."""
    if isinstance(node, Rows):
        yield node
    elif node != part:
        for one in node.parts:
            yield from _tables(one, part)
