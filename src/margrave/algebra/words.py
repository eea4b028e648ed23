"""Margins and numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from margrave.messages.catalogue import say, spoken

if TYPE_CHECKING:
    from margrave.algebra.domain import Margin


def name_of(margin: Margin) -> str:
    """A margin as the heading of a table: ``smoke, age``, or ``total``."""
    return ", ".join(margin) or say("total")


def stored_name(margin: Margin) -> str:
    """A margin as files have it, whatever language is spoken."""
    return ", ".join(margin) or "total"


def in_words(margin: Iterable[str]) -> str:
    """A margin where it is listed: ``smoke, age``, or ``the total``."""
    return ", ".join(margin) or say("the total")


def margin_name(margin: Margin, values: Sequence[str] | None = None) -> str:
    """A margin, or a cell of it, that a sentence must not run into: ``{a, b}``, ``{a=x, b=y}``, or ``the total``."""
    parts = margin if values is None else cell_parts(margin, values)
    return f"{{{', '.join(parts)}}}" if margin else in_words(margin)


def cell_parts(margin: Margin, values: Sequence[str]) -> list[str]:
    """A cell of a margin, attribute by attribute: ``a=x``."""
    return [f"{name}={value}" for name, value in zip(margin, values, strict=True)]


def number(value: float) -> str:
    """Three significant digits, without an exponent for numbers that people meet in tables."""
    if value == 0:
        return "0"
    # The last bits differ between processors: without them, a tie is rounded to the same side everywhere.
    value = round(value, 6) if abs(value) >= 1000 else float(f"{value:.9g}")
    text = f"{value:.3g}" if abs(value) < 1000 or abs(value) >= 1e15 else f"{value:.0f}"
    return spoken().localised(text)
