"""Arrow columns of any type, reduced to the few kinds that recoding knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from margrave.errors import DataError
from margrave.measure.failures import guarded

_TICKS_A_DAY = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}


def kind_of(arrow: pa.DataType, name: str) -> str:
    """``empty``, ``booleans``, ``integers``, ``floats``, ``decimals``, ``text`` or ``dates``; nothing else will do."""
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    tests = {
        "empty": pa.types.is_null,
        "booleans": pa.types.is_boolean,
        "integers": pa.types.is_integer,
        "floats": pa.types.is_floating,
        "decimals": pa.types.is_decimal,
        "text": _is_text,
        "dates": lambda given: pa.types.is_date(given) or pa.types.is_timestamp(given),
    }
    for kind, test in tests.items():
        if test(arrow):
            return kind
    held = "nested values" if pa.types.is_nested(arrow) else "times or durations"
    if not (pa.types.is_nested(arrow) or pa.types.is_temporal(arrow)):
        held = "values of an unknown type"
    shape = next((word for word in ("struct", "map", "list") if word in str(arrow).split("<")[0]), "")
    detail = f" ({shape})" if shape and pa.types.is_nested(arrow) else ""
    raise DataError(f"column {name!r} holds {held}{detail}: an attribute needs one plain value in each record")


def _is_text(arrow: pa.DataType) -> bool:
    checks = ("string", "large_string", "string_view", "binary", "large_binary", "fixed_size_binary", "binary_view")
    return any(getattr(pa.types, f"is_{check}")(arrow) for check in checks)


def plain(column: pa.Array, name: str) -> pa.Array:
    """The column without extension types, run ends and rare widths; text as bytes, time of day kept.

    A dictionary stays one, unless it is longer than the batch that uses it.
    """
    return guarded(lambda: _plain(column), f"column {name!r} cannot be read: its type is not supported")


def _plain(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        return _plain(column.storage)
    arrow = column.type
    if pa.types.is_run_end_encoded(arrow):
        return _plain(pc.run_end_decode(column))
    if pa.types.is_dictionary(arrow):
        if len(column.dictionary) > len(column):
            return _plain(column.dictionary.take(column.indices))
        return pa.DictionaryArray.from_arrays(column.indices, _plain(column.dictionary))
    if _is_text(arrow):
        return column.cast(pa.large_binary())
    if pa.types.is_float16(arrow):
        return column.cast(pa.float32())
    if pa.types.is_decimal(arrow):
        return column.cast(pa.decimal256(76, arrow.scale)) if arrow.bit_width < 128 else column
    if pa.types.is_timestamp(arrow):
        local = pc.local_timestamp(column) if arrow.tz else column
        return local.cast(pa.timestamp("us"), safe=False) if arrow.unit == "ns" else local
    return column


def encode(column: pa.Array, name: str) -> tuple[list[Any], npt.NDArray[np.integer[Any]]]:
    """The distinct values of a plain column and the position of each record's value; NULL is one past the last."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    distinct = encoded.dictionary
    values = guarded(distinct.to_pylist, f"column {name!r} cannot be read: it holds dates outside the years 1 to 9999")
    if pa.types.is_float32(distinct.type):
        values = [None if value is None else np.float32(value) for value in values]
    indices = encoded.indices
    if indices.null_count:
        # The position one past the last may not fit the type of the indices.
        indices = indices.cast(pa.int64()).fill_null(len(values))
    return values, indices.to_numpy(zero_copy_only=False)


def days(column: pa.Array) -> npt.NDArray[np.int64]:
    """The days since 1970-01-01 of a plain column of dates or times without NULL; exact for all that Arrow holds."""
    arrow = column.type
    if pa.types.is_date32(arrow):
        return np.asarray(column.cast(pa.int32())).astype(np.int64)
    unit = "ms" if pa.types.is_date64(arrow) else arrow.unit
    ticks: npt.NDArray[np.int64] = np.asarray(column.cast(pa.int64()))
    return np.floor_divide(ticks, _TICKS_A_DAY[unit])
