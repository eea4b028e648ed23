"""Small pieces of HTML. Every text goes through `escape`: names and labels come from specs that anybody may write."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1, caption: str = "") -> str:
    """A table whose first ``texts`` columns are words, to the left, and whose others are numbers, to the right."""
    kinds = [' class="text"' if index < texts else "" for index in range(len(headers))]
    head = "".join(f'<th scope="col"{kind}>{escape(text)}</th>' for kind, text in zip(kinds, headers, strict=True))
    body = []
    for row in rows:
        cells = [
            f'<th scope="row">{escape(text)}</th>' if index == 0 else f"<td{kinds[index]}>{escape(text)}</td>"
            for index, text in enumerate(row)
        ]
        body.append(f"<tr>{''.join(cells)}</tr>")
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    inner = f"<table>{named}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(caption or headers[0])}">{inner}</div>'


def details(summary: str, inner: str) -> str:
    """Something to unfold."""
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def section(identity: str, title: str, *inner: str) -> str:
    """A part of a page under its heading."""
    heading = f'<h2 id="{identity}-heading">{escape(title)}</h2>'
    return f'<section id="{identity}" aria-labelledby="{identity}-heading">{heading}{"".join(inner)}</section>'


def page(title: str, style: str, body: str, *, images: bool = False) -> str:
    """A whole page that loads nothing from anywhere, and is forbidden to; ``images`` allows those inside the page."""
    policy = "default-src 'none'; style-src 'unsafe-inline'" + ("; img-src data:" if images else "")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
