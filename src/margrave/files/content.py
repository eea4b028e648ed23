"""The answers that a ledger stores: bytes or, where there are many, a temporary file that is read piece by piece."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from io import SEEK_CUR, SEEK_SET, BufferedReader, BytesIO, RawIOBase
from itertools import chain
from tempfile import TemporaryFile
from typing import IO, Any
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

    def reader(self) -> IO[bytes]:
        """What was written, to be read from the start, whoever else reads it at the same time."""
        self.file.flush()
        return BufferedReader(_Reader(self))

    @property
    def size(self) -> int:
        """How many bytes were written."""
        self.file.flush()
        return os.fstat(self.file.fileno()).st_size


class _Reader(RawIOBase):
    """Reads a file at a place of its own."""

    def __init__(self, answer: AnswerFile) -> None:
        self._answer, self._place = answer, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        start = {SEEK_SET: 0, SEEK_CUR: self._place}.get(whence)
        self._place = offset + (self._answer.size if start is None else start)
        return self._place

    def readinto(self, buffer: Any) -> int:
        found = os.pread(self._answer.file.fileno(), len(buffer), self._place)
        buffer[: len(found)] = found
        self._place += len(found)
        return len(found)


Content = bytes | AnswerFile


def reader_of(content: Content) -> IO[bytes]:
    """An answer, to be read from the start."""
    return BytesIO(content) if isinstance(content, bytes) else content.reader()


def size_of(content: Content) -> int:
    """How many bytes an answer has."""
    return len(content) if isinstance(content, bytes) else content.size


def pieces(content: Content) -> Iterator[bytes]:
    """An answer in pieces, in order; at least one, which may be empty."""
    if isinstance(content, bytes):
        for start in range(0, max(1, len(content)), CHUNK):
            yield content[start : start + CHUNK]
        return
    file = content.reader()
    yield file.read(CHUNK)
    while piece := file.read(CHUNK):
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
