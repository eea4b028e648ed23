"""What a device remembers: the report that it made, by the questions, so that none is made twice. Never answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from margrave.errors import DataError
from margrave.files.writing import replace_file
from margrave.planning.local.plan import LocalPlan

try:
    import fcntl
except ImportError:  # a system without file locks: who works there makes one report at a time
    fcntl = None  # type: ignore[assignment]


class Memory:
    """A small file with one report for each set of questions."""

    def __init__(self, path: Path | None = None) -> None:
        """``path``: the file; by default one in the folder where programs of this user keep their state."""
        self.path = path or _default()

    def recall(self, plan: LocalPlan) -> str | None:
        """The report that was made about the same questions, by whichever plan; None where there is none."""
        found = self._read().get(plan.memory_key)
        return None if found is None else str(found)

    def once(self, plan: LocalPlan, make: Callable[[], str]) -> str:
        """The report about the questions of a plan, made if there is none, and remembered before anybody sees it."""
        with alone(self.path):
            if (found := self.recall(plan)) is not None:
                return found
            line = make()
            content = json.dumps(self._read() | {plan.memory_key: line}, indent=1) + "\n"
            replace_file(self.path, content.encode())
            return line

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise DataError(f"{self.path} is not the memory of reports: name another with --memory, or repair it")
        return found


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """While no other process changes a file: two at once would both find the old one, and one change would be lost."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = None if fcntl is None else os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise DataError(f"{path.parent} cannot hold {path.name} ({error.strerror})") from None
    try:
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _default() -> Path:
    folder = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(folder) / "margrave" / "reports.json"
