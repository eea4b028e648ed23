"""Whether the files of a release are as they were written: checked when somebody asks, and again once they changed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import time_ns

from margrave.errors import VerificationError
from margrave.messages.catalogue import ENGLISH, speaking
from margrave.progress import Progress
from margrave.publish.verification.found import Verified
from margrave.publish.verification.verify import verify

State = tuple[tuple[str, int, int, int, int], ...]
"""Of each file of a bundle: its name, length, number, and when it and what is known of it last changed."""
_SETTLED = 2_000_000_000
"""Nanoseconds: a file that changed so lately may change again without a later time."""


@dataclass(frozen=True, eq=False)
class Checks:
    """What was found in releases, by their paths, and in which state their files were."""

    _kept: dict[Path, tuple[State | None, Verified | str]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def known(self, path: Path) -> Verified | str | None:
        """What was found, unless the files have changed since; in files that did not rest it is told once."""
        kept = self._kept.get(path)
        if kept is None:
            return None
        if kept[0] is None:
            self._kept.pop(path, None)
            return kept[1]
        return kept[1] if kept[0] == _state(path) else None

    def check(self, path: Path, told: Progress | None = None) -> Verified | str:
        """Check the files of a release, unless that is done."""
        with self._lock:
            found = self.known(path)
            if found is None:
                before = _state(path)
                found = _verdict(path, told)
                rests = before is not None and before == _state(path) and _rests(before)
                self._kept[path] = before if rests else None, found
            return found


def _state(path: Path) -> State | None:
    """The state of the files of a bundle; None where it cannot be told."""
    try:
        places = [path] if path.is_file() else [Path(root, one) for root, _, names in os.walk(path) for one in names]
        found = [(str(one), one.lstat()) for one in places]
    except OSError:
        return None
    return tuple(sorted((name, of.st_size, of.st_ino, of.st_mtime_ns, of.st_ctime_ns) for name, of in found))


def _rests(state: State) -> bool:
    return all(max(one[3:]) < time_ns() - _SETTLED for one in state)


def _verdict(path: Path, told: Progress | None) -> Verified | str:
    """What is found when the files of a release are checked, or what is not in order."""
    try:
        with speaking(ENGLISH):  # as files are written
            return verify(path, progress=told)
    except VerificationError as error:
        return str(error)
