"""The frame around every report, whichever way of asking it is of: head, first screen, contents, footer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

from margrave.messages.catalogue import say, spoken
from margrave.publish.bundle.words import NOT_PRIVATE
from margrave.publish.report.html import link, page, paragraph
from margrave.publish.report.values import written


@dataclass(frozen=True)
class FirstScreen:
    """What stands on the first screen: the kind of page, its title, how good it is, and its figures by name.

    ``remarks`` follow the sentence that leads; ``data`` says the same to machines.
    """

    kind: str
    title: str
    created: str | None
    lead: str
    private: bool
    figures: Sequence[tuple[str, str]] = ()
    remarks: Sequence[str] = ()
    data: Mapping[str, Any] | None = field(default=None, hash=False)

    def html(self) -> str:
        kind = self.kind if self.private else say("An experiment: not private")
        dated = say(" · written %(day)s", day=spoken().day(self.created)) if self.created else ""
        remarks = "".join(paragraph(text, "remark") for text in self.remarks)
        return (
            f'<header><p class="kicker">{escape(kind + dated)}</p><h1>{escape(self.title)}</h1>'
            f'<p class="lead">{escape(self.lead)}</p>{remarks}</header>'
        )

    def figures_html(self) -> str:
        inner = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in self.figures)
        return f'<dl class="facts">{inner}</dl>' if inner else ""


def framed(head: FirstScreen, parts: Sequence[str], made_by: str) -> str:
    """A whole page: the head, its parts, and who made it."""
    alarm = "" if head.private else f'<p class="alarm" role="alert">{escape(say(NOT_PRIVATE))}</p>'
    version = escape(made_by.removeprefix("margrave "))
    made = say(
        "Made with Margrave %(version)s. This page is complete: it loads nothing, and sends nothing.", version=version
    )
    footer = f"<footer>{made}</footer>"
    skip = f'<a class="skip" href="#main">{escape(say("To the content"))}</a>'
    main = "\n".join(part for part in (alarm, head.figures_html(), *parts) if part)
    style = files("margrave.publish.report").joinpath("report.css").read_text(encoding="utf-8")
    body = f'{skip}\n{head.html()}\n<main id="main">\n{main}\n</main>\n{footer}'
    return page(head.title, style, body, data=head.data)


def contents(entries: Sequence[tuple[str, str, str]], *, most: int = 12, after: Sequence[tuple[str, str]] = ()) -> str:
    """The list of a page's tables, each a target, a title and a remark, folded where it is long; then its sections."""
    items = "".join(
        f"<li>{link(target, title)}{f' <small>{escape(remark)}</small>' if remark else ''}</li>"
        for target, title, remark in entries
    )
    listed = f"<ol>{items}</ol>" if items else ""
    if len(entries) > most:
        every = escape(say("All %(count)s tables", count=written(len(entries))))
        listed = f"<details><summary>{every}</summary>{listed}</details>"
    further = "".join(f"<li>{link(target, title)}</li>" for target, title in after)
    more, named = f'<ul class="sections">{further}</ul>' if further else "", escape(say("Contents"))
    return f'<nav id="contents" aria-label="{named}"><h2>{named}</h2>{listed}{more}</nav>'
