"""What reading a Parquet file would take, told from its footer and page headers before anything is unpacked.

Both are written in Thrift's compact protocol, with numbers for the names of fields: those of the Parquet format.

The footer and the headers can say anything, but the reader believes the headers: it unpacks each page to the length
that its header gives and reads as many values as that announces. So a file whose headers stay within what its rows can
need is safe to read, and any other is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from margrave.files.untrusted import COLUMN_FOOTER, GROUP_ROWS, MOST_SPARE, PAGE_ROWS

_CODECS = frozenset({0, 1})
"""Not packed, or Snappy, which releases use and which makes nothing much larger than what is stored of it."""
_ENCODINGS = frozenset({0, 2, 3, 5, 8, 9})
"""Plain, by dictionary, in runs, by differences, by bytes. Others can repeat a long text without end."""
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_KINDS = {_DATA: (5, 1, 2), _DICTIONARY: (7, 1, 2), _DATA_2: (8, 1, 4)}
"""For each kind of page: where its own header is, and in that the number of values and their encoding."""
_PAGE = 1 << 10
"""Bytes of a page beside its values."""


@dataclass(frozen=True)
class Needs:
    """What the columns that are read can need: their number, the rows of the file, the values that a column has (more
    than rows only where a row has a list), and the bytes of the longest value.
    """

    columns: int
    rows: int
    values: int
    longest: int = 0

    @property
    def groups(self) -> int:
        """How many row groups there can be."""
        return 2 + self.rows // GROUP_ROWS

    @property
    def footer(self) -> int:
        """The length of the footer, at most: it holds the least and the largest value of each column, twice."""
        return MOST_SPARE + self.columns * self.groups * (COLUMN_FOOTER + 8 * self.longest)


Footer = dict[int, Any]


def read_footer(content: bytes, needs: Needs) -> Footer:
    """What the footer says; a ValueError for one that is longer than the columns need."""
    length = int.from_bytes(content[-8:-4], "little")
    if not 0 < length <= min(needs.footer, len(content) - 12):
        raise ValueError("the footer is too long")
    return _struct(content[-8 - length : -8], 0)[0]


def rows_of(footer: Footer) -> int:
    """How many rows the footer announces."""
    return int(footer[3])


def check_pages(content: bytes, footer: Footer, needs: Needs, columns: Sequence[str] | None = None) -> None:
    """A ValueError for a file whose columns, all or those named, would unpack to more than they can need."""
    values: dict[str, int] = {}
    for chunk in _chunks(footer, needs):
        path = b".".join(chunk[3]).decode()
        if columns is None or path in columns:
            values[path] = values.get(path, 0) + _chunk(content, chunk, needs)
    if max(values.values(), default=0) > needs.values:
        raise ValueError("there are more values than rows")


def _chunks(footer: Footer, needs: Needs) -> Iterator[dict[int, Any]]:
    """What the footer says of each column in each row group."""
    groups = footer[4]
    leaves = sum(5 not in element for element in footer[2])
    if len(groups) > needs.groups or any(len(group[1]) != leaves for group in groups):
        raise ValueError("there are too many row groups, or one with too few columns")
    for chunk in (chunk for group in groups for chunk in group[1]):
        if chunk.keys() & {1, 8, 9}:
            raise ValueError("a column is in another file, or encrypted")
        yield chunk[3]


def _chunk(content: bytes, chunk: dict[int, Any], needs: Needs) -> int:
    """How many values a column has in a row group."""
    if chunk[4] not in _CODECS:
        raise ValueError("pages are packed in a way that releases do not use")
    if chunk[5] == 0:
        return 0
    start = chunk[11] if 0 < chunk.get(11, 0) < chunk[9] else chunk[9]
    end = start + chunk[7]
    if start < 4 or not start <= end <= len(content):
        raise ValueError("a column lies outside of the file")
    found, pages, dictionary = 0, 0, False
    while start < end and found < chunk[5]:
        header, start = _struct(content, start)
        kind = header[1]
        place, count_at, encoding_at = _KINDS[kind]
        count, length = header[place][count_at], header[3]
        _check_page(header[2], count, header[place][encoding_at], needs)
        start += length
        pages += 1
        found += count if kind != _DICTIONARY else 0
        if length < 0 or (dictionary and kind == _DICTIONARY) or pages > 4 + needs.values // PAGE_ROWS:
            raise ValueError("there are too many pages")
        dictionary = dictionary or kind == _DICTIONARY
    if found != chunk[5]:
        raise ValueError("there are fewer values than the footer says")
    return found


def _check_page(length: int, count: int, encoding: int, needs: Needs) -> None:
    if encoding not in _ENCODINGS:
        raise ValueError("values are written in a way that releases do not use")
    if not 0 <= count <= needs.values or not 0 <= length <= _PAGE + count * (16 + needs.longest):
        raise ValueError("a page unpacks to more than its values need")


def _struct(content: bytes, at: int) -> tuple[dict[int, Any], int]:
    """A struct by the numbers of its fields, and where it ends."""
    found: dict[int, Any] = {}
    number = 0
    while True:
        head = content[at]
        at += 1
        if head == 0:
            return found, at
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = _whole(content, at)
        found[number], at = _value(content, at, kind)


def _value(content: bytes, at: int, kind: int) -> tuple[Any, int]:
    """A value of a kind that footers and page headers have, and where it ends."""
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:
        return content[at], at + 1
    if kind in (4, 5, 6):
        return _whole(content, at)
    if kind == 8:
        length, at = _varint(content, at)
        return content[at : at + length], at + length
    if kind == 9:
        return _list(content, at)
    if kind == 12:
        return _struct(content, at)
    raise ValueError("there is a field that no such file has")


def _list(content: bytes, at: int) -> tuple[list[Any], int]:
    size, kind = content[at] >> 4, content[at] & 15
    at += 1
    if size == 15:
        size, at = _varint(content, at)
    found = []
    for _ in range(size):
        value, at = _value(content, at, kind)
        found.append(value)
    return found, at


def _whole(content: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(content, at)
    return (number >> 1) ^ -(number & 1), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        byte = content[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number is too long")
