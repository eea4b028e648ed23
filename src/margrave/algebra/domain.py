"""Attributes, and the domain that they span."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from margrave.errors import UsageError, suggest

Margin = tuple[str, ...]
"""A set of attributes, always written in the order of its domain. ``()`` is the grand total."""
_NAMED = 12
"""The most attributes that an error lists."""


@dataclass(frozen=True)
class Attribute:
    """A named, ordered, finite set of values that is public."""

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.name:
            raise UsageError("an attribute needs a name")
        if not self.values:
            raise UsageError(f"attribute {self.name!r} needs at least one value")
        if len(set(self.values)) != len(self.values):
            raise UsageError(f"attribute {self.name!r} lists a value twice")

    @property
    def size(self) -> int:
        return len(self.values)

    def code(self, value: str) -> int:
        """The position of a value."""
        try:
            return self.values.index(value)
        except ValueError:
            raise UsageError(f"{self.name!r} has no value {value!r}{suggest(value, self.values)}") from None


@dataclass(frozen=True)
class Domain:
    """An ordered tuple of attributes: the axes of the full table."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if len(set(self.names)) != len(self.attributes):
            raise UsageError("a domain cannot have two attributes of the same name")

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    @cached_property
    def names(self) -> Margin:
        """The margin of all attributes: the full table."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.position(name)]

    def position(self, name: str) -> int:
        """The axis of an attribute in the full table."""
        try:
            return self._position[name]
        except KeyError:
            listed = (*self.names[:_NAMED], *("…" for _ in self.names[_NAMED : _NAMED + 1]))
            hint = suggest(name, self.names) or f"; there are {', '.join(listed)}"
            raise UsageError(f"unknown attribute {name!r}{hint}") from None

    def margin(self, names: Iterable[str]) -> Margin:
        """The set of the given attributes, in the order of the domain."""
        return tuple(sorted(set(names), key=self.position))

    @cached_property
    def _size(self) -> dict[str, int]:
        return {attribute.name: attribute.size for attribute in self.attributes}

    def shape(self, margin: Margin | None = None) -> tuple[int, ...]:
        """The number of values of each attribute of the margin (by default of all)."""
        try:
            return tuple([self._size[name] for name in (self.names if margin is None else margin)])
        except KeyError as error:
            self.position(error.args[0])
            raise

    def cells(self, margin: Margin | None = None) -> int:
        """The number of cells of a margin, as an exact integer however large."""
        return prod(self.shape(margin))

    def codes(self, margin: Margin, cell: tuple[str, ...]) -> tuple[int, ...]:
        """The positions of the values of one cell of a margin."""
        return tuple(self[name].code(value) for name, value in zip(margin, cell, strict=True))

    def restrict(self, margin: Margin) -> Domain:
        """The domain of the margin's attributes alone."""
        return Domain(tuple(self[name] for name in margin))
