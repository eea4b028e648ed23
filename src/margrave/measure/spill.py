"""A private temporary folder for records that do not fit in memory.

The folder is readable by its owner alone. Where the system allows it, a file loses its name as soon as it is open, so
that its content is gone with the process, however that ends. The folder itself is removed on every exit that the
process can notice, SIGTERM and SIGHUP included; one that a killed process left behind is found and removed by the next
run.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from margrave.errors import DataError

try:
    import fcntl
except ImportError:  # a system without file locks: folders are still removed on exit, but orphans are not looked for
    fcntl = None  # type: ignore[assignment]

PREFIX = "margrave-spill-"

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Folder:
    """An open temporary folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = 0

    def __repr__(self) -> str:
        return "<Folder>"

    def new_file(self) -> BinaryIO:
        """A new file, open for writing and reading; it is gone when closed."""
        path = self._path / str(self._files)
        self._files += 1
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):
            path.unlink()
        return os.fdopen(descriptor, "w+b")


@contextmanager
def private_folder() -> Iterator[Folder]:
    """A folder that only this user can enter, locked for as long as it is in use, and removed afterwards."""
    with _ending_on_signals():
        path, lock = _locked_folder()
        try:
            yield Folder(path)
        finally:
            shutil.rmtree(path, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _locked_folder() -> tuple[Path, int | None]:
    """Between its making and its locking, another run may take the folder for an orphan; then a new one is made."""
    while True:
        try:
            path = Path(tempfile.mkdtemp(prefix=PREFIX))
        except OSError:
            break
        if fcntl is None:
            return path, None
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():
                return path, lock
            os.close(lock)
    raise DataError("the records of all units do not fit in memory and no temporary folder can be made: set TMPDIR")


def remove_orphans() -> None:
    """Removes the temporary folders of this user's runs that ended without removing them: nobody holds their lock."""
    if fcntl is None:
        return
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.getuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


@contextmanager
def _ending_on_signals() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP end the process in the orderly way for a while, unless the program handles them."""
    ours = []
    if threading.current_thread() is threading.main_thread():
        ours = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in ours:
            signal.signal(number, _leave)
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
