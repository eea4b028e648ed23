"""The forms of what a bundle says beside its numbers, each with a number of its own.

Words, report and simulated error bars follow from a release, but not in the same way in every Margrave. Whoever writes
a bundle states the forms, and whoever verifies it compares what has a form that this Margrave writes itself. The
version of the software says nothing about that, and is only repeated.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Forms:
    """The form of each part; 0 is that of bundles which state none."""

    words: int = 0
    report: int = 0
    bars: int = 0

    def __post_init__(self) -> None:
        if any(type(number) is not int or number < 0 for number in self.as_dict().values()):
            raise ValueError("the form of a part is a whole number, not below 0")

    def as_dict(self) -> dict[str, Any]:
        """The form of each part by its name."""
        return asdict(self)


FORMS = Forms(words=2, report=11, bars=9)
"""What this Margrave writes. A number is raised whenever the same release would get another output of that part."""
