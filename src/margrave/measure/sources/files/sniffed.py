"""How a file of delimited text is written, found out for a curator who drafts a spec."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from margrave.errors import DataError
from margrave.measure.failures import guarded
from margrave.measure.sources.files.delimited import DELIMITERS, default_delimiter, head_of, opened
from margrave.measure.sources.registry import kind_of_file
from margrave.spec.dialect import USUAL, Dialect

_BLOCK = 1 << 20
_LINES = 200
_CONTROLS = bytes(range(0x80, 0xA0))
_NOT_WINDOWS = b"\x81\x8d\x8f\x90\x9d"
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def dialect_of(data: Any, written: Mapping[str, str]) -> tuple[Dialect, bool]:
    """How data is written, as it is told or else found out; and whether the decimal sign is still to be found out."""
    path = Path(data) if isinstance(data, str | Path) else None
    text = path is not None and path.is_file() and kind_of_file(path) == "delimited text"
    needed = text and not {"delimiter", "encoding"} <= written.keys()
    found = sniffed(path) if needed and path is not None else USUAL
    told: dict[str, Any] = {name: value for name, value in written.items() if value is not None}
    return replace(found, **told), "decimal" not in told


def sniffed(path: Path) -> Dialect:
    """The delimiter, if it is not the one that the header shows, and the encoding; the decimal sign takes a profile."""
    trouble = f"{path} cannot be read: check that the file is complete and not damaged"
    encoding = guarded(lambda: _encoding(path), trouble)
    text = guarded(lambda: head_of(path, encoding), trouble).decode("utf-8-sig", errors="replace")
    usual = default_delimiter(path, text)
    found = _delimiter(text, usual)
    return Dialect(delimiter=None if found == usual == "," else found, encoding=encoding)


def _encoding(path: Path) -> str:
    """UTF-8 if every byte of the file fits; otherwise what old files of Western languages are usually written in."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    fits, high = True, b""
    with opened(path) as stream:
        first = True
        while block := bytes(stream.read(_BLOCK)):
            if first and (mark := next((one for one in _MARKS if block.startswith(one)), None)):
                return _MARKS[mark]
            first = False
            high = bytes(set(high) | (set(block) & set(_CONTROLS)))
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                fits = False
                break
        while not fits and (block := bytes(stream.read(_BLOCK))):
            high = bytes(set(high) | (set(block) & set(_CONTROLS)))
    if fits:
        return USUAL.encoding
    if set(high) & set(_NOT_WINDOWS):
        raise DataError(f"{path} is neither UTF-8 nor Windows-1252: name its encoding with --encoding")
    return "windows-1252" if high else "latin-1"


def _delimiter(text: str, usual: str) -> str:
    """The sign that cuts most of the first lines into equally many fields, more than one; else the usual one."""
    lines = text.splitlines(keepends=True)[:_LINES]
    best, score = usual, (0.0, 0)
    for delimiter in (usual, *DELIMITERS):
        try:
            widths = Counter(len(row) for row in csv.reader(io.StringIO("".join(lines)), delimiter=delimiter) if row)
        except csv.Error:
            continue
        ((width, times),) = widths.most_common(1) or [(1, 0)]
        mark = (times / max(1, widths.total()), width)
        if width > 1 and mark > score:
            best, score = delimiter, mark
    return best
