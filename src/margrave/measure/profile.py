"""What a source holds, for drafting a codebook. The result quotes the data: it is not private."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from margrave.crossing import ColumnKind, ColumnProfile, Profile
from margrave.errors import DataError
from margrave.measure import parse
from margrave.measure.looks import Look, Looks
from margrave.measure.repeated import count_repeats
from margrave.measure.sources.columns import encode, kind_of, plain
from margrave.measure.sources.files.commas import exchanged
from margrave.measure.sources.registry import ColumnLabels, Labelled, Source, check_columns
from margrave.progress import Progress
from margrave.spec.dialect import USUAL, Dialect
from margrave.spec.texts import names_ids, names_numbers

MOST_VALUES = 64
"""A column with more distinct values than this is not offered as categories."""
_FEW_NUMBERS = 8
"""Numbers with fractions are offered as categories if there are at most so many of them."""

_CANONICAL = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
_PADDED = re.compile(r"[+-]?0\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+", re.ASCII)

_PLAIN = r"^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,15})?$"
_HEAD = 256
"""So many different texts of a batch are looked at one by one before it is tried to look at them together."""

Sign = Literal[".", ","]


def profile(
    source: Source, name: str = "data", progress: Progress | None = None, dialect: Dialect = USUAL, sniff: bool = False
) -> Profile:
    """Reads every column once, in bounded memory, and ids once more. With ``sniff`` the decimal sign is found out."""
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
    if sniff and any(column.writes_commas for column in columns) and not any(one.writes_points for one in columns):
        dialect = replace(dialect, decimal=",")
    labels = source.labels if isinstance(source, Labelled) else {}
    found = (_labelled(column.profile(dialect.decimal), labels) for column in columns)
    return Profile(name, tuple(_with_repeats(found, source)), dialect, done)


def _with_repeats(columns: Iterator[ColumnProfile], source: Source) -> Iterator[ColumnProfile]:
    """Of columns that may tell people apart, how often one of their values occurs. Running numbers are ids too."""
    for column in columns:
        numbers, many = column.kind in ("integers", "numbers"), column.distinct is None
        if column.kind == "identifier" or (numbers and names_ids(column.name, many=many)):
            yield replace(column, repeats=count_repeats(source, column.name))
        elif numbers and many and names_numbers(column.name):
            found = count_repeats(source, column.name)
            running = found is not None and found.most == 1
            yield replace(column, kind="identifier", repeats=found) if running else column
        else:
            yield column


def _labelled(column: ColumnProfile, labels: Mapping[str, ColumnLabels]) -> ColumnProfile:
    """With what the header of the file says: labelled values are the codebook's, the others were read from cells."""
    told = labels.get(column.name, ColumnLabels())
    column = replace(column, title=told.title)
    unlabelled = [value for value in column.values if value not in told.values]
    listed = column.kind in ("categories", "integers", "empty") and len(unlabelled) <= len(told.values)
    if not told.values or not listed:
        return column
    values = (*told.values, *unlabelled)
    return replace(column, kind="categories", values=values, labels=told.values, public=not unlabelled)


class _Numbers:
    """A column taken for numbers with one of the two signs before fractions, while it is being read."""

    def __init__(self, sign: Sign) -> None:
        self.sign = sign
        self.all = self.whole = True
        self.written = False
        self.low: Decimal | None = None
        self.high: Decimal | None = None

    def read(self, text: str) -> Decimal | None:
        return parse.number(text if self.sign == "." else exchanged(text.encode(errors="replace")).decode())

    def add(self, text: str, number: Decimal | None) -> None:
        """One distinct value, and the number that it is if its type says so."""
        number = self.read(text) if number is None else number
        self.all &= number is not None
        self.whole &= number is not None and parse.whole(number) and bool(_CANONICAL.fullmatch(text))
        # 1,234 may be a number of thousands, and tells nothing about the sign.
        self.written |= self.sign in text and not (self.sign == "," and _THOUSANDS.fullmatch(text.strip(parse.BLANKS)))
        if number is not None:
            self.stretch(number)

    def stretch(self, number: Decimal) -> None:
        self.low = number if self.low is None else min(self.low, number)
        self.high = number if self.high is None else max(self.high, number)


class _Column:
    """One column while it is being read: its first distinct values, what all values so far could be, its extremes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: set[str] | None = set()
        self.seen = self.missing = self.padded = False
        self.dates = self.days = self.commas = True
        self.points, self.comma = _Numbers("."), _Numbers(",")
        self.first: date | None = None
        self.last: date | None = None

    def __repr__(self) -> str:
        return f"<_Column {self.name!r}>"

    @property
    def writes_commas(self) -> bool:
        """Whether these are numbers, and a comma stands before some fraction."""
        return self.seen and self.comma.all and self.comma.written and not self.points.all

    @property
    def writes_points(self) -> bool:
        """Whether these are numbers, and a point stands before some fraction."""
        return self.seen and self.points.all and self.points.written and not self.comma.all

    @property
    def _open(self) -> bool:
        """Whether another value could still tell something."""
        return self.values is not None or self.points.all or self.comma.all or self.dates or self.days or self.commas

    def add(self, raw: pa.Array) -> None:
        try:
            column = plain(raw, self.name)
            kind = kind_of(column.type, self.name)
        except DataError:
            self.seen, self.values = True, None
            self.points.all = self.comma.all = self.dates = self.days = self.commas = False
            return
        if not self._open:
            self.missing |= raw.null_count > 0 or (kind == "text" and _has_empty(column))
        elif self.values is None and kind in ("integers", "floats") and not pa.types.is_dictionary(column.type):
            self._add_extremes(column)
        else:
            texts = self._first_texts(column) if kind == "text" else column
            distinct, indices = encode(texts, self.name)
            self.missing |= bool(np.any(indices == len(distinct)))
            for value in distinct:
                self._add_value(value)

    def _first_texts(self, column: pa.Array) -> pa.Array:
        """Of a long column of texts that are plain numbers, those that tell as much as all of them.

        Once a column is neither of dates nor of few values, that a text is a number tells nothing new unless it is the
        lowest or the highest, or the first with a fraction.
        """
        if len(column) <= _HEAD:
            return column
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        self.missing |= encoded.null_count > 0
        texts = encoded.dictionary.drop_null().cast(pa.binary())
        for value in texts[:_HEAD].to_pylist():
            self._add_value(value)
        rest = texts[_HEAD:]
        if self.values is not None or self.dates or self.days:
            return rest
        if not len(rest) or not pc.all(pc.match_substring_regex(rest, _PLAIN)).as_py():
            return rest
        numbers = rest.cast(pa.string()).cast(pa.decimal128(38, 15))
        ends = pc.min_max(numbers)
        found = {pc.index(numbers, ends[name]).as_py() for name in ("min", "max")}
        found.add(pc.index(pc.match_substring(rest, "."), True).as_py())
        return rest.take([at for at in found if at >= 0])

    def _add_extremes(self, column: pa.Array) -> None:
        """The short way for long number columns, once they have too many values to list."""
        self.missing |= column.is_null(nan_is_null=True).true_count > 0
        finite = column.filter(pc.is_finite(column))
        found = pc.min_max(finite).as_py()
        for value in (found["min"], found["max"]):
            if value is not None:
                self.seen = True
                self.points.stretch(Decimal(str(value)))
                self.comma.stretch(Decimal(str(value)))

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
        self.points.add(text, number)
        self.comma.add(text, number)
        self.padded |= _PADDED.fullmatch(text) is not None
        self.dates &= day is not None
        look = _LOOKS(text) if self.days or self.commas else Look.TEXT
        self.days &= look is Look.DAYS
        self.commas &= look in (Look.COMMAS, Look.NUMBERS)
        if day is not None:
            self.first = day if self.first is None else min(self.first, day)
            self.last = day if self.last is None else max(self.last, day)
        if self.values is not None:
            self.values.add(text)
            if len(self.values) > MOST_VALUES:
                self.values = None

    def profile(self, decimal: Sign) -> ColumnProfile:
        """The kind that fits every value. Codes with leading zeros are categories, never numbers."""
        if not self.seen:
            return ColumnProfile(self.name, "empty", has_missing=self.missing, distinct=0)
        numbers = self.points if decimal == "." else self.comma
        distinct = None if self.values is None else len(self.values)
        if self.dates:
            return ColumnProfile(self.name, "dates", (), str(self.first), str(self.last), self.missing, distinct)
        low, high = str(numbers.low), str(numbers.high)
        are_numbers = numbers.all and not self.padded
        if self.values is not None and numbers.whole:
            values = tuple(sorted(self.values, key=int))
            return ColumnProfile(self.name, "integers", values, values[0], values[-1], self.missing, distinct)
        if are_numbers and (distinct is None or distinct > _FEW_NUMBERS):
            return ColumnProfile(self.name, "numbers", (), low, high, self.missing, distinct)
        if (distinct is None or distinct > _FEW_NUMBERS) and (other := self._other_kind(numbers)):
            return ColumnProfile(self.name, other, has_missing=self.missing, distinct=distinct)
        if self.values is None:
            return ColumnProfile(self.name, "identifier", has_missing=self.missing)
        place = numbers.read if are_numbers else None
        ordered = sorted(sorted(self.values), key=place)  # type: ignore[arg-type]
        return ColumnProfile(self.name, "categories", tuple(ordered), None, None, self.missing, distinct)

    def _other_kind(self, numbers: _Numbers) -> ColumnKind | None:
        """What a person must first put into another form: dates in another order, numbers with commas."""
        if self.days:
            return "days"
        return "commas" if self.commas and not numbers.all else None


_LOOKS = Looks(())


def _read(value: Any) -> tuple[Decimal | None, date | None, str]:
    """A value as a number if its type is one, as a day and as text."""
    if isinstance(value, bool):
        return None, None, str(value).lower()
    if isinstance(value, str):
        return None, parse.day(value), value
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
