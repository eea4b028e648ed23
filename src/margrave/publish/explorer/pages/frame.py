"""What every page has: templates that escape every text, one style, the words of scripts; and pages that only say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from margrave.messages.catalogue import say, spoken
from margrave.publish.bundle.words import NOT_PRIVATE
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.pages.style import sheet
from margrave.publish.explorer.waiting import Making
from margrave.publish.report.values import written
from margrave.version import __version__

FRONT, INNER = Served(), Served("../../")
"""How the catalogue of a server leads on, and the pages of its releases."""
_SAID = re.compile(r'\b(?:say|refuse)\(\s*"([^"\\]*)"')
"""A message in a script."""


@dataclass(frozen=True)
class ViewLink:
    """A view that a page leads to; ``number`` of the asked table that it is of, from 1."""

    title: str
    address: str
    cells: int = 0
    number: int = 0


@cache
def environment() -> Environment:
    return Environment(
        loader=PackageLoader("margrave.publish.explorer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )


@cache
def _said_by_scripts() -> tuple[str, ...]:
    """Every message of the scripts of a site."""
    room = files("margrave.publish.explorer.site")
    texts = [one.read_text(encoding="utf-8") for one in room.iterdir() if one.name.endswith(".js")]
    return tuple(dict.fromkeys(text for one in texts for text in _SAID.findall(one)))


def _words_of_scripts() -> Markup:
    """What the scripts of a page say, in the language that is spoken; no text in it can end it."""
    words = {text: say(text) for text in _said_by_scripts()} if spoken().language != "en" else {}
    return Markup(json.dumps(words, ensure_ascii=False).replace("<", "\\u003c").replace("&", "\\u0026"))


def rendered(template: str, to: Served, **context: Any) -> str:
    """A page; ``to`` says how it leads to others."""
    common = {
        "to": to,
        "style": Markup(sheet()),
        "version": __version__,
        "language": spoken().language,
        "number": written,
        "day": spoken().day,
        "_": say,
        "not_private": say(NOT_PRIVATE),
        "words_of_scripts": _words_of_scripts() if to.scripts else "",
    }
    return environment().get_template(template).render(**common, **context)


def problem_page(text: str, to: Served) -> str:
    return rendered("problem.html", to, text=text, reason="")


def unreadable_page(reason: str, to: Served) -> str:
    """Why a bundle cannot be read, as commands say it: in English."""
    return rendered("problem.html", to, text="", reason=reason)


def waiting_page(title: str, why: str, making: Making, to: Served = INNER) -> str:
    """How far work is that takes a while; the page asks again by itself."""
    return rendered("waiting.html", to, title=title, why=why, done=making.done, of=making.of)
