"""How owners write the same person's id in the same way: a public rule, so that equal people have equal ids.

An id has one or more parts, such as a number, or a name and a date of birth. Each part is brought into one form, and
the parts are put together with their lengths, so that no two ids are written alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, get_args

from margrave.errors import UsageError

PartKind = Literal["text", "digits", "date"]
Form = Literal["NFKC", "NFC"]
Case = Literal["fold", "keep"]
PART_KINDS: tuple[PartKind, ...] = get_args(PartKind)
FORMS: tuple[Form, ...] = get_args(Form)
CASES: tuple[Case, ...] = get_args(Case)
ISO = "%Y-%m-%d"

_INVISIBLE = ("Cc", "Cf")
_LENGTH = 4
_DAYS = (date(2003, 11, 27), date(1999, 2, 1))


@dataclass(frozen=True)
class IdPart:
    """One part of an id.

    ``text``: in one Unicode form, without invisible characters, blanks at the ends or several in a row, and in one
    case. ``digits``: its decimal digits alone, without leading zeros. ``date``: a day.
    """

    kind: PartKind = "text"
    form: Form = "NFKC"
    case: Case = "fold"

    def __post_init__(self) -> None:
        if self.kind not in PART_KINDS or self.form not in FORMS or self.case not in CASES:
            raise UsageError("a part of an id is text, digits or a date, in a Unicode form and a case that are known")

    def normal(self, value: object, dates: str = ISO) -> str:
        """The part in its one form; the empty text where nothing is left of it. ``dates``: how days are written."""
        match self.kind:
            case "text":
                return self._text(str(value))
            case "digits":
                return _digits(str(value))
            case "date":
                return _day(value, dates)

    def _text(self, text: str) -> str:
        found = unicodedata.normalize(self.form, text)
        if self.case == "fold":
            found = unicodedata.normalize(self.form, found.casefold())
        if not found.isascii() or not found.isprintable():
            found = "".join(one for one in found if one.isspace() or unicodedata.category(one) not in _INVISIBLE)
        return " ".join(found.split())

    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "form": self.form, "case": self.case}


def _digits(text: str) -> str:
    found = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return "".join(str(unicodedata.decimal(one)) for one in found if one.isdecimal()).lstrip("0")


def _day(value: object, dates: str) -> str:
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    try:
        return datetime.strptime(str(value).strip(), dates).date().isoformat()
    except ValueError:
        return ""


def tells_days(dates: str) -> bool:
    """Whether days that are written in this way can be read again."""
    try:
        return all(datetime.strptime(day.strftime(dates), dates).date() == day for day in _DAYS)
    except (ValueError, re.error):  # strptime builds an expression of the way, and does not look at what it builds
        return False


def whole_id(parts: Sequence[str]) -> bytes | None:
    """An id of its parts; None where one of them is empty."""
    if not all(parts):
        return None
    written = [one.encode("utf-8", "surrogatepass") for one in parts]
    return b"".join(len(one).to_bytes(_LENGTH, "big") + one for one in written)
