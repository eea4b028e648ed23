"""Margins and numbers as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from margrave.algebra.domain import Margin


def name_of(margin: Margin) -> str:
    """A margin for people: ``smoke, age``, or ``total``."""
    return ", ".join(margin) or "total"


def number(value: float) -> str:
    """Three significant digits, without an exponent for numbers that people meet in tables."""
    if value == 0:
        return "0"
    # The last bits differ between processors: without them, a tie is rounded to the same side everywhere.
    value = round(value, 6) if abs(value) >= 1000 else float(f"{value:.9g}")
    return f"{value:.3g}" if abs(value) < 1000 or abs(value) >= 1e15 else f"{value:.0f}"
