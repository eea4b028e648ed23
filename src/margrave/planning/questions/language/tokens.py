"""The words, numbers, quoted texts, quoted names and signs that a question is written with."""

from __future__ import annotations

import re
from typing import NamedTuple

from margrave.errors import UsageError
from margrave.planning.questions.language.hints import SIGNS

MOST_LETTERS = 100_000
WORDS = {
    "and", "any", "anti", "as", "average", "bins", "by", "case", "choose", "count", "cumulative", "day",
    "distinct", "else", "end", "except", "group", "groups", "high", "if", "in", "inner", "intersect", "interval",
    "is", "join", "left", "low", "max", "median", "min", "missing", "month", "not", "number", "of", "only",
    "or", "per", "quantiles", "rows", "select", "semi", "sum", "tables", "then",
    "union", "unit", "units", "variance", "weekday", "when", "where", "with", "year",
}  # fmt: skip
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>\"(?:[^\"]|\"\")*\")|(?P<day>\d{4}-\d{1,2}-\d{1,2})(?![\w.])|(?P<range>\d+-\d+)(?![\w.])|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign>//|!=|<=|>=|<>|[-+*=<>(),]))"
)


class Token(NamedTuple):
    """A word, number, quoted text or name, or sign, and where it stands."""

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
            rest = text[at:].lstrip()
            hint, place = f": {SIGNS[rest[0]]}" if rest[0] in SIGNS else "", len(text) - len(rest) + 1
            raise UsageError(f"the question cannot be read at {rest[:20]!r} (at letter {place}){hint}")
        kind = match.lastgroup or ""
        found.append(Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return [*found, Token("end", "", len(text))]


def quoted(text: str, quote: str = "'") -> str:
    """A text between quotes."""
    return quote + text.replace(quote, 2 * quote) + quote


def unquoted(text: str) -> str:
    """A quoted text, or name, without its quotes."""
    return text[1:-1].replace(2 * text[0], text[0])


def name_said(name: str) -> str:
    """A name as it is written in a question: a word as it is, all else between double quotes."""
    return quoted(name, '"') if word_problem(name, "column") else name


def word_problem(name: str, what: str) -> str | None:
    """Why a table or column cannot have this name: it would not read as one word in a question."""
    if not name.isidentifier() or not name.isascii():
        return f"the name of a {what} must be a word of letters, digits and '_' in questions"
    return f"{name!r} is a word of the language of questions: rename the {what}" if name.lower() in WORDS else None
