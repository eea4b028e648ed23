"""Writing a bundle so that it is there as a whole or not at all: in a folder beside the target, then renamed."""

from __future__ import annotations

import logging
import os
import zipfile
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO

from margrave.errors import BundleError, UsageError
from margrave.files.content import AnswerFile, Content, pieces, room
from margrave.files.temporary import settle_folder, temporary_folder
from margrave.progress import Step

File = tuple[str, bytes]
"""The name of a file inside a bundle, with forward slashes, and its content."""


PREFIX = ".margrave-unfinished-"
"""How the name of a folder begins in which a bundle is being written."""

_log = logging.getLogger(__name__)
_WAITING = 16
_WAITING_BYTES = 1 << 26
"""Files, and bytes of them, that wait for the disk at the same time."""
_PACKED_BYTES = 1 << 20
"""Parquet files above this size are not packed again in an archive: that takes long and gains little."""
_TRIED_BYTES = 1 << 12
"""Written to a place before anything is spent, to see whether it can be."""
_OTHER_FILES = frozenset((".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".csv", ".json", ".html"))
_OTHER_FILES |= {".parquet", ".xlsx", ".toml", ".txt", ".pdf"}
"""Names of files that are no bundles."""
_NO_CLOCK = (1980, 1, 1, 0, 0, 0)
_ORDINARY_FILE = 0o100644 << 16


def is_archive(path: Path) -> bool:
    """Whether a path names a bundle in one .zip file, rather than a folder."""
    return path.suffix.lower() == ".zip"


def check_bundle_target(path: Path) -> None:
    """Refuse a place where a bundle could not be written, or would not be what its name says."""
    if path.suffix.lower() in _OTHER_FILES:
        raise UsageError(
            f"a bundle is a folder, or a .zip file: {path} would be a folder with the name of a file; write "
            f"--out {path.with_name(path.name.partition('.')[0] + '.zip')}"
        )
    check_target(path)


def check_target(path: Path, what: str = "a release") -> None:
    """Refuse a place where nothing could be written, before anything is spent on it; ``what`` would stand there."""
    if os.path.lexists(path):
        raise UsageError(f"{path} exists already: {what} is never written over another, name a new place")
    if not os.path.isdir(path.parent):  # noqa: PTH112 - says no where a folder above may not be entered
        raise UsageError(f"{path.parent} is not a folder: make it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{path.parent} is a folder that you may not write to: name another place")
    try:
        with _unfinished(path) as unfinished:
            # A folder can often be made where no file can be: a full disk, a spent quota, a place of the system.
            _write_settled(unfinished, b"\0" * _TRIED_BYTES)
    except (OSError, ValueError) as error:  # a name that is too long, or holds what no name may; a folder of no disk
        why = getattr(error, "strerror", None) or "it is no name of a file"
        raise UsageError(f"{str(path)!a} cannot be written ({why}): name another place") from None


def write_files(path: Path, files: Iterable[File], done: Step = lambda: None) -> None:
    """Write all files into a new folder, or into a new .zip; on any failure, nothing is left behind."""
    check_target(path)
    write = _write_archive if is_archive(path) else _write_folder
    with _errors(path), _unfinished(path) as unfinished:
        written = write(unfinished, files, done)
        if os.path.lexists(path):
            raise UsageError(f"{path} has appeared meanwhile: a release is never written over another")
        unfinished.rename(path)
        settle_folder(path.parent)
    _log.info("a bundle of %d files is written", written)


def write_file(path: Path, content: Content) -> None:
    """Write one file that does not exist yet, as a whole or not at all."""
    check_target(path)
    with _errors(path), _unfinished(path) as unfinished:
        _write_settled(unfinished, content)
        unfinished.rename(path)
        settle_folder(path.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in the place of one that may be there, which stays as it is until the new one is on the disk."""
    with _errors(path), _unfinished(path) as unfinished:
        _write_settled(unfinished, content)
        unfinished.replace(path)
        settle_folder(path.parent)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BundleError(f"{path} cannot be written ({error.strerror or error}): nothing is left behind") from None
    except UnicodeEncodeError:
        raise BundleError(f"{path} cannot be written: a name or a value in the spec holds half a character") from None


@contextmanager
def _unfinished(path: Path) -> Iterator[Path]:
    """A place in a temporary folder beside the target; whatever stands there is removed unless it was renamed."""
    with temporary_folder(path.parent, PREFIX) as folder:
        yield folder / path.name


def _write_folder(folder: Path, files: Iterable[File], done: Step) -> int:
    folder.mkdir()
    written = 0
    # Waiting for the disk, file by file, would take most of the time of a release with thousands of tables.
    with ThreadPoolExecutor(_WAITING) as pool:
        waiting: deque[tuple[Future[None], int]] = deque()
        for name, content in files:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            waiting.append((pool.submit(_write_settled, target, content), len(content)))
            while len(waiting) > 2 * _WAITING or sum(size for _, size in waiting) > _WAITING_BYTES:
                waiting.popleft()[0].result()
            written += 1
            done()
        for one, _ in waiting:
            one.result()
    for inner in (*(entry for entry in folder.iterdir() if entry.is_dir()), folder):
        settle_folder(inner)
    return written


def _write_archive(path: Path, files: Iterable[File], done: Step) -> int:
    with path.open("xb") as handle:
        written = _pack(handle, files, done)
        handle.flush()
        os.fsync(handle.fileno())
    return written


def archive_of(files: Iterable[File], *, large: bool) -> Content:
    """The files of a bundle as one archive: in memory or, if it is ``large``, in a temporary file."""
    if large:
        with room():
            answer = AnswerFile()
            _pack(answer.file, files, lambda: None)
            answer.file.flush()
        return answer
    buffer = BytesIO()
    _pack(buffer, files, lambda: None)
    return buffer.getvalue()


def _pack(handle: IO[bytes], files: Iterable[File], done: Step) -> int:
    written = 0
    with zipfile.ZipFile(handle, "w") as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name, _NO_CLOCK)
            entry.external_attr = _ORDINARY_FILE
            entry.create_system = 3
            stored = name.endswith(".parquet") and len(content) > _PACKED_BYTES
            archive.writestr(entry, content, zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED, 9)
            written += 1
            done()
    return written


def _write_settled(path: Path, content: Content) -> None:
    with path.open("xb") as handle:
        handle.writelines(pieces(content))
        handle.flush()
        os.fsync(handle.fileno())
