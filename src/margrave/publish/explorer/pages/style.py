"""The one style sheet of every page, and the policy of content that allows it and nothing like it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from margrave.publish.report.html import framed_sheet, inline_source


@cache
def sheet() -> str:
    """That of reports, and what the explorer adds, as it stands inside each page."""
    texts = [
        files("margrave.publish.report").joinpath("report.css").read_text(encoding="utf-8"),
        files("margrave.publish.explorer").joinpath("explorer.css").read_text(encoding="utf-8"),
    ]
    return "".join(texts)


@cache
def policy(scripts: str, forms: str) -> str:
    """What a page may load: its own style, known by its hash, and scripts and forms of these sources."""
    return (
        f"default-src 'none'; script-src {scripts}; style-src {inline_source(sheet())}; form-action {forms}; "
        "base-uri 'none'"
    )


@cache
def report_policy() -> str:
    """The policy of a report, which has a style sheet of its own."""
    style = files("margrave.publish.report").joinpath("report.css").read_text(encoding="utf-8")
    return f"default-src 'none'; style-src {inline_source(framed_sheet(style))}; base-uri 'none'; form-action 'none'"
