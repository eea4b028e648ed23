"""Whole numbers drawn one at a time from a tape of random bytes: the draws of a single person's device.

The page for respondents draws in the same way (`local/encoder.js`), so that the same tape gives the same report there
and here. Bytes come from the operating system, a `Generator`, or in tests from a tape that was written before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from margrave.errors import UsageError
from margrave.noise.generator import Generator

MOST = 1 << 48
"""The largest bound of a draw: whole numbers up to here are exact in every JavaScript engine."""


@dataclass(frozen=True)
class Tape:
    """``take(count)`` gives the next ``count`` bytes, none of them twice."""

    take: Callable[[int], bytes]

    @classmethod
    def of(cls, generator: Generator) -> Tape:
        """The bytes of a generator."""
        return cls(lambda count: generator.octets(count).tobytes())

    @classmethod
    def written(cls, content: bytes) -> Tape:
        """A tape of known bytes, for tests; running past its end is an error."""
        place = 0

        def take(count: int) -> bytes:
            nonlocal place
            found = content[place : place + count]
            place += count
            if len(found) < count:
                raise UsageError("the tape of random bytes is at its end")
            return found

        return cls(take)

    def below(self, bound: int) -> int:
        """A number that is uniform on 0 … bound − 1: as many bits as the bound needs, drawn again if too large."""
        if not 1 <= bound <= MOST:
            raise UsageError(f"the bound of a draw ({bound}) must be between 1 and 2^48")
        bits = (bound - 1).bit_length()
        while True:
            drawn = int.from_bytes(self.take((bits + 7) // 8), "big") & ((1 << bits) - 1)
            if drawn < bound:
                return drawn

    def chosen(self, size: int, count: int) -> int:
        """A mask of ``size`` bits, ``count`` of them set, each such mask being as likely as any other.

        Bit after bit is set with probability (those still to set) / (those left).
        """
        mask, needed = 0, count
        for place in range(size):
            if self.below(size - place) < needed:
                mask |= 1 << place
                needed -= 1
        return mask
