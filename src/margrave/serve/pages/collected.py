"""The page on which a respondent makes and sends her report, and what she sees afterwards. Nobody notes who came."""

from __future__ import annotations

from urllib.parse import quote

from margrave.serve.operations.collecting import respondent_page
from margrave.serve.operations.declared import HttpReply
from margrave.serve.pages.frame import HTML, shown
from margrave.serve.pages.visits import Sight, page

_OWN = {"Content-Security-Policy": "frame-ancestors 'none'; base-uri 'none'"}
"""The page says itself what it may load: nothing but its own text."""


@page("GET", "/collections/{name}", "public", nameless=True)
def reporting_page(look: Sight) -> HttpReply:
    name = look.path["name"]
    told = respondent_page(look.house, name, f"{look.host}/collections/{quote(name)}")
    return HttpReply(content=told.encode(), media=HTML, headers=_OWN)


@page("POST", "/collections/{name}", "public", nameless=True)
def reported_page(look: Sight) -> HttpReply:
    body = {"reports": [look.said("report").strip()]}
    found = look.value("send_reports", path={"name": look.path["name"]}, body=body)
    why = next(iter(found["refused"]), "")
    return shown("reported.html", look, 409 if why else 200, why=why)
