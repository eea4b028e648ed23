"""Columns become whole numbers of the declared kinds: clamped to their range, missing where nothing is there.

What cannot be read is counted, by column and rule, for the curator who opens the data set; analysts never see it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from margrave.errors import DataError
from margrave.measure import parse
from margrave.measure.failures import Failures
from margrave.measure.recode import Recoder
from margrave.measure.sources.columns import days, encode, kind_of, plain
from margrave.planning.questions.data_spec import ColumnSpec
from margrave.planning.questions.kinds import EPOCH, Days, Numbers
from margrave.spec.codebook import CodebookEntry

_NOTHING = "\x00"
"""The value that stands for missing where none is declared; no declared value has this character."""
_UNREADABLE = object()
_HALF = Fraction(1, 2)

Recode = Callable[[pa.Array, Failures], pa.Array]


def recoder_of(column: ColumnSpec) -> Recode:
    """How a raw column becomes 64-bit whole numbers with NULL for what is missing."""
    if column.entry is not None:
        return _of_releases(column.entry, 0 if not isinstance(column.kind, Numbers) else column.kind.low)
    if isinstance(column.kind, Days):
        return _days(column.name, column.kind)
    assert isinstance(column.kind, Numbers)
    return _numbers(column.name, column.kind)


def _of_releases(entry: CodebookEntry, first: int) -> Recode:
    """As releases recode it; what is missing is NULL where no value is declared for that."""
    unnamed = entry.missing is None and entry.other is None
    recoder = Recoder(replace(entry, missing=_NOTHING) if unnamed else entry)
    nothing = len(entry.attribute.values) if unnamed else -1

    def recode(column: pa.Array, failures: Failures) -> pa.Array:
        recoded = recoder(column)
        recoder.report(recoded, failures)
        codes = recoded.codes.astype(np.int64)
        return pa.array(codes + first, mask=codes == nothing)

    return recode


def _numbers(name: str, kind: Numbers) -> Recode:
    def recode(column: pa.Array, failures: Failures) -> pa.Array:
        found = plain(column, name)
        held = kind_of(found.type, name)
        if held in ("booleans", "dates"):
            raise DataError(
                f"column {name!r} holds {held}, but numbers are declared: declare its values, or convert it"
            )
        if held in ("integers", "floats") and not pa.types.is_dictionary(found.type):
            return _vectorised(found, kind)
        return _by_value(found, name, lambda value: _number(value, kind), "must be a number", failures)

    return recode


def _vectorised(column: pa.Array, kind: Numbers) -> pa.Array:
    """The nearest multiple of the step, halves upwards, clamped to the range."""
    missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    raw = np.asarray(column.fill_null(0)).astype(np.float64)
    raw = np.where(missing, 0.0, np.clip(raw, float(kind.least), float(kind.most)))
    codes = np.floor(raw / float(kind.step) + 0.5)
    return pa.array(np.clip(codes, kind.low, kind.high).astype(np.int64), mask=missing)


def _number(value: Any, kind: Numbers) -> object:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    if not text.strip(parse.BLANKS) or text.strip(parse.BLANKS).lower() == "nan":
        return None
    number = parse.number(text)
    if number is None:
        return _UNREADABLE
    if abs(number.adjusted()) > 400 and number != 0:
        return kind.high if number > 1 else kind.low if number < -1 else max(kind.low, min(kind.high, 0))
    return max(kind.low, min(kind.high, floor(Fraction(Decimal(number)) / kind.step + _HALF)))


def _days(name: str, kind: Days) -> Recode:
    def recode(column: pa.Array, failures: Failures) -> pa.Array:
        found = plain(column, name)
        held = kind_of(found.type, name)
        if held not in ("dates", "text", "empty"):
            raise DataError(f"column {name!r} holds {held}, but days are declared: convert it")
        if held == "dates" and not pa.types.is_dictionary(found.type):
            missing = found.is_null().to_numpy(zero_copy_only=False)
            ticks = found.cast(pa.int32() if pa.types.is_date32(found.type) else pa.int64()).fill_null(0)
            codes: npt.NDArray[np.int64] = np.clip(days(ticks.cast(found.type)), kind.low, kind.high)
            return pa.array(codes, mask=missing)
        return _by_value(found, name, lambda value: _day(value, kind), "must be a day such as 2024-12-31", failures)

    return recode


def _day(value: Any, kind: Days) -> object:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    if not text.strip(parse.BLANKS):
        return None
    day = parse.day(text)
    return _UNREADABLE if day is None else max(kind.low, min(kind.high, (day - EPOCH).days))


def _by_value(column: pa.Array, name: str, code: Callable[[Any], object], rule: str, failures: Failures) -> pa.Array:
    """Codes through the distinct values of the batch."""
    distinct, indices = encode(column, name)
    found = [code(value) if value is not None else None for value in distinct] + [None]
    wrong = np.array([one is _UNREADABLE for one in found])[indices]
    failures.add(f"column {name!r}", rule, "correct these records, or leave them empty", int(np.count_nonzero(wrong)))
    missing = np.array([one is None for one in found])[indices]
    codes = np.array([one if isinstance(one, int) else 0 for one in found], dtype=np.int64)[indices]
    return pa.array(codes, mask=missing)
