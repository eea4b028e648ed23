"""What may be said about data that does not fit: the column, the rule and how many records, never a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from margrave.errors import DataError, MargraveError

Step = TypeVar("Step")


def guarded(step: Callable[[], Step], text: str) -> Step:
    """The result of the step; any foreign exception becomes a DataError with the given text and nothing else.

    Readers print offending values in their errors. The new error is raised outside the handler, so that not even its
    ``__context__`` leads back to the old one.
    """
    try:
        return step()
    except MargraveError:
        raise
    except Exception:
        pass
    raise DataError(text)


def records(count: int) -> str:
    """``1 record``, ``2 records``."""
    return f"{count:,} record{'' if count == 1 else 's'}"


class Failures:
    """Counts the records that break each rule over a whole pass, and reports all of them in one error."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __repr__(self) -> str:
        return "<Failures>"

    def add(self, place: str, rule: str, remedy: str, count: int) -> None:
        """Adds ``count`` records that break the rule at the place (``column 'age'``)."""
        if count:
            self._counts[place, rule, remedy] += count

    def check(self) -> None:
        """Raises one DataError that lists every broken rule, if there is any."""
        if not self._counts:
            return
        lines = [
            f"  {place} {rule}: {records(count)} break{'s' if count == 1 else ''} this; {remedy}"
            for (place, rule, remedy), count in self._counts.items()
        ]
        raise DataError("\n".join(["the data does not fit the spec", *lines]))
