"""What every page has: a frame by templates that escape every text, one style, and headers that let nothing else in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from margrave.serve.headers import SAFE_HEADERS
from margrave.serve.operations.declared import HttpReply
from margrave.serve.pages.visits import Link, Sight
from margrave.version import __version__

HTML = "text/html; charset=utf-8"
PAGE_HEADERS: Mapping[str, str] = {
    **SAFE_HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_ROOMS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "": (("/", "Data sets"), ("/explore/", "Released tables"), ("/login", "Log in")),
    "analyst": (
        ("/ask", "Ask"),
        ("/questions", "History"),
        ("/tokens", "Tokens"),
        ("/", "Data sets"),
        ("/explore/", "Released tables"),
    ),
    "curator": (
        ("/curate", "Overview"),
        ("/curate/data", "Data"),
        ("/curate/people", "People"),
        ("/curate/grants", "Grants"),
        ("/curate/requests", "Requests"),
        ("/curate/ledger", "Ledger"),
        ("/curate/log", "Log"),
        ("/tokens", "Tokens"),
        ("/", "Public page"),
        ("/explore/", "Released tables"),
    ),
}


@cache
def environment() -> Environment:
    found = Environment(
        loader=PackageLoader("margrave.serve.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found.filters["address"] = lambda text: quote(str(text), safe="@")
    return found


@cache
def style() -> bytes:
    """The style of the report, and of these pages."""
    told = [
        files("margrave.publish.report").joinpath("report.css").read_bytes(),
        files("margrave.serve.pages").joinpath("pages.css").read_bytes(),
    ]
    return b"".join(told)


@cache
def script() -> bytes:
    """The one script: without it everything works, with a click more."""
    return files("margrave.serve.pages").joinpath("pages.js").read_bytes()


def _is_in(at: str, room: str) -> bool:
    """Whether a page is in a room, or one of those behind it."""
    return at == room or (room not in ("/", "/curate") and at.startswith(f"{room.rstrip('/')}/"))


def rendered(template: str, look: Sight, **context: Any) -> str:
    """A page as HTML."""
    role = look.caller.person.role if look.caller.person is not None else ""
    common = {
        "version": __version__,
        "person": look.caller.person,
        "guard": look.caller.guard,
        "problem": look.problem,
        "notice": look.notice,
        "rooms": [Link(text, to, here=_is_in(look.at, to)) for to, text in _ROOMS[role]],
    }
    return environment().get_template(template).render(**{**common, **context})


@dataclass(frozen=True)
class StatementPart:
    """A part of a public statement, which is written for a text file, as a page shows it."""

    heading: str
    texts: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()


def statement_parts(lines: Sequence[str]) -> list[StatementPart]:
    """The parts of a statement, each under its heading."""
    found = [StatementPart("")]
    for line in filter(None, lines):
        last = found[-1]
        if line.startswith("#"):
            found.append(StatementPart(line.lstrip("# ")))
        elif line.startswith("- "):
            found[-1] = replace(last, listed=(*last.listed, line[2:]))
        elif last.listed:  # what follows a list stands by itself
            found.append(StatementPart("", (line,)))
        else:
            found[-1] = replace(last, texts=(*last.texts, line))
    return found[0 if found[0].texts or found[0].listed else 1 :]


def shown(template: str, look: Sight, status: int = 200, **context: Any) -> HttpReply:
    """A page as a reply."""
    return HttpReply(content=rendered(template, look, **context).encode(), media=HTML, status=status)


def redirect(to: str, **headers: str) -> HttpReply:
    """Go on at another page of this site."""
    return HttpReply(content=b"", media=HTML, status=303, headers={"Location": to, **headers})
