"""Results on disk: one line for each finished block of runs, so that a study that was stopped goes on.

The first line says by which settings and which version the file was made. If they differ the study begins anew, and
the file is kept under another name. A last line that was cut off in the middle is dropped, and its block done again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from margrave.budget.numbers import exact_text
from margrave.errors import MargraveError, UsageError
from margrave.study.yang2012.grid import Task, tasks

NAME = "results.jsonl"
OTHER = "results-before.jsonl"
"""What results of other settings are renamed to."""
Rows = list[dict[str, float | None]]

GRID = (
    *(Fraction(step, 1000) for step in (5, 10, 20, 50, 100, 150, 200, 300, 400, 500, 600, 800)),
    *(Fraction(step, 4) for step in range(4, 9)),
)
"""The values of ε by default: the paper's range, closer together where more happens."""
FINE = (*(Fraction(5 + 10 * step, 1000) for step in range(200)), Fraction(2))
"""Every value of the paper: from 0.005 in steps of 0.01, and 2."""
FEW = (Fraction("0.05"), Fraction("0.3"), Fraction(1), Fraction(2))
"""A quick look."""


@dataclass(frozen=True)
class Settings:
    """What is run: every table and contender at each ε, ``runs`` times."""

    epsilons: tuple[Fraction, ...] = GRID
    runs: int = 50

    def __post_init__(self) -> None:
        if self.runs < 2:
            raise UsageError(f"a standard deviation needs at least 2 runs, not {self.runs}")
        if not self.epsilons or list(self.epsilons) != sorted(set(self.epsilons)) or self.epsilons[0] <= 0:
            raise UsageError("the values of ε must be positive, different and in increasing order")

    @cached_property
    def tasks(self) -> list[Task]:
        return tasks(self.epsilons, self.runs)

    def as_dict(self) -> dict[str, Any]:
        """The settings as a file holds them."""
        return {"epsilons": [exact_text(epsilon) for epsilon in self.epsilons], "runs": self.runs}


class Journal:
    """The file of results in a folder, opened for one study: ``done`` holds what was finished before or since."""

    def __init__(self, folder: Path, settings: Settings, version: str) -> None:
        self.path = folder / NAME
        self._head = {"study": "yang2012", "margrave": version, **settings.as_dict()}
        self.done: dict[Task, Rows] = dict(self._read())
        self._write()

    def append(self, task: Task, rows: Rows) -> None:
        """Keep a finished block, in one write."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(_line(task, rows))}\n")
        except OSError as error:
            raise MargraveError(f"{self.path} cannot be written: {error.strerror}") from None
        self.done[task] = rows

    def forget(self, contender: str) -> None:
        """Drop every block of one contender, so that it is run again."""
        self.done = {task: rows for task, rows in self.done.items() if task.contender != contender}
        self._write()

    def missing(self, wanted: Sequence[Task]) -> list[Task]:
        return [task for task in wanted if task not in self.done]

    def _write(self) -> None:
        lines = [self._head, *(_line(task, rows) for task, rows in self.done.items())]
        replace_file(self.path, "".join(f"{json.dumps(line)}\n" for line in lines).encode())

    def _read(self) -> Iterator[tuple[Task, Rows]]:
        if not self.path.exists():
            return
        head, *lines = self.path.read_text(encoding="utf-8").split("\n")
        if _parsed(head) != self._head:
            self.path.replace(self.path.with_name(OTHER))
            return
        for line in lines:
            found = _parsed(line)
            if found is not None:
                yield Task(**found["task"]), found["runs"]


def _line(task: Task, rows: Rows) -> dict[str, Any]:
    return {"task": asdict(task), "runs": rows}


def _parsed(line: str) -> Mapping[str, Any] | None:
    """One line, or None where it was cut off."""
    try:
        found = json.loads(line)
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def replace_file(path: Path, content: bytes) -> None:
    """Write under another name first, so that an interruption leaves the old file or none."""
    waiting = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting.write_bytes(content)
        waiting.replace(path)
    except OSError as error:
        raise MargraveError(f"{path} cannot be written: {error.strerror}") from None
