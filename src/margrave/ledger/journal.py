"""The journal: numbered entries, each of which holds the hash of the one before."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from margrave.errors import VerificationError

ENTRY_KINDS = (
    "open", "rules", "clock", "key", "dataset", "count", "account", "grant", "end",
    "opened", "reserve", "escrow", "spend", "drawn", "commit", "failed", "void",
)  # fmt: skip
RESERVING = ("reserve", "escrow", "spend")
"""Kinds of entries that reserve a request: charged to a cap, the same with purses for its parts, or to such a purse."""
START = "0" * 64
"""What stands for the hash of the entry before the first."""

Mark = tuple[int, str]
"""Where the public journal stands: the number of its last entry, and the hash that covers all of its entries."""
NO_MARK: Mark = (0, START)

_FIELDS = {"body", "kind", "number", "previous", "time"}
_BEFORE_BODY = '{"body":'

_decoder = json.JSONDecoder()
_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False)


def canonical(value: Any) -> str:
    """One text for one JSON value: sorted keys, no spaces, plain ASCII."""
    return _encoder.encode(value)


def quoted(text: str) -> str:
    """A text as a JSON string, in plain ASCII. What has letters and digits alone, as hashes have, is so already."""
    return f'"{text}"' if text.isascii() and text.isalnum() else _quoted(text)


_quoted: Callable[[str], str] = lru_cache(maxsize=1024)(_encoder.encode)
"""Names come again and again."""


def digest(content: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return sha256(content).hexdigest()


class Entry(NamedTuple):
    """One entry. ``time`` is UTC in ISO 8601, ``previous`` the hash of the entry before it."""

    number: int
    time: str
    kind: str
    body: Mapping[str, Any]
    previous: str

    @property
    def text(self) -> str:
        """What is stored, and what is hashed: the canonical text of the entry."""
        return self.text_with(canonical(self.body))

    def text_with(self, body: str) -> str:
        """The same, where the canonical text of the body is known already."""
        return f"{_BEFORE_BODY}{body}{self._after_body}"

    def body_in(self, text: str) -> str | None:
        """The text of the body in the text of this entry; None where that is not written as entries are."""
        after = self._after_body
        written = text.startswith(_BEFORE_BODY) and text.endswith(after)
        return text[len(_BEFORE_BODY) : -len(after)] if written else None

    @property
    def _after_body(self) -> str:
        return f',"kind":"{self.kind}","number":{self.number},"previous":"{self.previous}","time":"{self.time}"}}'


def is_public(kind: str, body: Mapping[str, Any]) -> bool:
    """Whether an entry, and that it is there, depends on no data: what became of a request once data was open does."""
    return kind not in ("drawn", "commit", "failed") and not (kind == "void" and body["charged"])


def next_mark(mark: Mark, entry: Entry, body_text: str | None = None) -> Mark:
    """Where the public journal stands after an entry: the same entry, numbered and chained among public ones alone."""
    number, previous = mark
    text = canonical(entry.body) if body_text is None else body_text
    again = Entry(number + 1, entry.time, entry.kind, entry.body, previous)
    return number + 1, hash_of(again.text_with(text))


def hash_of(text: str) -> str:
    return digest(text.encode())


def read_entry(number: int, text: str, stored_hash: str) -> Entry:
    """The entry that a text holds, once it is known to be the one that was written."""
    if not isinstance(text, str) or hash_of(text) != stored_hash:
        raise VerificationError(f"entry {number} was changed after it was written: its hash does not fit")
    try:
        value, end = _decoder.raw_decode(text)
        good = end == len(text) and value.keys() == _FIELDS
        good = good and value["number"] == number and value["kind"] in ENTRY_KINDS
    except (ValueError, AttributeError, TypeError, RecursionError):
        good = False
    if not good:
        raise VerificationError(f"entry {number} is not that of a ledger")
    return Entry(**value)
