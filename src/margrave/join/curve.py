"""Points of Curve25519, in bulk: hashing onto the curve, multiplying, and checking what somebody else sent.

A point is the 32 bytes of its u-coordinate, least byte first (RFC 7748). The multiplication is that of `cryptography`.
What it does not look at is looked at here: it ignores the highest bit, so that two encodings are one point; it takes
points of the twist, half of all numbers, which no hash of ours lies on; and it raises where the product is zero.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from queue import SimpleQueue
from typing import cast

import numpy as np
from numpy.typing import NDArray

from margrave.errors import DataError, RefusedError, UsageError
from margrave.join.worker import LENGTH, WIDTH, powers, products

try:
    from gmpy2 import jacobi, mpz
except ImportError:  # pragma: no cover - every other installation of this room has it
    raise UsageError("joins need gmpy2: pip install 'margrave[join]'") from None

Points = NDArray[np.uint8]
"""One row of bytes for each point, or for each tag of one."""

PRIME = mpz(2) ** 255 - 19
BASE = (9).to_bytes(WIDTH, "little")
_A = 486_662
_PURPOSE = b"margrave join id"
_TOGETHER = 4096
"""Points that a worker is sent at a time."""
_FEW = 40_000
"""Points up to which it is not worth starting workers."""
_MOST_TRIES = 256


def hashed(identity: bytes, key: bytes) -> blake2b:
    """An id under the key of a session: nobody without the key can find it by trying."""
    return blake2b(identity, digest_size=WIDTH, key=key, person=_PURPOSE)


def as_points(content: bytes, width: int = WIDTH) -> Points:
    """The rows of a content."""
    return np.frombuffer(content, dtype=np.uint8).reshape(-1, width)


def hash_onto(ids: Sequence[bytes], key: bytes) -> Points:
    """A point for each id, the same for the same id and key: the first of its hashes that is a point of the curve.

    Half of all numbers lie on the twist and are passed over. Uniform over the curve, if the hash is as good as random.
    """
    out = bytearray()
    for one in ids:
        state = hashed(one, key)
        for attempt in range(_MOST_TRIES):
            trial = state.copy()
            trial.update(bytes([attempt]))
            u = int.from_bytes(trial.digest(), "little") & ((1 << 255) - 1)
            if u < PRIME and _on_curve(u):
                out += u.to_bytes(WIDTH, "little")
                break
        else:  # pragma: no cover - once in 2^256 ids
            raise DataError("an id has no point on the curve: begin a new session")
    return as_points(bytes(out))


def _on_curve(u: int) -> bool:
    number = mpz(u)
    return cast(int, jacobi(number * (number * (number + _A) + 1) % PRIME, PRIME)) == 1


def check_points(points: Points, what: str) -> None:
    """Refuse encodings that are not canonical, and numbers that are no point of the curve; zero is none either."""
    raw = points.tobytes()
    for start in range(0, len(raw), WIDTH):
        u = int.from_bytes(raw[start : start + WIDTH], "little")
        if u >= PRIME:
            raise RefusedError(f"{what} holds a point whose encoding is not canonical: it was not made by Margrave")
        if not _on_curve(u):
            raise RefusedError(f"{what} holds a number that is no point of the curve: it was not made by Margrave")


def multiply(scalar: bytes, points: Points, what: str) -> Points:
    """The scalar times each point; on several cores where there are many."""
    found = as_points(b"".join(_divided(scalar, points.tobytes())))
    if len(found) and not found.any(axis=1).all():
        raise RefusedError(f"{what} holds a point of small order, whose product is zero: it was not made by Margrave")
    return found


def multiples(scalars: bytes, point: bytes = BASE) -> Points:
    """Each scalar (32 bytes) times one point: of the base point, points as good as any masked id."""
    found = as_points(powers(scalars, point))
    if len(found) and not found.any(axis=1).all():
        raise RefusedError("the other side's public point is of small order: it was not made by Margrave")
    return found


def _divided(scalar: bytes, points: bytes) -> Iterator[bytes]:
    cores = os.cpu_count() or 1
    if cores == 1 or len(points) <= _FEW * WIDTH:
        yield products(scalar, points)
        return
    parts = [points[start : start + _TOGETHER * WIDTH] for start in range(0, len(points), _TOGETHER * WIDTH)]
    yield from _by_workers(scalar, parts, cores)


def _by_workers(scalar: bytes, parts: Sequence[bytes], cores: int) -> Iterator[bytes]:
    """Each part multiplied by one of as many processes as there are cores; a thread waits for each of them."""
    command = [sys.executable, "-I", str(Path(__file__).with_name("worker.py"))]
    idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
    started = []
    try:
        for _ in range(cores):
            started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            idle.put(started[-1])

        def work(part: bytes) -> bytes:
            worker = idle.get()
            try:
                return _asked(worker, scalar, part)
            finally:
                idle.put(worker)

        with ThreadPoolExecutor(cores) as pool:
            yield from pool.map(work, parts)
    finally:
        for worker in started:
            worker.kill()
            worker.communicate()


def _asked(worker: subprocess.Popen[bytes], scalar: bytes, part: bytes) -> bytes:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write((WIDTH + len(part)).to_bytes(LENGTH, "big") + scalar + part)
    worker.stdin.flush()
    found = worker.stdout.read(len(part))
    if len(found) != len(part):
        raise UsageError("a process that multiplies points has ended: is there memory left?")
    return found
