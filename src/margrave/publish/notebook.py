"""How a release looks in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from margrave.planning.describe import FORECAST_HEADERS, forecast_rows, html_table, words_html
from margrave.planning.promise.guarantee import approximate
from margrave.publish.bundle.words import NOT_PRIVATE

if TYPE_CHECKING:
    from margrave.publish.released import Released

_MOST = 12
_EXPLAINED = ("ε (epsilon)", "exact", "interval", "standard error", "unbiased", "unit")
"""Words of the glossary that a release in a notebook explains."""


def release_html(release: Released) -> str:
    """What a release holds and guarantees, without its numbers: those are shown by ``release.table(...)``."""
    plan = release.plan
    title = plan.spec.title or "Release"
    alarm = "" if release.private else f'<p style="color:#a3151b"><strong>{escape(NOT_PRIVATE)}</strong></p>'
    words = "".join(f"<li>{escape(text)}</li>" for text in plan.promise.words()[:3])
    return (
        f"<div><p><strong>{escape(title)}</strong>: {len(plan.spec.margins)} tables, "
        f"{escape(approximate(plan.guarantee))}</p>{alarm}<ul>{words}</ul>"
        f"{html_table(FORECAST_HEADERS, forecast_rows(plan, _MOST))}{words_html(_EXPLAINED)}</div>"
    )
