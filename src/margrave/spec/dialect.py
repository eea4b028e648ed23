"""How a file is written: the sign before fractions, what separates fields, which bytes stand for which letters."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from encodings.aliases import aliases
from typing import Literal, get_args

from margrave.errors import UsageError, suggest
from margrave.spec.reader import Node

Decimal = Literal[".", ","]
DECIMALS: tuple[Decimal, ...] = get_args(Decimal)
DIALECT_KEYS = ("decimal", "delimiter", "encoding")
TEXT_KEYS = ("delimiter", "encoding")
"""Those that concern files without numbers, too."""
_UTF8 = "utf-8"
_NO_DELIMITERS = frozenset('"\r\n\0.') | frozenset("0123456789")


def _delimiter_problem(text: str) -> str | None:
    if len(text) != 1 or not text.isascii() or text in _NO_DELIMITERS or text.isalpha():
        return 'must be one sign such as ",", ";", "|" or "\\t"'
    return None


def _encoding_problem(name: str) -> str | None:
    try:
        found = codecs.lookup(name)
        "a".encode(found.name)
    except (LookupError, ValueError):  # unknown, or something that is no text; a name with half a character
        return f'is not known{suggest(name, aliases)}; usual ones are "utf-8", "latin-1", "windows-1252" and "utf-16"'
    return None


@dataclass(frozen=True)
class Dialect:
    """What a person must know to read a file as it was meant.

    ``decimal``: the sign before the fraction of a number. ``delimiter``: between the fields of delimited text; None for
    the one that its header shows. ``encoding``: of delimited text.
    """

    decimal: Decimal = "."
    delimiter: str | None = None
    encoding: str = _UTF8

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise UsageError("the decimal sign must be '.' or ','")
        if self.delimiter is not None and (wrong := _delimiter_problem(self.delimiter)):
            raise UsageError(f"the delimiter {wrong}")
        if wrong := _encoding_problem(self.encoding):
            raise UsageError(f"the encoding {wrong}")
        object.__setattr__(self, "encoding", codecs.lookup(self.encoding).name)

    @property
    def of_text(self) -> bool:
        """Whether something is said that only delimited text can have."""
        return self.delimiter is not None or self.encoding != _UTF8

    def as_dict(self) -> dict[str, str]:
        """What differs from the usual, in the shape of the TOML file."""
        written = {key: getattr(self, key) for key in DIALECT_KEYS}
        return {key: value for key, value in written.items() if value != getattr(USUAL, key)}


USUAL = Dialect()
"""Points before fractions, the delimiter that the header shows, UTF-8."""


def read_dialect(keys: Mapping[str, Node]) -> Dialect:
    """The dialect among the keys of [data]; the usual one where a problem was noted."""
    decimal = keys["decimal"].choice(DECIMALS) if "decimal" in keys else None
    delimiter = _checked(keys["delimiter"], _delimiter_problem) if "delimiter" in keys else None
    encoding = _checked(keys["encoding"], _encoding_problem) if "encoding" in keys else None
    return Dialect(decimal or ".", delimiter, encoding or _UTF8)


def _checked(node: Node, problem: Callable[[str], str | None]) -> str | None:
    if not isinstance(node.value, str):
        node.wrong_type("text")
        return None
    wrong = problem(node.value)
    if wrong:
        node.problem(wrong)
    return None if wrong else node.value
