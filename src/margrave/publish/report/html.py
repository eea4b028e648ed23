"""Small pieces of HTML. Every text goes through `escape`: names and labels come from specs that anybody may write."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from textwrap import wrap
from typing import Any

from margrave.messages.catalogue import spoken

_LONG, _PIECE, _WBR = 18, 12, "<wbr>"
"""A word of more letters than this may be broken after every so many."""


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
    return scrolling(inner, caption or headers[0])


def scrolling(inner: str, label: str) -> str:
    """What may be wider than the page and is then moved inside it, by hand or by keyboard."""
    return f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(label)}">{inner}</div>'


def broken(text: str) -> str:
    """A text that may be broken inside its long words, and only there: so no label need be cut."""
    pieces = (
        _WBR.join(map(escape, wrap(word, _PIECE))) if len(word) > _LONG else escape(word) for word in text.split(" ")
    )
    return " ".join(pieces)


def link(target: str, text: str) -> str:
    """A link inside the page, or to another file of the bundle."""
    return f'<a href="{escape(target)}">{escape(text)}</a>'


def details(summary: str, inner: str) -> str:
    """Something to unfold."""
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def section(identity: str, title: str, *inner: str) -> str:
    """A part of a page under its heading."""
    heading = f'<h2 id="{identity}-heading">{escape(title)}</h2>'
    return f'<section id="{identity}" aria-labelledby="{identity}-heading">{heading}{"".join(inner)}</section>'


def data_block(value: Mapping[str, Any]) -> str:
    """JSON for machines that read the page; nothing runs it, and no text in it can end it."""
    text = json.dumps(value, ensure_ascii=False, indent=1).replace("<", "\\u003c").replace("&", "\\u0026")
    return f'<script type="application/ld+json">\n{text}\n</script>\n'


def framed_sheet(style: str) -> str:
    """A style sheet as it stands inside a page, to the letter: its hash is of that."""
    return f"\n{style}"


def inline_source(text: str) -> str:
    """The source by which a policy of content allows one style sheet or script inside a page, and no other."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"


def page(title: str, style: str, body: str, *, images: bool = False, data: Mapping[str, Any] | None = None) -> str:
    """A whole page that loads nothing from anywhere, and is forbidden to; ``images`` allows those inside the page.

    ``data`` says in JSON-LD what the page is about.
    """
    block = "" if data is None else data_block(data)
    sheet = framed_sheet(style)
    policy = f"default-src 'none'; style-src {inline_source(sheet)}" + ("; img-src data:" if images else "")
    return (
        f'<!doctype html>\n<html lang="{spoken().language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{sheet}</style>\n{block}</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
