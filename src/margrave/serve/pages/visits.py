"""One look at a page, or one form that was sent, and the registry of pages.

A page does nothing by itself: whatever it changes or reads, it has done by the operations of the server, as whoever
looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from margrave.serve.operations.declared import OPERATIONS, Call, Caller, House, HttpReply, Who

Fields = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Notice:
    """What is shown once, after something was done: a text, and a secret where there is one."""

    text: str
    secret: str = ""


@dataclass(frozen=True)
class Sight:
    """``fields`` is what the address or the form says; ``problem`` why a form was not taken.

    ``host``: the address of the server, as the visitor has it, ``at`` that of the page. ``notice``: what was done just
    now.
    """

    house: House
    caller: Caller
    path: Mapping[str, str]
    fields: Fields
    secure: bool = False
    problem: str = ""
    host: str = ""
    at: str = ""
    notice: Notice | None = None

    def said(self, name: str, default: str = "") -> str:
        """The first word of a field."""
        found = self.fields.get(name)
        return found[0] if found else default

    def every(self, name: str) -> tuple[str, ...]:
        return tuple(self.fields.get(name, ()))

    def do(
        self,
        name: str,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        """Have an operation done, behind the same checks as over HTTP."""
        one = next(each for each in OPERATIONS if each.name == name)
        self.caller.check(one.who)
        read = one.body.read(body, "form") if one.body is not None else None
        told = {key: shape.read((headers or {}).get(key, ""), key) for key, shape in one.headers.items()}
        if self.secure:
            told["x-margrave-scheme"] = "https"
        asked = {key: one.query[key].read(value, key) for key, value in (query or {}).items()}
        person, scopes, secret = self.caller.person, self.caller.scopes, self.caller.secret
        return one.handler(Call(self.house, person, scopes, secret, path or {}, asked, read, told))

    def value(self, name: str, **given: Any) -> Any:
        """What an operation gives."""
        return self.do(name, **given).value


Showing = Callable[[Sight], HttpReply]


@dataclass(frozen=True)
class PageOfSite:
    """``again`` shows a form once more, with what was wrong with it."""

    name: str
    method: str
    path: str
    who: Who
    show: Showing
    again: Showing | None = None
    door: str = ""
    """The operation at which secrets could be tried out by this page."""
    nameless: bool = False
    """Who looks from where is not noted."""
    waits: bool = False
    """Whether it may wait a little for what became of a question of the visitor's own."""


PAGES: list[PageOfSite] = []
"""All of them, in the order in which they are declared."""


def page(method: str, path: str, who: Who, **options: Any) -> Callable[[Showing], Showing]:
    """Declare that a function shows a page, by the function's name."""

    def declared(show: Showing) -> Showing:
        PAGES.append(PageOfSite(show.__name__, method, path, who, show, **options))
        return show

    return declared


@dataclass(frozen=True)
class Link:
    """Where a page leads."""

    text: str
    to: str
    here: bool = False
