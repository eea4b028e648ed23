"""Numbers written with a decimal comma, turned into numbers with a point in the columns that hold numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

import pyarrow as pa

from margrave.measure.sources.columns import kind_of, plain
from margrave.measure.sources.registry import Source
from margrave.spec.codebook import Bins, Categories, Codebook, Rule
from margrave.spec.dialect import Dialect

_DIGITS = re.compile(rb"\s*[+-]?[\d.,]+([eE][+-]?\d+)?\s*")
_SWAPPED = bytes.maketrans(b",.", b".,")


@dataclass(frozen=True)
class Commas:
    """Another source, of which the columns ``numbers`` are written with commas before the fraction.

    Comma and point are exchanged, so that a point, which may stand between thousands, makes no number: nothing is
    guessed. What is not written in digits stays as it is.
    """

    source: Source = field(repr=False)
    numbers: frozenset[str]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.source.columns

    @property
    def total(self) -> int | None:
        return self.source.total

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The batches of the source; work is done once for each distinct text of a batch."""
        for batch in self.source.batches(columns):
            arrays = [
                _exchanged(column, name) if name in self.numbers else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def as_written(source: Source, dialect: Dialect, numbers: Collection[str]) -> Source:
    """A source whose number columns are read with the sign that stands before fractions."""
    return source if dialect.decimal == "." else Commas(source, frozenset(numbers))


def number_columns(codebook: Codebook) -> list[str]:
    """The columns that a codebook takes for numbers."""
    return [entry.name for entry in codebook.entries if _is_number(entry.rule)]


def _is_number(rule: Rule) -> bool:
    return not isinstance(rule, Categories) and not (isinstance(rule, Bins) and isinstance(rule.edges[0], date))


def exchanged(text: bytes) -> bytes:
    """A text of digits with comma and point exchanged; another text as it is."""
    return text.translate(_SWAPPED) if _DIGITS.fullmatch(text) else text


def _exchanged(column: pa.Array, name: str) -> pa.Array:
    column = plain(column, name)
    if kind_of(column.type, name) != "text":
        return column
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    texts = [None if text is None else exchanged(text) for text in encoded.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(texts, pa.large_binary()))
