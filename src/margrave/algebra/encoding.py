"""How the attributes of a spec are measured: always by some encoding, of which the plain one changes next to nothing.

A plain encoding leaves out attributes of one value, which add axes but nothing to say. The binary one also writes each
attribute of ``k > 2`` values as ``⌈log₂ k⌉`` binary ones, so that methods for binary tables work on any table. The
codes from ``k`` on are impossible; whatever weight noise puts there is spread evenly over the possible codes when a
table is decoded. Decoding works along each attribute on its own, so decoded tables still agree with each other
wherever encoded ones do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from margrave.algebra.arrays import Array
from margrave.algebra.domain import Attribute, Domain, Margin


@dataclass(frozen=True)
class Encoding(ABC):
    """The encoding of a domain. Margins and cells of the domain are *declared*, those of ``encoded`` are *measured*."""

    domain: Domain
    name: ClassVar[str | None]
    """Its name in bundles."""
    keeps_cells: ClassVar[bool]
    """Whether each measured cell is one declared cell."""

    @property
    @abstractmethod
    def encoded(self) -> Domain:
        """The measured attributes, each of at least two values."""

    @abstractmethod
    def attributes(self, margin: Margin) -> Margin:
        """What a margin is measured by, attributes of one value included."""

    def margin(self, margin: Margin) -> Margin:
        """The measured attributes of a declared margin."""
        return tuple([name for name in self.attributes(margin) if name in self._measured])

    @cached_property
    def _measured(self) -> frozenset[str]:
        return frozenset(self.encoded.names)

    @abstractmethod
    def source(self, margin: Margin) -> Margin:
        """The least declared margin that holds the counts of a measured one."""

    @abstractmethod
    def cell(self, margin: Margin, codes: tuple[int, ...]) -> tuple[int, ...]:
        """The measured codes of one cell of a declared margin."""

    @abstractmethod
    def decode_cell(self, margin: Margin, codes: tuple[int, ...]) -> tuple[int, ...]:
        """The inverse of :meth:`cell`."""

    @abstractmethod
    def encode(self, margin: Margin, counts: Array) -> Array:
        """The counts of a declared margin over what is measured."""

    @abstractmethod
    def decode(self, margin: Margin, counts: Array) -> Array:
        """The inverse of :meth:`encode`."""

    @abstractmethod
    def transpose(self, margin: Margin, weights: Array) -> Array:
        """The weights on the encoded table that say the same as the given weights on the decoded one."""

    def counts(self, margin: Margin, held: Array) -> Array:
        """The counts of a measured margin, from those of its :meth:`source`."""
        source = self.source(margin)
        outside = tuple(axis for axis, name in enumerate(self.margin(source)) if name not in margin)
        summed: Array = self.encode(source, held).sum(axis=outside)
        return summed


@dataclass(frozen=True)
class Plain(Encoding):
    """Every attribute that can vary is measured as it is."""

    name = None
    keeps_cells = True

    @cached_property
    def encoded(self) -> Domain:
        varying = tuple(attribute for attribute in self.domain if attribute.size > 1)
        return self.domain if len(varying) == len(self.domain) else Domain(varying)

    def attributes(self, margin: Margin) -> Margin:
        return margin

    def margin(self, margin: Margin) -> Margin:
        return margin if self.encoded is self.domain else super().margin(margin)

    def source(self, margin: Margin) -> Margin:
        return margin

    def cell(self, margin: Margin, codes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(code for name, code in zip(margin, codes, strict=True) if name in self._measured)

    def decode_cell(self, margin: Margin, codes: tuple[int, ...]) -> tuple[int, ...]:
        rest = iter(codes)
        return tuple(next(rest) if name in self._measured else 0 for name in margin)

    def encode(self, margin: Margin, counts: Array) -> Array:
        return counts.reshape(self.encoded.shape(self.margin(margin)))

    def decode(self, margin: Margin, counts: Array) -> Array:
        return counts.reshape(self.domain.shape(margin))

    def transpose(self, margin: Margin, weights: Array) -> Array:
        return self.encode(margin, np.asarray(weights))

    def counts(self, margin: Margin, held: Array) -> Array:
        return held


@dataclass(frozen=True)
class BinaryEncoding(Encoding):
    """Attributes of more than two values are written in binary."""

    name = "binary"
    keeps_cells = False

    def _bits(self, name: str) -> int:
        return max(1, (self.domain[name].size - 1).bit_length())

    def _binary(self, name: str) -> Margin:
        return (name,) if self.domain[name].size <= 2 else tuple(f"{name}:{bit}" for bit in range(self._bits(name)))

    @cached_property
    def encoded(self) -> Domain:
        """The binary domain: ``age`` of five values becomes ``age:0``, ``age:1``, ``age:2``, highest bit first."""
        attributes: list[Attribute] = []
        for attribute in self.domain:
            values = attribute.values if attribute.size <= 2 else ("0", "1")
            attributes += [Attribute(name, values) for name in self._binary(attribute.name)]
        return Plain(Domain(tuple(attributes))).encoded

    def attributes(self, margin: Margin) -> Margin:
        return tuple(bit for name in margin for bit in self._binary(name))

    def source(self, margin: Margin) -> Margin:
        wanted = set(margin)
        return tuple(name for name in self.domain.names if not wanted.isdisjoint(self._binary(name)))

    def cell(self, margin: Margin, codes: tuple[int, ...]) -> tuple[int, ...]:
        found: tuple[int, ...] = ()
        for name, code in zip(margin, codes, strict=True):
            width = len(self.margin((name,)))
            found += tuple(code >> (width - 1 - bit) & 1 for bit in range(width))
        return found

    def decode_cell(self, margin: Margin, codes: tuple[int, ...]) -> tuple[int, ...]:
        found, rest = [], list(codes)
        for name in margin:
            bits = [rest.pop(0) for _ in self.margin((name,))]
            found.append(sum(bit << place for place, bit in enumerate(reversed(bits))))
        return tuple(found)

    def _padded(self, margin: Margin) -> tuple[int, ...]:
        return tuple(
            self.domain[name].size if self.domain[name].size <= 2 else 1 << self._bits(name) for name in margin
        )

    def encode(self, margin: Margin, counts: Array) -> Array:
        """The counts of a margin over binary attributes; impossible codes are zero."""
        values = np.asarray(counts).reshape(self.domain.shape(margin))
        padded = np.zeros(self._padded(margin), dtype=values.dtype)
        padded[tuple(slice(size) for size in values.shape)] = values
        return padded.reshape(self.encoded.shape(self.margin(margin)))

    def decode(self, margin: Margin, counts: Array) -> Array:
        """The inverse of :meth:`encode`, with the weight of impossible codes spread over the possible ones."""
        values = np.asarray(counts, dtype=float).reshape(self._padded(margin))
        for axis, name in enumerate(margin):
            size = self.domain[name].size
            possible, impossible = np.split(values, [size], axis=axis)
            values = possible + impossible.sum(axis=axis, keepdims=True) / size
        return values

    def transpose(self, margin: Margin, weights: Array) -> Array:
        values = np.asarray(weights, dtype=float).reshape(self.domain.shape(margin))
        for axis, padded in enumerate(self._padded(margin)):
            spare = padded - values.shape[axis]
            values = np.concatenate([values, np.repeat(values.mean(axis=axis, keepdims=True), spare, axis)], axis)
        return values.reshape(self.encoded.shape(self.margin(margin)))


ENCODINGS: Mapping[str | None, type[Encoding]] = {kind.name: kind for kind in (Plain, BinaryEncoding)}
"""Every encoding by its name in bundles."""
