"""Sealing: what is meant for one who takes part, and for nobody else who might carry it (HPKE, RFC 9180)."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from margrave.errors import RefusedError
from margrave.publish.verification.signature import SigningKey

_PURPOSE = b"margrave join box 1"


def box_of(key: SigningKey) -> str:
    """The public half, in hexadecimal digits, of the box that goes with a key: what is sealed for its owner."""
    return _box(key).public_key().public_bytes_raw().hex()


def sealed(content: bytes, box: str, context: str) -> bytes:
    """A content that only the owner of a box can open, and only in the same context."""
    from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
    return suite.encrypt(content, X25519PublicKey.from_public_bytes(bytes.fromhex(box)), context.encode())


def unsealed(content: bytes, key: SigningKey, context: str) -> bytes:
    """The content that was sealed for the box of a key."""
    from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
    try:
        return suite.decrypt(content, _box(key), context.encode())
    except Exception:  # the library raises several kinds, all of which mean the same
        raise RefusedError("a sealed part does not open: it was sealed for somebody else, or changed") from None


def _box(key: SigningKey) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(key.derived(_PURPOSE))
