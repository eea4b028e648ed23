"""Temporary folders that do not outlive their process.

A folder is readable by its owner alone. It is removed on every exit that the process can notice, SIGTERM, SIGHUP and
SIGINT included. A signal may come at any moment, one in which the folder is just being made or removed included: so
whoever hears it removes the folders first and ends the process after that, and a removal that has begun is completed.
A folder that a killed process left behind is found by the next process that makes such a folder, since nobody holds its
lock any more, and is removed.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from types import FrameType

try:
    import fcntl
except ImportError:  # a system without file locks: folders are still removed on exit, but orphans are not looked for
    fcntl = None  # type: ignore[assignment]

_ENDING = {
    number: default
    for name, default in (
        ("SIGTERM", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
        ("SIGINT", signal.default_int_handler),
    )
    if (number := getattr(signal, name, None)) is not None
}
"""The signals that end a process, with what Python does on each of them unless the program says otherwise."""


@dataclass
class _Kept:
    """The folders of the main thread, where signals are heard.

    ``folders``: each with the process that made it, since a copy of a process (a fork) has a copy of this as well.
    ``heard``: signals that came while folders were removed.
    """

    folders: dict[Path, int] = field(default_factory=dict)
    heard: list[int] = field(default_factory=list)
    removing: bool = False

    def keep(self, path: Path) -> None:
        """From now on a signal removes this folder, or what will be one."""
        self.folders[path] = os.getpid()

    def remove(self, *paths: Path) -> None:
        """Remove folders, all of them: a signal that comes meanwhile ends the process afterwards."""
        self.removing = True
        try:
            for path in paths:
                if self.folders.get(path) == os.getpid():
                    shutil.rmtree(path, ignore_errors=True)
                    if not path.exists():
                        del self.folders[path]
        finally:
            self.removing = False
        if self.heard:
            self.end(self.heard[0])

    def hear(self, number: int, _: FrameType | None) -> None:
        """A signal: what is kept is removed before the process ends, at whatever point it was."""
        self.heard.append(number)
        if not self.removing:
            self.remove(*self.folders)
            self.end(number)

    def end(self, number: int) -> None:
        """End the process as Python does on this signal."""
        self.heard.clear()
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


_KEPT = _Kept()
atexit.register(lambda: _KEPT.remove(*_KEPT.folders))


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder that only this user can enter, locked for as long as it is in use, and removed afterwards.

    ``prefix`` begins its name, and should be used for nothing else: other folders of that name are taken for orphans.
    """
    remove_orphans(parent, prefix)
    # The name is known before the folder is there, so that no moment is left in which a signal would leave it behind.
    path, lock = parent / f"{prefix}{token_hex(8)}", None
    with _kept(path) as remove:
        try:
            lock = _locked(path)
            yield path
        finally:
            remove(path)
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
def _kept(path: Path) -> Iterator[Callable[[Path], None]]:
    """How a folder is removed. Until then signals end the process in order, unless the program handles them."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda path: shutil.rmtree(path, ignore_errors=True)  # signals are heard in the main thread alone
        return
    ours = {number: default for number, default in _ENDING.items() if signal.getsignal(number) is default}
    try:
        for number in ours:
            signal.signal(number, _KEPT.hear)
        _KEPT.keep(path)
        yield _KEPT.remove
    finally:
        for number, default in ours.items():
            signal.signal(number, default)
