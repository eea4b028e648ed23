"""Reading the files of a bundle that somebody else may have made: a folder or a .zip, trusted in nothing."""

from __future__ import annotations

import os
import re
import stat
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO, FileIO
from pathlib import Path
from typing import IO, Protocol

from margrave.errors import BundleError
from margrave.files.content import AnswerFile, Content
from margrave.files.untrusted import (
    CHUNK,
    MOST_BYTES,
    MOST_DIRECTORY,
    MOST_FILES,
    MOST_MANIFEST,
    MOST_PACKED,
    MOST_SPARE,
)
from margrave.publish.bundle.words import MANIFEST

_NAME = re.compile(r"(?:[a-z]+/)?[a-z0-9][a-z0-9-]*\.[a-z]+")
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError, OverflowError)


class Files(Protocol):
    """The files of a bundle. They can be read as long as the bundle is there, though it is quicker while it is open."""

    @property
    def names(self) -> frozenset[str]:
        """The names of all files."""

    def read(self, name: str, most: int) -> bytes:
        """The content of a file, which must not be longer than ``most`` bytes."""

    def digest(self, name: str, most: int) -> tuple[int, str]:
        """The length of such a file and its SHA-256, without holding it."""

    def packed(self, name: str) -> int:
        """How many bytes a file takes as it is stored."""


@contextmanager
def opened(path: Path) -> Iterator[Files]:
    """The files of the bundle at a path."""
    if path.is_dir():
        yield _Folder(path, _folder_names(path))
        return
    if not path.exists():
        raise BundleError(f"{path}: there is no such folder or file")
    if not path.is_file():
        raise BundleError(f"{path} is no ordinary file: a release is a folder or a .zip file")
    with ExitStack() as stack:
        try:
            archive = stack.enter_context(_archive(stack.enter_context(_Opening(path))))
        except _DAMAGED:
            raise BundleError(f"{path} is neither the folder nor the .zip file of a release") from None
        yield _Archive(archive, _archive_names(archive), path)


class _Opening(FileIO):
    """A file of which, as long as an archive is being opened, no more than the longest directory is read."""

    opening = True

    def read(self, size: int | None = -1) -> bytes:
        if self.opening and (size is None or size < 0):
            size = max(os.fstat(self.fileno()).st_size - self.tell(), 0)
        if self.opening and size is not None and size > MOST_DIRECTORY:
            raise zipfile.BadZipFile("its directory is too long")
        return super().read(size) or b""


def _archive(handle: _Opening) -> zipfile.ZipFile:
    archive = zipfile.ZipFile(handle)
    handle.opening = False
    return archive


@contextmanager
def archived(content: Content) -> Iterator[Files]:
    """The files of a bundle that is one archive, as a ledger stores it."""
    try:
        archive = zipfile.ZipFile(_handle(content))
    except _DAMAGED:
        raise BundleError("the archive of a release is damaged") from None
    with archive:
        yield _Archive(archive, _archive_names(archive), content)


def manifest_content(files: Files) -> bytes:
    """The content of `release.json`, unless it was packed so tightly that no honest one could be."""
    return files.read(MANIFEST, min(MOST_MANIFEST, MOST_SPARE + MOST_PACKED * files.packed(MANIFEST)))


def safe_name(name: str) -> bool:
    """Whether a bundle may hold a file of this name: plain words, at most one folder deep."""
    return len(name) <= 200 and _NAME.fullmatch(name) is not None


class _Readable(ABC):
    """Files that are read no further than they may be, wherever they are opened."""

    @abstractmethod
    def _opened(self, name: str) -> AbstractContextManager[IO[bytes]]: ...

    def read(self, name: str, most: int) -> bytes:
        with self._opened(name) as handle:
            return _bounded(handle.read(most + 1), name, most)

    def digest(self, name: str, most: int) -> tuple[int, str]:
        with self._opened(name) as handle:
            return _digest(handle, name, most)


@dataclass(frozen=True)
class _Folder(_Readable):
    path: Path
    names: frozenset[str]

    def packed(self, name: str) -> int:
        return (self.path / name).stat().st_size

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        _check_there(name, self.names)
        try:
            with (self.path / name).open("rb") as handle:
                yield handle
        except OSError as error:
            raise BundleError(f"{name} cannot be read ({error.strerror or error})") from None


@dataclass(frozen=True)
class _Archive(_Readable):
    archive: zipfile.ZipFile
    names: frozenset[str]
    source: Path | Content

    def packed(self, name: str) -> int:
        return self.archive.getinfo(name).compress_size

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        _check_there(name, self.names)
        try:
            with ExitStack() as stack:
                archive = self.archive
                if archive.fp is None:
                    archive = stack.enter_context(zipfile.ZipFile(_handle(self.source)))
                yield stack.enter_context(archive.open(name))
        except (*_DAMAGED, KeyError):
            raise BundleError(f"{name} is damaged: it cannot be unpacked") from None


def _handle(source: Path | Content) -> Path | IO[bytes]:
    if isinstance(source, AnswerFile):
        return source.reader()
    return BytesIO(source) if isinstance(source, bytes) else source


def _check_there(name: str, names: frozenset[str]) -> None:
    if name not in names:
        raise BundleError(f"{name} is missing")


def _bounded(content: bytes, name: str, most: int) -> bytes:
    if len(content) > most:
        raise BundleError(f"{name} is longer than the release says")
    return content


def _digest(handle: IO[bytes], name: str, most: int) -> tuple[int, str]:
    found, length = sha256(), 0
    while chunk := handle.read(CHUNK):
        length += len(chunk)
        if length > most:
            raise BundleError(f"{name} is longer than the release says")
        found.update(chunk)
    return length, found.hexdigest()


def _folder_names(folder: Path) -> frozenset[str]:
    """Plain files only: a link or a device could stand for anything."""
    names = []
    try:
        for root, folders, files in os.walk(folder, onerror=_raise):
            for entry in (*folders, *files):
                full = Path(root, entry)
                name = full.relative_to(folder).as_posix()
                mode = full.lstat().st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    raise BundleError(f"{name!r} is no ordinary file: a bundle has no links or devices")
                if stat.S_ISREG(mode):
                    names.append(name)
                if len(names) > MOST_FILES:
                    raise BundleError(f"more than {MOST_FILES} files: this is not the folder of a release")
    except OSError as error:
        raise BundleError(f"{folder} cannot be read ({error.strerror or error})") from None
    return frozenset(names)


def _raise(error: OSError) -> None:
    raise error


def _archive_names(archive: zipfile.ZipFile) -> frozenset[str]:
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise BundleError(f"more than {MOST_FILES} files: this is not the archive of a release")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise BundleError("the archive would unpack to more than 4 GiB: it is refused")
    names: set[str] = set()
    for entry in entries:
        if entry.filename.endswith("/") and safe_name(f"{entry.filename}x.x"):
            continue
        _check_entry(entry)
        if entry.filename in names:
            raise BundleError(f"{entry.filename} is in the archive twice")
        names.add(entry.filename)
    return frozenset(names)


def _check_entry(entry: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if not safe_name(entry.orig_filename):
        raise BundleError(f"{entry.orig_filename!r} is no name of a file in a release: the archive is refused")
    if kind not in (0, stat.S_IFREG):
        raise BundleError(f"{entry.filename} is no ordinary file: a bundle has no links or devices")
    if entry.flag_bits & 1:
        raise BundleError(f"{entry.filename} is encrypted: unpack the archive first")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BundleError(f"{entry.filename} is packed in a way that releases do not use")
