"""Non-binary attributes written in binary, so that methods for binary tables work on any table.

An attribute of ``k > 2`` values becomes ``⌈log₂ k⌉`` binary ones. The codes from ``k`` on are impossible; whatever
weight noise puts there is spread evenly over the possible codes when a table is decoded. Decoding works along each
attribute on its own, so decoded tables still agree with each other wherever encoded ones do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from margrave.algebra.domain import Attribute, Domain, Margin
from margrave.algebra.residual import Array


@dataclass(frozen=True)
class BinaryEncoding:
    """The encoding of a domain."""

    domain: Domain

    def _bits(self, name: str) -> int:
        return max(1, (self.domain[name].size - 1).bit_length())

    def _binary(self, name: str) -> Margin:
        return (name,) if self.domain[name].size <= 2 else tuple(f"{name}:{bit}" for bit in range(self._bits(name)))

    @cached_property
    def encoded(self) -> Domain:
        """The binary domain: ``age`` of five values becomes ``age:0``, ``age:1``, ``age:2``, highest bit first."""
        attributes: list[Attribute] = []
        for attribute in self.domain:
            small = attribute.size <= 2
            values = attribute.values if small else ("0", "1")
            attributes += [Attribute(name, values) for name in self._binary(attribute.name)]
        return Domain(tuple(attributes))

    def margin(self, margin: Margin) -> Margin:
        """The binary attributes of a margin."""
        return tuple(bit for name in margin for bit in self._binary(name))

    def cell(self, margin: Margin, codes: tuple[int, ...]) -> tuple[int, ...]:
        """The codes of the binary attributes in one cell of a margin."""
        found: tuple[int, ...] = ()
        for name, code in zip(margin, codes, strict=True):
            width = len(self._binary(name))
            found += tuple(code >> (width - 1 - bit) & 1 for bit in range(width))
        return found

    def decode_cell(self, margin: Margin, codes: tuple[int, ...]) -> tuple[int, ...]:
        """The inverse of :meth:`cell`."""
        found, rest = [], list(codes)
        for name in margin:
            bits = [rest.pop(0) for _ in self._binary(name)]
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
        """The weights on the encoded table that say the same as the given weights on the decoded one."""
        values = np.asarray(weights, dtype=float).reshape(self.domain.shape(margin))
        for axis, padded in enumerate(self._padded(margin)):
            spare = padded - values.shape[axis]
            values = np.concatenate([values, np.repeat(values.mean(axis=axis, keepdims=True), spare, axis)], axis)
        return values.reshape(self.encoded.shape(self.margin(margin)))
