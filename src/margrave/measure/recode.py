"""Recoding: a column of raw values becomes codes, the positions of an attribute's declared values.

Work is done once for each distinct value of a batch, or vectorised for number columns; never once for each record.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from margrave.errors import DataError, UsageError
from margrave.measure import parse
from margrave.measure.failures import Failures
from margrave.measure.looks import Look, Looks
from margrave.measure.sources.columns import days, encode, kind_of, plain
from margrave.spec.codebook import Bins, Categories, CodebookEntry, Range

MISSING, OUTSIDE, UNDECODABLE = -1, -2, -3
"""Codes of records that no declared value takes, by the rule that they break."""

_CACHE_LIMIT = 1 << 16
_EXACT_FLOAT = 1 << 53
_EPOCH = date(1970, 1, 1)
_BYTES = 256
_INT64 = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True)
class Recoded:
    """The codes of a batch in the smallest unsigned type, and how many records break each rule (their code is 0).

    ``looks``: what those look like that are outside of what is declared.
    """

    codes: npt.NDArray[np.unsignedinteger[Any]] = field(repr=False)
    missing: int = field(repr=False)
    outside: int = field(repr=False)
    undecodable: int = field(repr=False)
    looks: Mapping[Look, int] = field(repr=False, default_factory=dict)


def recode(column: pa.Array, entry: CodebookEntry) -> Recoded:
    """The codes of one column of one batch."""
    return Recoder(entry)(column)


def code_type(size: int) -> np.dtype[Any]:
    """The smallest unsigned integer type that holds the codes of ``size`` values."""
    return np.min_scalar_type(size - 1)


class Recoder:
    """An entry of the codebook, prepared for many batches. Remembers the codes of a bounded number of raw values."""

    def __init__(self, entry: CodebookEntry) -> None:
        self.entry = entry
        values = entry.attribute.values
        self._type = code_type(len(values))
        self._labels = {value: code for code, value in enumerate(values)}
        self._numbers = _number_labels(self._labels if isinstance(entry.rule, Categories) else self._extra())
        self._missing = self._declared(entry.missing, self._declared(entry.other, MISSING))
        self._outside = self._declared(entry.other, OUTSIDE)
        self._undecodable = self._declared(entry.other, UNDECODABLE)
        self._rule = _rule_code(entry.rule)
        self._cache: dict[Any, int] = {}

    def __repr__(self) -> str:
        return f"<Recoder of {self.entry.name!r}>"

    def __call__(self, column: pa.Array) -> Recoded:
        column = plain(column, self.entry.name)
        kind = kind_of(column.type, self.entry.name)
        _check_kind(self.entry, kind)
        signed = self._vectorised(column, kind)
        if signed is None:
            return self._by_value(column)
        codes = np.maximum(signed, 0).astype(self._type)
        broken = _broken(signed)
        look = Look.DATES if kind == "dates" else Look.NUMBERS
        return Recoded(codes, *broken, looks={look: broken[1]})

    def report(self, recoded: Recoded, failures: Failures) -> None:
        """Adds the records that break a rule to the failures of the pass."""
        place = f"column {self.entry.name!r}"
        failures.add(
            place,
            "must not be missing (NULL, NaN or empty text)",
            "declare `missing` or `other` for this attribute",
            recoded.missing,
        )
        remedy = "declare `other` for this attribute"
        failures.add(place, rule_text(self.entry), remedy, recoded.outside, recoded.looks)
        encoding = "name the file's encoding under [data] ('margrave init' finds it), or convert it to UTF-8"
        failures.add(place, "must be UTF-8 text", encoding, recoded.undecodable)

    def _declared(self, value: str | None, default: int) -> int:
        return default if value is None else self._labels[value]

    def _extra(self) -> dict[str, int]:
        names = (self.entry.missing, self.entry.other)
        return {name: self._labels[name] for name in names if name is not None}

    def _by_value(self, column: pa.Array) -> Recoded:
        """Codes through the distinct values of the batch: one look-up for each record, straight into the small type."""
        distinct, indices = encode(column, self.entry.name)
        signed = np.fromiter((self._remember(value) for value in distinct), dtype=np.int64, count=len(distinct))
        signed = np.append(signed, self._missing)
        codes = _looked_up(np.maximum(signed, 0).astype(self._type), indices)
        whole = not column.null_count and signed[:-1].min(initial=0) >= 0
        if whole:
            return Recoded(codes, 0, 0, 0)
        return Recoded(codes, *_broken(signed[indices]), looks=self._looks(distinct, signed, indices))

    def _looks(
        self, distinct: list[Any], signed: npt.NDArray[np.int64], indices: npt.NDArray[np.integer[Any]]
    ) -> Mapping[Look, int]:
        """What the records outside look like, by the distinct values of the batch."""
        times = np.bincount(indices, minlength=len(signed))
        looks, look = Counter[Look](), Looks(self._labels)
        for place in np.flatnonzero(signed[:-1] == OUTSIDE):
            looks[look(distinct[place])] += int(times[place])
        return looks

    def _remember(self, value: Any) -> int:
        # 1, 1.0 and True are one key of a dictionary; they must not share a code.
        key = (type(value), value)
        code = self._cache.get(key)
        if code is None:
            if len(self._cache) >= _CACHE_LIMIT:
                self._cache.clear()
            code = self._cache[key] = self._code(value)
        return code

    def _code(self, value: Any) -> int:
        """The code of one raw value of any type."""
        if value is None:
            return self._missing
        if isinstance(value, bytes):
            try:
                value = value.decode()
            except UnicodeDecodeError:
                return self._undecodable
            return self._text(value)
        if isinstance(value, bool):
            return self._first([str(value).lower(), str(value), str(value).upper()])
        if isinstance(value, date):
            return self._date(value)
        return self._number(value)

    def _text(self, text: str) -> int:
        rule = self.entry.rule
        if isinstance(rule, Categories):
            keys = [text, text.lower()] if rule.boolean else [text]
            return self._missing if text == "" and "" not in self._labels else self._first(keys)
        stripped = text.strip(parse.BLANKS)
        dates = isinstance(rule, Bins) and isinstance(rule.edges[0], date)
        if not stripped or (stripped.lower() == "nan" and not dates):
            return self._missing
        parsed: Any = parse.day(text) if dates else parse.number(text)
        if parsed is None:
            return self._first([text])
        code = self._rule(parsed)
        return self._numbers.get(parsed, self._first([text])) if code == OUTSIDE else code

    def _number(self, value: Any) -> int:
        if isinstance(value, float | np.floating):
            if math.isnan(value):
                return self._missing
            if math.isinf(value):
                return self._outside
        text = str(value)
        number = Decimal(text)
        if isinstance(self.entry.rule, Categories):
            return self._labels[text] if text in self._labels else self._numbers.get(number, self._outside)
        code = self._rule(number)
        return self._numbers.get(number, self._outside) if code == OUTSIDE else code

    def _date(self, value: date) -> int:
        if isinstance(self.entry.rule, Bins):
            code = self._rule(value)
            return self._outside if code == OUTSIDE else code
        keys = [value.isoformat()]
        if isinstance(value, datetime):
            keys.append(value.isoformat(sep=" "))
            if value.time() == value.time().min:
                keys.append(value.date().isoformat())
        return self._first(keys)

    def _first(self, keys: list[str]) -> int:
        return next((self._labels[key] for key in keys if key in self._labels), self._outside)

    def _vectorised(self, column: pa.Array, kind: str) -> npt.NDArray[np.int64] | None:
        """Codes of numbers or days under a range or bins, all at once; None where that would not be exact."""
        rule = self.entry.rule
        vectors = kind in ("integers", "floats", "dates") and not pa.types.is_dictionary(column.type)
        if isinstance(rule, Categories) or self._numbers or not vectors:
            return None
        missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        raw = _filled(column, kind)
        codes = _range_codes(raw, rule) if isinstance(rule, Range) else _bin_codes(raw, rule)
        if codes is None:
            return None
        codes[codes == OUTSIDE] = self._outside
        codes[missing] = self._missing
        return codes


def _looked_up(
    codes: npt.NDArray[np.unsignedinteger[Any]], indices: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """``codes[indices]``; byte by byte where all are bytes, which takes half the time, and none if nothing changes."""
    top = int(indices.max(initial=0))
    if codes.dtype != np.uint8 or not top < len(codes) <= _BYTES or indices.min(initial=0) < 0:
        found: npt.NDArray[np.unsignedinteger[Any]] = codes[indices]
        return found
    small = indices.astype(np.uint8)
    if np.array_equal(codes[: top + 1], np.arange(top + 1)):
        return small
    return np.frombuffer(small.tobytes().translate(codes.tobytes().ljust(_BYTES, b"\0")), dtype=np.uint8)


def _broken(signed: npt.NDArray[np.int64]) -> tuple[int, int, int]:
    """How many records are missing, outside and undecodable without a declared value for that."""
    missing, outside, undecodable = (int(np.count_nonzero(signed == code)) for code in (MISSING, OUTSIDE, UNDECODABLE))
    return missing, outside, undecodable


def _filled(column: pa.Array, kind: str) -> npt.NDArray[Any]:
    """The numbers, or the days, of a column with zeros for NULL."""
    if kind != "dates":
        return np.asarray(column.fill_null(0))
    ticks = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64()).fill_null(0)
    return days(ticks.cast(column.type))


def rule_text(entry: CodebookEntry) -> str:
    """The rule in words: the part of an error that says what a value must be."""
    rule = entry.rule
    if isinstance(rule, Categories):
        count = len(rule.values)
        return f"must be one of the {count} declared values" if count > 1 else "must be the one declared value"
    if isinstance(rule, Range):
        return f"must be a whole number from {rule.low} to {rule.high}"
    return f"must lie in the bins {rule.edges[0]}..{rule.edges[-1]}"


def _check_kind(entry: CodebookEntry, kind: str) -> None:
    """Refuses columns whose type can never fit the rule."""
    if kind in ("text", "empty") or isinstance(entry.rule, Categories):
        return
    dates = isinstance(entry.rule, Bins) and isinstance(entry.rule.edges[0], date)
    if (kind == "dates") != dates or kind == "booleans":
        wanted = "dates" if dates else "numbers"
        raise DataError(
            f"column {entry.name!r} holds {kind}, but its rule is about {wanted}: "
            "declare the attribute's `values`, or convert the column"
        )


def _number_labels(labels: dict[str, int]) -> dict[Decimal, int]:
    """Declared values that are written as numbers, by number; a number written in two ways stands for neither."""
    found: dict[Decimal, int] = {}
    twice = set()
    for text, code in labels.items():
        number = parse.number(text)
        if number is not None:
            twice |= {number} & found.keys()
            found[number] = code
    return {number: code for number, code in found.items() if number not in twice}


def _rule_code(rule: Categories | Range | Bins) -> Callable[[Any], int]:
    """The exact code of one number or date under a range or bins, or OUTSIDE."""
    if isinstance(rule, Range):
        low, high = rule.low, rule.high

        def in_range(value: Decimal) -> int:
            return int(value) - low if low <= value <= high and parse.whole(value) else OUTSIDE

        return in_range
    if isinstance(rule, Bins):
        edges = [_day(edge) if isinstance(edge, date) else edge for edge in rule.edges]
        bisect = bisect_right if rule.closed == "left" else bisect_left

        def in_bins(value: Any) -> int:
            if isinstance(value, datetime):
                value = value.date()
            if not edges[0] <= value <= edges[-1]:
                return OUTSIDE
            return min(max(bisect(edges, value) - 1, 0), len(edges) - 2)

        return in_bins
    return lambda value: OUTSIDE


def _day(edge: date) -> date:
    if not isinstance(edge, datetime):
        return edge
    if edge.time() != edge.time().min:
        raise UsageError("bins of dates need days as edges, without a time of day")
    return edge.date()


def _range_codes(raw: npt.NDArray[Any], rule: Range) -> npt.NDArray[np.int64] | None:
    """Codes of a number array under a range; None where 64 bits could not be exact."""
    floats = raw.dtype.kind == "f"
    limit = range(-_EXACT_FLOAT, _EXACT_FLOAT) if floats else _INT64
    if rule.low not in limit or rule.high not in limit:
        return None
    if floats:
        raw = raw.astype(np.float64)
    inside = (raw >= rule.low) & (raw <= rule.high)
    if floats:
        inside &= raw == np.floor(raw)
    codes = np.full(len(raw), OUTSIDE, dtype=np.int64)
    codes[inside] = raw[inside].astype(np.int64) - rule.low
    return codes


def _bin_codes(raw: npt.NDArray[Any], rule: Bins) -> npt.NDArray[np.int64] | None:
    """Codes of a number array under bins; None where 64 bits could not be exact.

    A whole number v has v >= e just when v >= ceil(e), and v > e just when v > floor(e). A float stands for the
    shortest decimal that rounds to it, so edges are rounded to the column's own precision: 0.3 is 0.3.
    """
    numbers = [Decimal((_day(edge) - _EPOCH).days) if isinstance(edge, date) else edge for edge in rule.edges]
    left = rule.closed == "left"
    if raw.dtype.kind == "f":
        edges = np.array([float(edge) for edge in numbers]).astype(raw.dtype)
        low, high = edges[0], edges[-1]
        if not np.all(np.diff(edges) > 0) or not np.all(np.isfinite(edges)):
            return None
    else:
        if math.floor(numbers[0]) not in _INT64 or math.ceil(numbers[-1]) not in _INT64:
            return None
        low, high = math.ceil(numbers[0]), math.floor(numbers[-1])
        edges = np.array([math.ceil(edge) if left else math.floor(edge) for edge in numbers], dtype=np.int64)
    inside = (raw >= low) & (raw <= high)
    safe = raw[inside] if raw.dtype.kind == "f" else raw[inside].astype(np.int64)
    codes = np.full(len(raw), OUTSIDE, dtype=np.int64)
    found = np.searchsorted(edges, safe, side="right" if left else "left") - 1
    codes[inside] = np.clip(found, 0, len(edges) - 2)
    return codes
