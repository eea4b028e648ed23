"""Writing TOML, and finding the line on which a key of a TOML document stands.

The standard library reads TOML but neither writes it nor says where a value came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from decimal import Decimal
from fractions import Fraction

from margrave.budget.numbers import exact_text

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_UNSEEN = frozenset({0x61C, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF})
"""Characters that end a line or change its direction, and that nobody sees."""
_UNSHORT = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "e": "\x1b"}


def quote(text: str) -> str:
    """A TOML string on one line."""
    return '"' + "".join(_escape(character) for character in text) + '"'


def _escape(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x20 or 0x7F <= code < 0xA0 or code in _UNSEEN:
        return f"\\u{code:04X}"
    if 0xE0000 <= code < 0xE1000:
        return f"\\U{code:08X}"
    return character


def key(name: str) -> str:
    """A TOML key: bare where that is allowed, otherwise quoted."""
    return name if _BARE.fullmatch(name) else quote(name)


def below(place: str, name: str | int) -> str:
    """The place of a key or of an item of a list: ``attributes.age``, ``attributes.age.bins[2]``."""
    if isinstance(name, int):
        return f"{place}[{name}]"
    return f"{place}.{key(name)}" if place else key(name)


def dump(value: object) -> str:
    """A TOML value on one line; exact numbers stay exact."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quote(value)
        case Fraction():
            return quote(text) if "/" in (text := exact_text(value)) else text
        case Decimal():
            return exact_text(Fraction(value))
        case date():
            return value.isoformat()
        case int():
            return str(value)
        case Mapping():
            return "{ " + ", ".join(f"{key(name)} = {dump(item)}" for name, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(dump(item) for item in value) + "]"
    raise TypeError(f"no TOML form for {type(value).__name__}")


def dump_document(document: Mapping[str, object]) -> str:
    """A TOML document: the scalars first, then one section for each table."""
    scalars = [f"{key(name)} = {dump(value)}" for name, value in document.items() if not isinstance(value, Mapping)]
    parts = ["\n".join(scalars)] if scalars else []
    for name, section in document.items():
        if isinstance(section, Mapping):
            body = [f"{key(inner)} = {dump(value)}" for inner, value in section.items()]
            parts.append("\n".join([f"[{key(name)}]", *body]))
    return "\n\n".join(parts) + "\n"


def locate(text: str) -> dict[str, int]:
    """The line of every key and list item of a document that is known to be valid TOML, by place."""
    finder = _Finder(text)
    # A line number is a courtesy: where the finder gets lost, what it found so far still helps.
    with suppress(IndexError, ValueError, RecursionError):
        finder.document()
    return finder.lines


def line_of(place: str, lines: Mapping[str, int]) -> int | None:
    """The line of a place, or of the nearest place around it that has one."""
    return next((lines[around] for around in _around(place) if around in lines), None)


def _around(place: str) -> Iterator[str]:
    while place:
        yield place
        place = place[: max(place.rfind("."), place.rfind("["), 0)]


class _Finder:
    """A cursor over valid TOML that notes on which line each place begins."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.lines: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._line, self._counted = 1, 0

    def document(self) -> None:
        section = ""
        while self._skip_blank():
            if self.text[self.at] == "[":
                section = self._header()
            else:
                self._pair(section)

    def _note(self, place: str) -> None:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        self.lines.setdefault(place, self._line)

    def _skip_blank(self) -> bool:
        """Move to the next character that matters; false at the end of the text."""
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at] in " \t\n":
                self.at += 1
            else:
                return True
        return False

    def _header(self) -> str:
        repeated = self.text.startswith("[[", self.at)
        start, self.at = self.at, self.at + (2 if repeated else 1)
        place = self._keys("")
        end, self.at = self.at + (2 if repeated else 1), start
        if repeated:
            count = self._counts.get(place, 0)
            self._counts[place] = count + 1
            self._note(place)
            place = below(place, count)
        self._note(place)
        self.at = end
        return place

    def _pair(self, section: str) -> None:
        start = self.at
        place = self._keys(section)
        end, self.at = self.at, start
        self._note(place)
        self.at = end + 1
        self._skip_blank()
        self._value(place)

    def _keys(self, place: str) -> str:
        """Read a dotted key and stop at the sign after it."""
        while True:
            self._skip_blank()
            place = below(place, self._key())
            self._skip_blank()
            if self.text[self.at] != ".":
                return place
            self.at += 1

    def _key(self) -> str:
        if self.text[self.at] in "\"'":
            return self._string()
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise ValueError("not a key")
        self.at = match.end()
        return match.group()

    def _string(self) -> str:
        """Read a string of any of the four kinds; only one-line strings, which may be keys, are decoded."""
        sign = self.text[self.at]
        fence = sign * 3 if self.text.startswith(sign * 3, self.at) else sign
        start = self.at = self.at + len(fence)
        while not self.text.startswith(fence, self.at):
            if self.at >= len(self.text):
                raise ValueError("open string")
            self.at += 2 if sign == '"' and self.text[self.at] == "\\" else 1
        if len(fence) == 3:
            while self.text.startswith(sign, self.at + 3):
                self.at += 1
        body = self.text[start : self.at]
        self.at += len(fence)
        return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", _unescape, body) if fence == '"' else body

    def _value(self, place: str) -> None:
        sign = self.text[self.at]
        if sign in "\"'":
            self._string()
        elif sign == "[":
            self._list(place)
        elif sign == "{":
            self._inline(place)
        else:
            while self.at < len(self.text) and self.text[self.at] not in ",]}\n#":
                self.at += 1

    def _list(self, place: str) -> None:
        self.at += 1
        index = 0
        while self._skip_blank() and self.text[self.at] != "]":
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._note(below(place, index))
            self._value(below(place, index))
            index += 1
        self.at += 1

    def _inline(self, place: str) -> None:
        self.at += 1
        while self._skip_blank() and self.text[self.at] != "}":
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._pair(place)
        self.at += 1


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    return chr(int(code[1:], 16)) if len(code) > 1 else _UNSHORT.get(code, code)
