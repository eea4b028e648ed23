"""A data frame as CSV text: RFC 4180, with line feeds. Numbers have all their digits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def csv_text(frame: pd.DataFrame) -> str:
    """A data frame as CSV, its columns first."""
    lines = [list(frame.columns), *frame.itertuples(index=False)]
    return "".join(",".join(map(_field, line)) + "\n" for line in lines)


def _field(value: Any) -> str:
    if not isinstance(value, str):
        return "" if value is None or value != value else repr(value.item() if hasattr(value, "item") else value)
    plain = value and value == value.strip() and not any(mark in value for mark in ',"\r\n')
    return value if plain else '"' + value.replace('"', '""') + '"'
