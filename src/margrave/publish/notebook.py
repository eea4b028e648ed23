"""How what is published looks in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Protocol

from margrave.planning.asked import Asked
from margrave.planning.describe import FORECAST_HEADERS, forecast_rows, html_table, words_html
from margrave.planning.promise.guarantee import approximate
from margrave.publish.bundle.words import NOT_PRIVATE

if TYPE_CHECKING:
    from margrave.publish.released import Released

_MOST = 12
_EXPLAINED = ("ε (epsilon)", "exact", "interval", "standard error", "unbiased", "unit")
"""Words of the glossary that a release in a notebook explains."""


class AnyRelease(Protocol):
    """What is published in any way of asking."""

    @property
    def plan(self) -> Asked: ...

    @property
    def private(self) -> bool: ...


def framed_html(title: str, held: str, release: AnyRelease) -> str:
    """What is published in another way, without its numbers, for a notebook; ``held``: what those are, in words."""
    asked = release.plan
    sheets = "".join(html_table(sheet.headers, list(sheet.rows)) for sheet in asked.sheets(_MOST)[-1:])
    words = "".join(f"<li>{escape(text)}</li>" for text in asked.words()[:3])
    return (
        f"<div><p><strong>{escape(asked.title or title)}</strong>: {escape(held)}</p>{_alarm(release.private)}"
        f"<ul>{words}</ul>{sheets}{words_html(_EXPLAINED)}</div>"
    )


def _alarm(private: bool) -> str:
    return "" if private else f'<p style="color:#a3151b"><strong>{escape(NOT_PRIVATE)}</strong></p>'


def release_html(release: Released) -> str:
    """What a release holds and guarantees, without its numbers: those are shown by ``release.table(...)``."""
    plan = release.plan
    title = plan.spec.title or "Release"
    words = "".join(f"<li>{escape(text)}</li>" for text in plan.promise.words()[:3])
    return (
        f"<div><p><strong>{escape(title)}</strong>: {len(plan.spec.margins)} tables, "
        f"{escape(approximate(plan.guarantee))}</p>{_alarm(release.private)}<ul>{words}</ul>"
        f"{html_table(FORECAST_HEADERS, forecast_rows(plan, _MOST))}{words_html(_EXPLAINED)}</div>"
    )
