"""What a source holds, for drafting a codebook. The result quotes the data: it is not private."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from margrave.crossing import ColumnProfile, Profile
from margrave.errors import DataError
from margrave.measure import parse
from margrave.measure.sources.columns import encode, kind_of, plain
from margrave.measure.sources.registry import Source, check_columns
from margrave.progress import Progress

MOST_VALUES = 64
"""A column with more distinct values than this is not offered as categories."""

_CANONICAL = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)


def profile(source: Source, name: str = "data", progress: Progress | None = None) -> Profile:
    """Reads every column once, in bounded memory."""
    check_columns(source, source.columns)
    columns = [_Column(column) for column in source.columns]
    total = source.total if progress else None
    done = 0
    for batch in source.batches(source.columns):
        for position, column in enumerate(columns):
            column.add(batch.column(position))
        done += batch.num_rows
        if progress:
            progress(done, total)
    return Profile(name, tuple(column.profile() for column in columns))


class _Column:
    """One column while it is being read: its first distinct values, what all values so far could be, its extremes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: set[str] | None = set()
        self.seen = self.missing = False
        self.whole = self.numbers = self.dates = True
        self.low: Any = None
        self.high: Any = None

    def __repr__(self) -> str:
        return f"<_Column {self.name!r}>"

    def add(self, raw: pa.Array) -> None:
        try:
            column = plain(raw, self.name)
            kind = kind_of(column.type, self.name)
        except DataError:
            self.seen, self.values, self.numbers, self.dates = True, None, False, False
            return
        if self.values is None and not self.numbers and not self.dates:
            self.missing |= raw.null_count > 0 or (kind == "text" and _has_empty(column))
        elif self.values is None and kind in ("integers", "floats") and not pa.types.is_dictionary(column.type):
            self._add_extremes(column)
        else:
            distinct, indices = encode(column, self.name)
            self.missing |= bool(np.any(indices == len(distinct)))
            for value in distinct:
                self._add_value(value)

    def _add_extremes(self, column: pa.Array) -> None:
        """The short way for long number columns, once they have too many values to list."""
        self.missing |= column.is_null(nan_is_null=True).true_count > 0
        finite = column.filter(pc.is_finite(column))
        found = pc.min_max(finite).as_py()
        for value in (found["min"], found["max"]):
            if value is not None:
                self._stretch(Decimal(str(value)))
        if pa.types.is_floating(finite.type):
            self.whole &= pc.all(pc.equal(finite, pc.floor(finite)), min_count=0).as_py()

    def _add_value(self, value: Any) -> None:
        """Notes one distinct value."""
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        empty = value is None or (isinstance(value, str) and not value.strip(parse.BLANKS))
        if empty or (isinstance(value, float | np.floating) and np.isnan(value)):
            self.missing = True
            return
        self.seen = True
        number, day, text = _read(value)
        self.numbers &= number is not None
        self.whole &= number is not None and parse.whole(number) and bool(_CANONICAL.fullmatch(text))
        self.dates &= day is not None
        if self.numbers or self.dates:
            self._stretch(number if self.numbers else day)
        if self.values is not None:
            self.values.add(text)
            if len(self.values) > MOST_VALUES:
                self.values = None

    def _stretch(self, value: Any) -> None:
        self.seen = True
        self.low = value if self.low is None else min(self.low, value)
        self.high = value if self.high is None else max(self.high, value)

    def profile(self) -> ColumnProfile:
        """The kind that fits every value. Codes with leading zeros are categories, never integers."""
        if not self.seen:
            return ColumnProfile(self.name, "empty", has_missing=self.missing, distinct=0)
        distinct = None if self.values is None else len(self.values)
        low, high = str(self.low), str(self.high)
        if self.dates:
            return ColumnProfile(self.name, "dates", (), low, high, self.missing, distinct)
        if self.values is None:
            if self.numbers:
                return ColumnProfile(self.name, "numbers", (), low, high, self.missing)
            return ColumnProfile(self.name, "identifier", has_missing=self.missing)
        if self.whole:
            values = tuple(sorted(self.values, key=int))
            return ColumnProfile(self.name, "integers", values, values[0], values[-1], self.missing, distinct)
        return ColumnProfile(self.name, "categories", tuple(sorted(self.values)), None, None, self.missing, distinct)


def _read(value: Any) -> tuple[Decimal | None, date | None, str]:
    """A value as a number, as a day and as text."""
    if isinstance(value, bool):
        return None, None, str(value).lower()
    if isinstance(value, str):
        return parse.number(value), parse.day(value), value
    if isinstance(value, datetime):
        return None, value.date(), value.isoformat(sep=" ")
    if isinstance(value, date):
        return None, value, value.isoformat()
    number = parse.number(str(value))
    if number is None:  # an infinity
        return None, None, str(value)
    return number, None, str(int(number)) if parse.whole(number) and abs(number) < 1 << 63 else str(value)


def _has_empty(column: pa.Array) -> bool:
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    return bool(pc.any(pc.equal(texts, pa.scalar(b"", texts.type))).as_py())
