"""The words, numbers, quoted texts and signs that a question is written with."""

from __future__ import annotations

import re
from typing import NamedTuple

from margrave.errors import UsageError

MOST_LETTERS = 100_000
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<day>\d{4}-\d{1,2}-\d{1,2})(?![\w.])|(?P<range>\d+-\d+)(?![\w.])|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign>//|!=|<=|>=|<>|[-+*=<>(),]))"
)


class Token(NamedTuple):
    """A word, number, quoted text or sign, and where it stands."""

    kind: str
    text: str
    place: int


def tokens_of(text: str) -> list[Token]:
    """A text in its parts, and an end."""
    if len(text) > MOST_LETTERS:
        raise UsageError(f"a question has up to {MOST_LETTERS:,} letters")
    found, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise UsageError(f"the question cannot be read at {text[at : at + 20]!r}")
        kind = match.lastgroup or ""
        found.append(Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return [*found, Token("end", "", len(text))]


def unquoted(text: str) -> str:
    """A quoted text without its quotes."""
    return text[1:-1].replace("''", "'")
