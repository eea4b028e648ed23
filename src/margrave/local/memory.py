"""What a device remembers: the report that it made, by the questions, so that none is made twice. Never answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from margrave.errors import DataError
from margrave.files.writing import replace_file
from margrave.planning.local.plan import LocalPlan


class Memory:
    """A small file with one report for each set of questions."""

    def __init__(self, path: Path | None = None) -> None:
        """``path``: the file; by default one in the folder where programs of this user keep their state."""
        self.path = path or _default()

    def recall(self, plan: LocalPlan) -> str | None:
        """The report that was made about the same questions, by whichever plan; None where there is none."""
        found = self._read().get(plan.memory_key)
        return None if found is None else str(found)

    def keep(self, plan: LocalPlan, line: str) -> None:
        """Remember a report, before anybody sees it."""
        content = json.dumps(self._read() | {plan.memory_key: line}, indent=1) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self.path, content.encode())

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


def _default() -> Path:
    folder = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(folder) / "margrave" / "reports.json"
