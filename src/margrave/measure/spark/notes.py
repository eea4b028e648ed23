"""What a task says beside its counts: how many records it saw and which rules they broke, and never a value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from margrave.errors import DataError, MargraveError, UsageError
from margrave.measure.failures import Failures
from margrave.measure.records import checked_total

_ERRORS = 4
_LOTS = 4

KINDS: dict[str, type[MargraveError]] = {"data": DataError, "usage": UsageError}
"""The errors that a task may hand on, by their names."""


@dataclass
class Notes:
    """Notes of one task, or of several added up.

    ``tasks``: how many these are. ``total``: how many records their rows stand for. ``failures``: which rules were
    broken. ``matches``: how many records have each impossible pattern that no table shows. ``types``: those of the
    column of units. ``errors``: why tasks ended early, by kind and text. ``lots``: of the tasks with the lowest lots
    the lot, the number and a digest of what was counted.
    """

    tasks: int = 0
    total: int = 0
    failures: Failures = field(default_factory=Failures)
    matches: list[int] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    lots: list[tuple[str, int, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tasks or self.errors)

    def add(self, other: Notes) -> None:
        """Add up, whatever the order in which notes come; what is kept of them stays small."""
        self.tasks += other.tasks
        self.total += other.total
        self.failures.merge(other.failures)
        most = max(len(self.matches), len(other.matches))
        both = [[*one.matches, *[0] * (most - len(one.matches))] for one in (self, other)]
        self.matches = [one + two for one, two in zip(*both, strict=True)]
        self.types = sorted({*self.types, *other.types})[:2]
        self.errors = sorted({*self.errors, *other.errors})[:_ERRORS]
        self.lots = sorted({*self.lots, *other.lots})[:_LOTS]

    def written(self) -> bytes:
        """As JSON: numbers of any size, and texts that are public."""
        form = {**vars(self), "failures": self.failures.plain()}
        return json.dumps(form).encode()

    @classmethod
    def read(cls, content: bytes) -> Notes:
        """The notes again."""
        form = json.loads(content)
        failures = Failures.from_plain(form.pop("failures", {}))
        errors = [(kind, text) for kind, text in form.pop("errors", ())]
        lots = [(lot, number, digest) for lot, number, digest in form.pop("lots", ())]
        return cls(**form, failures=failures, errors=errors, lots=lots)

    def check(self, columns: Sequence[str]) -> None:
        """Raise what is wrong with the data or the cluster."""
        for kind, text in self.errors:
            raise KINDS.get(kind, DataError)(text)
        if len(self.types) > 1:
            raise DataError("the unit column has different types in different files: convert it to one type")
        self.failures.in_order([f"column {name!r}" for name in columns])
        self.failures.check()
        checked_total(self.total)
