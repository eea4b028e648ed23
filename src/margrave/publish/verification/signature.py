"""Signatures of releases: who made a bundle, which checksums alone cannot tell.

What is signed (Ed25519, RFC 8032) is the `release.json` of a bundle, byte for byte, behind a line of our own, so that a
signature made for anything else is none. `release.json` has the checksums of all other files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from margrave.errors import UsageError, VerificationError
from margrave.files.writing import File
from margrave.publish.bundle.untrusted.reading import Files

SIGNATURE = "release.sig"
MOST_SIGNATURE = 1 << 10
_PURPOSE = b"margrave release signature 1\n"
_ALGORITHM = "Ed25519"
_MOST_KEY = 1 << 14
_LOCKED = b"BEGIN ENCRYPTED PRIVATE KEY"
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64


@dataclass(frozen=True)
class PublicKey:
    """The key that a signature is checked with. ``raw``: its 32 bytes."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != _KEY_BYTES:
            raise UsageError(f"a public key has {_KEY_BYTES} bytes, not {len(self.raw)}")

    @property
    def fingerprint(self) -> str:
        """The key in short, to be compared by people: the start of its SHA-256."""
        digest = sha256(self.raw).hexdigest()[:32]
        return ":".join(digest[place : place + 4] for place in range(0, len(digest), 4))

    @classmethod
    def from_hex(cls, text: str) -> PublicKey:
        try:
            return cls(bytes.fromhex(text))
        except (TypeError, ValueError):
            raise UsageError("a public key is written in 64 hexadecimal digits") from None

    @classmethod
    def load(cls, path: str | Path) -> PublicKey:
        """The key in a file that `margrave key` wrote, or any other Ed25519 public key in PEM."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        try:
            found = load_pem_public_key(_content(path))
        except Exception:  # the library raises many kinds, all of which mean the same
            raise UsageError(f"{path} is no public key in PEM: 'margrave key' writes one") from None
        if not isinstance(found, Ed25519PublicKey):
            raise UsageError(f"{path} holds a key of another kind than {_ALGORITHM}")
        return cls(found.public_bytes_raw())

    def pem(self) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def check(self, manifest: bytes, signature: bytes) -> bool:
        """Whether a signature of `release.json` was made with this key."""
        return self.fits(_PURPOSE, manifest, signature)

    def fits(self, purpose: bytes, content: bytes, signature: bytes) -> bool:
        """Whether a signature for a purpose was made with this key; one for another purpose was not."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, purpose + content)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, eq=False)
class SigningKey:
    """The key that signs. It is a secret: nothing that is shown or written has it."""

    _secret: Any = field(repr=False)

    @classmethod
    def new(cls) -> SigningKey:
        """A new key, from the operating system's generator."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: str | Path, passphrase: str | None = None) -> SigningKey:
        """The key in a file that `margrave key` wrote, or any other Ed25519 private key in PEM."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        content = _content(path)
        try:
            found = load_pem_private_key(content, None if passphrase is None else passphrase.encode())
        except Exception:  # of the library's errors some quote what they were given
            why = "opens only with its passphrase" if _LOCKED in content else "is no private key in PEM"
            raise UsageError(f"{path} {why}") from None
        if not isinstance(found, Ed25519PrivateKey):
            raise UsageError(f"{path} holds a key of another kind than {_ALGORITHM}")
        return cls(found)

    @property
    def public(self) -> PublicKey:
        return PublicKey(self._secret.public_key().public_bytes_raw())

    def sign(self, manifest: bytes) -> bytes:
        """The content of `release.sig` for a `release.json`."""
        signature = self.signature(_PURPOSE, manifest).hex()
        found = {"algorithm": _ALGORITHM, "key": self.public.raw.hex(), "signature": signature}
        return (json.dumps(found, indent=2) + "\n").encode()

    def signature(self, purpose: bytes, content: bytes) -> bytes:
        """A signature for a purpose: a line of its own, with which no content of another purpose begins."""
        return bytes(self._secret.sign(purpose + content))

    def derived(self, purpose: bytes) -> bytes:
        """32 bytes for a purpose that follow from the key, and that nobody else can know."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return bytes(HKDF(SHA256(), 32, None, purpose).derive(self._secret.private_bytes_raw()))

    def save(self, path: Path, passphrase: str | None = None) -> None:
        """Write it to a new file that only its owner may read, locked by a passphrase if there is one."""
        from cryptography.hazmat.primitives.serialization import (
            BestAvailableEncryption,
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        locked = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase.encode())
        content = self._secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise UsageError(f"{path} exists already: a key is never written over, name a new place") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be written ({error.strerror}): name another place") from None
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)


@dataclass(frozen=True)
class Signed:
    """What a `release.sig` says: which key made it, and the signature."""

    key: PublicKey
    signature: bytes

    @classmethod
    def parse(cls, content: bytes) -> Signed:
        key = signature = b""
        try:
            found = json.loads(content)
            good = found.keys() == {"algorithm", "key", "signature"} and found["algorithm"] == _ALGORITHM
            key, signature = bytes.fromhex(found["key"]), bytes.fromhex(found["signature"])
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
            good = False
        if not good or (len(key), len(signature)) != (_KEY_BYTES, _SIGNATURE_BYTES):
            raise VerificationError(f"{SIGNATURE} is no signature of a release")
        return cls(PublicKey(key), signature)

    def check(self, manifest: bytes, wanted: PublicKey | None = None) -> None:
        """Refuse a signature by another key than the wanted one, and one that does not fit `release.json`."""
        if wanted is not None and self.key != wanted:
            raise VerificationError(
                f"the release is signed by the key {self.key.fingerprint}, not by {wanted.fingerprint}"
            )
        if not self.key.check(manifest, self.signature):
            raise VerificationError(f"the signature does not fit: release.json or {SIGNATURE} was changed")


def signed(files: Iterable[File], key: SigningKey, manifest_name: str) -> Iterator[File]:
    """The files of a bundle, and the signature of its account of itself."""
    for name, content in files:
        if name == SIGNATURE:
            continue
        yield name, content
        if name == manifest_name:
            yield SIGNATURE, key.sign(content)


def signer_of(files: Files, manifest: bytes, wanted: PublicKey | None = None) -> PublicKey | None:
    """Whose signature a bundle has, once it fits and is by the wanted key, if one is; None where it has none."""
    if SIGNATURE not in files.names:
        if wanted is not None:
            raise VerificationError(f"the release is not signed: it has no {SIGNATURE}")
        return None
    found = Signed.parse(files.read(SIGNATURE, MOST_SIGNATURE))
    found.check(manifest, wanted)
    return found.key


def is_locked(path: str | Path) -> bool:
    """Whether a private key opens only with a passphrase."""
    return _LOCKED in _content(path)


def _content(path: str | Path) -> bytes:
    """The content of a file that holds a key."""
    place = Path(path)
    try:
        if not place.is_file():
            raise UsageError(f"{place} is no file with a key")
        with place.open("rb") as handle:
            return handle.read(_MOST_KEY)
    except OSError as error:
        raise UsageError(f"{place} cannot be read ({error.strerror})") from None
