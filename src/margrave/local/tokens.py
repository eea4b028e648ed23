"""Single-use tokens: drawn and handed out by whoever invites respondents, and known to the collector by their hashes.

Whoever holds the list of hashes can tell whether a token was handed out, and cannot make one up. The list is sorted, so
that it says nothing of the order in which tokens were handed out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from margrave.errors import DataError, UsageError
from margrave.noise import Generator
from margrave.planning.local.plan import LocalPlan

MOST = 10**8
"""Tokens that are drawn at once, at most."""
_BYTES = 16
_FORMAT = "margrave-issued"


class Allowed(Protocol):
    """Which tokens a collector takes, by their hashes."""

    def __contains__(self, hashed: bytes, /) -> bool: ...


class AnyToken:
    """Every token, where nobody says which were handed out."""

    def __contains__(self, hashed: bytes) -> bool:
        return True


@dataclass(frozen=True)
class Issued:
    """The tokens that were handed out for one plan, as their hashes."""

    plan: str
    hashes: frozenset[bytes] = field(repr=False)

    @classmethod
    def of(cls, plan: LocalPlan, tokens: Iterable[str]) -> Issued:
        """What a collector is given of these tokens."""
        return cls(plan.hash, frozenset(token_hash(plan.hash, token.encode()) for token in tokens))

    @classmethod
    def read(cls, plan: LocalPlan, path: Path) -> Issued:
        """The inverse of `content`."""
        try:
            first, *rest = path.read_text(encoding="ascii").splitlines()
            name, version, own = first.split(",")
            if (name, version) != (_FORMAT, "1") or any(len(line) != 64 for line in rest):
                raise ValueError
            hashes = frozenset(map(bytes.fromhex, rest))
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
        except ValueError:
            raise DataError(f"{path} is no list of issued tokens that 'margrave local tokens' wrote") from None
        if own != plan.hash:
            raise DataError(f"{path} lists the tokens of another plan: issue them with the spec that is collected for")
        return cls(own, hashes)

    def content(self) -> bytes:
        """The list as a file."""
        return "\n".join([f"{_FORMAT},1,{self.plan}", *sorted(one.hex() for one in self.hashes), ""]).encode()

    def __contains__(self, hashed: bytes) -> bool:
        return hashed in self.hashes

    def __len__(self) -> int:
        return len(self.hashes)


def draw_tokens(count: int, generator: Generator) -> list[str]:
    """So many different tokens."""
    if not 1 <= count <= MOST:
        raise UsageError(f"between 1 and {MOST:,} tokens can be drawn at once, not {count:,}")
    drawn = generator.octets(count * _BYTES).tobytes().hex()
    return [drawn[start : start + 2 * _BYTES] for start in range(0, len(drawn), 2 * _BYTES)]


def token_hash(plan: str, token: bytes) -> bytes:
    """What is kept of a token: it tells whether a token is the same, and none can be made of it."""
    return sha256(plan.encode() + b"," + token).digest()
