"""A process that multiplies points of Curve25519, so that every core has something to do.

It is started as a script of its own and imports nothing but the library of the curve. Each request on its standard
input is a length, a scalar of 32 bytes and points of 32 bytes each; the answer is the products, in the same order. A
point whose product is zero, which only a point of small order has, is answered by zeros.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import BinaryIO

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

WIDTH = 32
LENGTH = 8
ZERO = bytes(WIDTH)


def products(scalar: bytes, points: bytes) -> bytes:
    """The scalar times each point, by RFC 7748 (the scalar is clamped, so its products lie in the large subgroup)."""
    exchange, load = X25519PrivateKey.from_private_bytes(scalar).exchange, X25519PublicKey.from_public_bytes
    found = bytearray()
    for start in range(0, len(points), WIDTH):
        try:
            found += exchange(load(points[start : start + WIDTH]))
        except ValueError:
            found += ZERO
    return bytes(found)


def powers(scalars: bytes, point: bytes) -> bytes:
    """Each scalar times one point."""
    base, load = X25519PublicKey.from_public_bytes(point), X25519PrivateKey.from_private_bytes
    found = bytearray()
    for start in range(0, len(scalars), WIDTH):
        try:
            found += load(scalars[start : start + WIDTH]).exchange(base)
        except ValueError:
            found += ZERO
    return bytes(found)


def requests(source: BinaryIO) -> Iterator[bytes]:
    """Every request until the input ends."""
    while head := source.read(LENGTH):
        yield source.read(int.from_bytes(head, "big"))


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Answer every request."""
    for request in requests(source):
        target.write(products(request[:WIDTH], request[WIDTH:]))
        target.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
