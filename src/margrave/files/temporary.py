"""Temporary folders that do not outlive their process.

A folder is readable by its owner alone. It is removed on every exit that the process can notice, SIGTERM and SIGHUP
included. One that a killed process left behind is found by the next process that makes such a folder, since nobody
holds its lock any more, and is removed.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from types import FrameType

try:
    import fcntl
except ImportError:  # a system without file locks: folders are still removed on exit, but orphans are not looked for
    fcntl = None  # type: ignore[assignment]

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder that only this user can enter, locked for as long as it is in use, and removed afterwards.

    ``prefix`` begins its name, and should be used for nothing else: other folders of that name are taken for orphans.
    """
    remove_orphans(parent, prefix)
    # The name is known before the folder is there, so that no moment is left in which a signal would leave it behind.
    path, lock = parent / f"{prefix}{token_hex(8)}", None
    with _ending_on_signals():
        try:
            lock = _locked(path)
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def remove_orphans(parent: Path, prefix: str) -> None:
    """Removes the folders of this user's processes that ended without removing them: nobody holds their lock."""
    if fcntl is None:
        return
    for path in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.getuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _locked(path: Path) -> int | None:
    """Makes a folder. Before it is locked, another process may take it for an orphan; then it is made again."""
    while True:
        path.mkdir(mode=0o700)
        if fcntl is None:
            return None
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY)
            # Where a file system has no locks, nobody can take the folder for an orphan either.
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():
                return lock
            os.close(lock)


def settle_folder(folder: Path) -> None:
    """Have the names in a folder reach the disk, where the system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


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
