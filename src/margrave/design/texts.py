"""Which texts every file of a release can hold: all but those that no encoding has, and those that end at a NUL."""

from __future__ import annotations

from collections.abc import Iterable


def text_problem(text: str) -> str | None:
    """Why a text cannot be published, or None where it can."""
    if "\0" in text:
        return "holds the character NUL, which pages and many readers of CSV cannot hold"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a character, which is no text: no file can hold it"
    return None


def texts_problem(texts: Iterable[str]) -> str | None:
    """Why one of some texts cannot be published. Halves of a character in two texts make no whole one."""
    return text_problem("\n".join(texts))
