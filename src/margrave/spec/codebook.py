"""The codebook: how the raw values of a column become the declared values of an attribute.

A codebook is public and complete before any data is opened: the domain is never taken from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Literal

from margrave.algebra.domain import Attribute, Domain
from margrave.errors import UsageError

Edge = Decimal | date


@dataclass(frozen=True)
class Categories:
    """The values listed. ``boolean`` when they were declared as true and false."""

    values: tuple[str, ...]
    boolean: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise UsageError("values must not be empty")

    @property
    def size(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Range:
    """Every whole number from ``low`` to ``high``, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise UsageError(f"range [{self.low}, {self.high}] must not decrease")

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(str(number) for number in range(self.low, self.high + 1))


@dataclass(frozen=True)
class Bins:
    """Intervals between increasing edges, numbers or dates.

    ``closed`` says which end of each interval belongs to it: ``"left"`` means [a, b), ``"right"`` means (a, b].
    The outermost edges always belong to their intervals, so the edges' whole span is covered.
    """

    edges: tuple[Edge, ...]
    closed: Literal["left", "right"] = "left"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(self.edges))
        if len(self.edges) < 2:
            raise UsageError("bins need at least two edges")
        if len({isinstance(edge, date) for edge in self.edges}) > 1:
            raise UsageError("bins must not mix numbers and dates")
        if any(left >= right for left, right in zip(self.edges, self.edges[1:], strict=False)):  # type: ignore[operator]
            raise UsageError("bin edges must increase")

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    @property
    def values(self) -> tuple[str, ...]:
        """Whole-number edges read as people write them (``0-17``); others as intervals (``[0.5, 1.5)``)."""
        last = len(self.edges) - 2
        return tuple(
            self._label(left, right, first=index == 0, last=index == last)
            for index, (left, right) in enumerate(zip(self.edges, self.edges[1:], strict=False))
        )

    def _label(self, left: Edge, right: Edge, *, first: bool, last: bool) -> str:
        includes_left = self.closed == "left" or first
        includes_right = self.closed == "right" or last
        if all(isinstance(edge, Decimal) and edge == edge.to_integral_value() for edge in self.edges):
            low = int(left) + (0 if includes_left else 1)  # type: ignore[arg-type]
            high = int(right) - (0 if includes_right else 1)  # type: ignore[arg-type]
            return str(low) if low == high else f"{low}-{high}"
        return f"{'[' if includes_left else '('}{left}, {right}{']' if includes_right else ')'}"


Rule = Categories | Range | Bins


@dataclass(frozen=True)
class CodebookEntry:
    """One attribute of the codebook.

    ``missing`` names the value for NULL, NaN and empty text; ``other`` the value for everything outside the rule
    (and for missing values where ``missing`` is not declared). ``labels`` maps values to words for people.
    ``determines`` maps the name of another attribute to a map from each value here to the value it implies there.
    """

    name: str
    rule: Rule
    title: str = ""
    missing: str | None = None
    other: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    determines: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)

    @cached_property
    def attribute(self) -> Attribute:
        """The rule's values, then ``missing``, then ``other`` (each once, where declared)."""
        extra = [value for value in (self.missing, self.other) if value is not None]
        return Attribute(self.name, tuple(dict.fromkeys([*self.rule.values, *extra])))

    def label(self, value: str) -> str:
        return self.labels.get(value, value)


@dataclass(frozen=True)
class Codebook:
    """The attributes in their declared order."""

    entries: tuple[CodebookEntry, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", tuple(self.entries))

    @cached_property
    def domain(self) -> Domain:
        return Domain(tuple(entry.attribute for entry in self.entries))

    def __getitem__(self, name: str) -> CodebookEntry:
        return self.entries[self.domain.position(name)]
