"""The answers that a ledger stores: bytes or, where there are many, a temporary file that is read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from tempfile import TemporaryFile
from typing import IO
from weakref import finalize

from margrave.errors import LedgerError

CHUNK = 1 << 23
"""Stored answers are cut into pieces of so many bytes, which every store can hold."""


@dataclass(frozen=True, eq=False)
class AnswerFile:
    """A large answer: all that is in a file without a name, which is gone with this object or with the process."""

    file: IO[bytes] = field(default_factory=TemporaryFile, repr=False)

    def __post_init__(self) -> None:
        finalize(self, self.file.close)


Content = bytes | AnswerFile


def pieces(content: Content) -> Iterator[bytes]:
    """An answer in pieces, in order; at least one, which may be empty."""
    if isinstance(content, bytes):
        for start in range(0, max(1, len(content)), CHUNK):
            yield content[start : start + CHUNK]
        return
    content.file.seek(0)
    yield content.file.read(CHUNK)
    while piece := content.file.read(CHUNK):
        yield piece


def gathered(found: Iterator[bytes]) -> Content:
    """The answer that pieces make up: several go to a file, one after the other; none is an empty answer."""
    first, second = next(found, b""), next(found, None)
    if second is None:
        return first
    with room():
        answer = AnswerFile()
        for piece in chain((first, second), found):
            answer.file.write(piece)
    return answer


@contextmanager
def room() -> Iterator[None]:
    """Says what to do where the temporary file of a large answer has no room."""
    try:
        yield
    except OSError as error:
        raise LedgerError(
            f"a large answer needs a temporary file, which cannot be written ({error.strerror or error}): make room, "
            "or set TMPDIR to another folder"
        ) from None


def digest_of(content: Content) -> str:
    """The SHA-256 of an answer, in hexadecimal digits."""
    if isinstance(content, bytes):
        return sha256(content).hexdigest()
    found = sha256()
    for piece in pieces(content):
        found.update(piece)
    return found.hexdigest()
