"""The folder of one session on one side. What has been done is what lies there; nothing in it is ever changed.

session.json        which session, agreed on by which spec, and as whom
secret.json         masks, padding and noise: as confidential as data
1-offer.msg …       the messages that were sent and received
3-result.pending    a message that has not been charged yet, and so has not left
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from margrave.errors import RefusedError, UsageError
from margrave.files.temporary import settle_folder
from margrave.join.messages import Step
from margrave.ledger.journal import canonical

try:
    import fcntl
except ImportError:  # a system without file locks: who works there must see to it
    fcntl = None  # type: ignore[assignment]

SESSION, SECRET = "session.json", "secret.json"
_NUMBERS: dict[Step, int] = {"offer": 1, "answer": 2, "submission": 2, "result": 3}


@dataclass(frozen=True)
class SessionFolder:
    """A folder that only its owner may enter."""

    path: Path

    @classmethod
    def at(cls, path: Path) -> SessionFolder:
        """The folder at a path, made if it is not there."""
        try:
            path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path} cannot be a folder of sessions ({error.strerror}): name another place") from None
        return cls(path)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """As long as no other process works on the session: two of them would draw twice."""
        if fcntl is None:
            yield
            return
        lock = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise RefusedError(f"another process works on the session in {self.path}: wait until it is done") from None
        try:
            yield
        finally:
            os.close(lock)

    def message(self, step: Step) -> Path:
        """Where a message of a step is."""
        return self.path / f"{_NUMBERS[step]}-{step}.msg"

    def _pending(self, step: Step) -> Path:
        return self.message(step).with_suffix(".pending")

    def read(self, step: Step) -> bytes | None:
        """A message that was sent or received; None if there is none yet."""
        return _read(self.message(step))

    def pending(self, step: Step) -> bytes | None:
        """A message that is made and has not left."""
        return _read(self._pending(step))

    def made(self, step: Step) -> bool:
        """Whether a message of a step was made, and perhaps sent."""
        return self.message(step).exists() or self._pending(step).exists()

    def hold(self, step: Step, content: bytes) -> None:
        """Write a message that must not leave yet."""
        _write(self._pending(step), content)

    def let_go(self, step: Step) -> Path:
        """Let a message leave that was held."""
        with suppress(FileNotFoundError):
            self._pending(step).rename(self.message(step))
        settle_folder(self.path)
        return self.message(step)

    def receive(self, step: Step, content: bytes) -> None:
        """Keep a message that came; another one in its place is refused, the same one again is not."""
        known = self.read(step)
        if known is not None and known != content:
            raise RefusedError(f"another {step} came before in this session: a step is not repeated with other bytes")
        if known is None:
            _write(self.message(step), content)

    def settled(self, name: str) -> dict[str, Any] | None:
        """What a file of the folder says; None if it is not there."""
        content = _read(self.path / name)
        if content is None:
            return None
        try:
            found = json.loads(content)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise RefusedError(f"{self.path / name} was changed: the session cannot go on")
        return found

    def settle(self, name: str, values: dict[str, Any]) -> None:
        """Write a file of the folder, for its owner's eyes alone."""
        _write(self.path / name, canonical(values).encode())


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as handle:
            return handle.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None


def _write(path: Path, content: bytes) -> None:
    """As a whole or not at all."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        fresh.rename(path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        raise UsageError(f"{path} cannot be written ({error.strerror}): make room, and do the same again") from None
    settle_folder(path.parent)
