"""What a piece of text says when it stands for a number or a date. Every answer is exact."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

BLANKS = " \t\r\n\f\v"
"""The ASCII blanks that may surround a number or a date."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?))?", re.ASCII)


def number(text: str) -> Decimal | None:
    """The finite number that the text writes in decimal notation (``7``, ``+07``, ``7.0``, ``1e3``), or None."""
    text = text.strip(BLANKS)
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond what decimals can hold
        return None


def day(text: str) -> date | None:
    """The calendar day of an ISO 8601 date or date and time, as written (offsets do not move it), or None."""
    found = _DATE.fullmatch(text.strip(BLANKS))
    if not found:
        return None
    try:
        if found[2]:
            datetime.fromisoformat(found[0])
        return date.fromisoformat(found[1])
    except ValueError:
        return None


def whole(value: Decimal) -> bool:
    """Whether a finite decimal has no fractional part; cheap for any exponent."""
    return value.as_tuple().exponent >= 0 or value == value.to_integral_value()  # type: ignore[operator]
