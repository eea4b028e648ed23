"""What text that breaks a rule looks like, as a kind: so much may be said of it, and never the text itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from enum import Enum
from typing import Any

from margrave.measure import parse

_COMMAS = re.compile(r"[+-]?(\d+,\d+|\d{1,3}(,\d{3})+(\.\d*)?)", re.ASCII)
_DAYS = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}([./])\d{1,2}\2\d{1,2}", re.ASCII)


class Look(Enum):
    """A kind of text: what it is called, and what to do about it where that is plain from the kind."""

    COMMAS = ("numbers with commas", 'write decimal = "," under [data] if the comma stands before the fraction')
    DAYS = ("dates in another order", "write them as 2024-12-31 is written")
    BLANKS = ("declared values with blanks around them", "remove the blanks from the data, or declare them too")
    CASE = ("declared values in other capitals", "declare the values as the data writes them")
    NUMBERS = ("numbers", None)
    DATES = ("dates", None)
    TEXT = ("text", None)

    def __init__(self, words: str, remedy: str | None) -> None:
        self.words = words
        self.remedy = remedy


class Looks:
    """Tells kinds apart, beside the values that are declared."""

    def __init__(self, declared: Collection[str]) -> None:
        self._declared = frozenset(declared)
        self._folded = frozenset(value.casefold() for value in declared)

    def __call__(self, value: Any) -> Look:
        """The kind of one raw value."""
        if not isinstance(value, bytes | str):
            return Look.DATES if hasattr(value, "isoformat") else Look.NUMBERS
        text = value.decode(errors="replace") if isinstance(value, bytes) else value
        stripped = text.strip()
        tests: tuple[tuple[Look, Callable[[str], Any]], ...] = (
            (Look.BLANKS, lambda text: text in self._declared),
            (Look.CASE, lambda text: text.casefold() in self._folded),
            (Look.NUMBERS, parse.number),
            (Look.DATES, parse.day),
            (Look.COMMAS, _COMMAS.fullmatch),
            (Look.DAYS, _DAYS.fullmatch),
        )
        found = ((look, test(stripped)) for look, test in tests)
        return next((look for look, fits in found if fits is not None and fits is not False), Look.TEXT)
