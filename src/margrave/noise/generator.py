"""The only source of randomness: AES-256 in counter mode, keyed by the operating system or, for experiments, by a seed.

A generator is a stream of bytes. No byte is handed out twice: threads take turns behind a lock, spawned generators
have keys of their own, and a forked child never continues its parent's stream. The state is never copied or saved.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any, NoReturn, SupportsIndex

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from margrave.algebra.arrays import Integers, Octets, Words
from margrave.errors import RefusedError, UsageError

_ZEROS = bytes(1 << 16)
_BLOCK = 16  # bytes of one AES block: the cipher asks for this much room beyond the text
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def _process() -> tuple[int, int]:
    """What identifies this process: its id, and its depth in forks because the system uses ids again."""
    return os.getpid(), _forks


class _Stream:
    """One key stream and its lock, valid in the process that made it. The key itself is not kept."""

    def __init__(self, key: bytes) -> None:
        # Every key is used for one stream only, so the counter may start at zero.
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(_BLOCK))).encryptor()
        self._lock = threading.Lock()
        self.process = _process()

    def take(self, count: int) -> Octets:
        """The next ``count`` bytes, to the calling thread alone."""
        out = np.empty(count + _BLOCK, dtype=np.uint8)
        view = memoryview(out)  # type: ignore[arg-type]
        with self._lock:
            for start in range(0, count, len(_ZEROS)):
                size = min(len(_ZEROS), count - start)
                self._cipher.update_into(memoryview(_ZEROS)[:size], view[start : start + size + _BLOCK])
        return out[:count]


class Generator:
    """A cryptographic random generator; make one with :meth:`system` or, for experiments only, :meth:`seeded`."""

    def __init__(self, key: bytes | None = None) -> None:
        """Keyed by the operating system when ``key`` is None; a given key (32 bytes) makes a repeatable generator."""
        if key is not None and len(key) != 32:
            raise UsageError("a generator's key must have 32 bytes: use Generator.system() or Generator.seeded(seed)")
        self._seeded = key is not None
        self._children = 0
        self._lineage = b"" if key is None else hashlib.sha256(b"margrave spawn" + key).digest()
        self._stream = _Stream(os.urandom(32) if key is None else key)

    @classmethod
    def system(cls) -> Generator:
        """A generator for releases, with a fresh key from the operating system."""
        return cls()

    @classmethod
    def seeded(cls, seed: int | str) -> Generator:
        """A repeatable generator for experiments. Whoever knows the seed can remove the noise: never for a release."""
        if isinstance(seed, bool) or not isinstance(seed, int | str):
            raise UsageError(f"seed must be an int or a str, not {type(seed).__name__}")
        text = f"margrave seed {type(seed).__name__} {seed}"
        return cls(hashlib.sha256(text.encode()).digest())

    @property
    def private(self) -> bool:
        """Whether the noise is unpredictable: True for a system generator, False for a seeded one."""
        return not self._seeded

    def octets(self, count: int) -> Octets:
        """The next ``count`` independent uniform bytes."""
        if count < 0:
            raise UsageError(f"count ({count}) must not be negative")
        return self._current().take(count)

    def words(self, count: int) -> Words:
        """The next ``count`` independent uniform 64-bit words."""
        return self.octets(8 * count).view("<u8").astype(np.uint64, copy=False)

    def below(self, bound: int, count: int) -> Integers:
        """``count`` independent integers, uniform on 0 … bound − 1: bits of the right length, rejected if too large."""
        if not 1 <= bound <= 1 << 63:
            raise UsageError(f"bound ({bound}) must be between 1 and 2^63")
        mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
        out = np.empty(count, dtype=np.int64)
        filled = 0
        while filled < count:
            # One word too many is never drawn, so a seeded stream does not depend on how a request is divided.
            drawn = self.words(count - filled) & mask
            kept = drawn[drawn < np.uint64(bound)]
            out[filled : filled + kept.size] = kept
            filled += kept.size
        return out

    def spawn(self, count: int) -> tuple[Generator, ...]:
        """``count`` generators with keys of their own, independent of this one and of each other."""
        stream = self._current()
        if not self._seeded:
            return tuple(Generator() for _ in range(count))
        with stream._lock:
            first = self._children
            self._children += count
        names = (index.to_bytes(16, "big") for index in range(first, first + count))
        return tuple(Generator(hashlib.sha256(self._lineage + name).digest()) for name in names)

    def _current(self) -> _Stream:
        """This process's stream. After a fork the parent's must not be continued: its copy would give equal noise."""
        stream = self._stream
        if stream.process == _process():
            return stream
        if self._seeded:
            raise RefusedError(
                "a seeded generator was carried into a forked process, where it would repeat its parent's noise: "
                "make one inside each worker, for example Generator.seeded(f'{seed}/{worker}')"
            )
        self._stream = stream = _Stream(os.urandom(32))
        return stream

    def __repr__(self) -> str:
        return f"Generator({'seeded, not private' if self._seeded else 'system'})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a generator cannot be copied or saved, because its noise would be used twice: use spawn()")

    def __reduce__(self) -> NoReturn:
        self.__reduce_ex__(2)

    def __getstate__(self) -> NoReturn:
        self.__reduce_ex__(2)

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(2)

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self.__reduce_ex__(2)
