"""The page on which a curator registers data sets and has them opened."""

from __future__ import annotations

from typing import Any

from margrave.ledger.records import DataSet, Opened
from margrave.serve.kept.openings import declared
from margrave.serve.operations.declared import HttpReply
from margrave.serve.operations.opening import NOT_ALLOWED, described
from margrave.serve.pages.frame import redirect, shown
from margrave.serve.pages.visits import Sight, page

EXAMPLE = """title = "People of a town"

[tables.people]
source = "people.csv"
rows = 10000                  # about how many there are: public
[tables.people.columns]
region = ["north", "south"]
age = { range = [0, 110] }
income = { number = [0, 200000], step = 100 }
"""
_FIELDS = ("name", "amount", "unit", "spec")


def _form(look: Sight) -> dict[str, str]:
    found = {name: look.said(name) for name in _FIELDS}
    tried = look.house.openings.latest().get(found["name"])
    spec = found["spec"].replace("\r\n", "\n") or (tried.spec if tried is not None else "")
    return {**found, "unit": found["unit"] or "epsilon", "spec": spec}


def _listed(look: Sight) -> list[dict[str, Any]]:
    """Every data set, and what becomes of it."""
    ledger, latest = look.house.ledger, look.house.openings.latest()
    opened = {one.dataset for one in ledger.records(Opened)}
    listed = []
    for one in ledger.records(DataSet):
        wish = latest.get(one.name)
        state = "open" if one.name in opened else wish.state if wish is not None and wish.state != "open" else "closed"
        listed.append({"name": one.name, "state": state, "told": wish.told if wish is not None else ""})
    return listed


@page("GET", "/curate/data", "curate")
def opening_page(look: Sight) -> HttpReply:
    return _shown(look, {})


def _shown(look: Sight, found: dict[str, Any]) -> HttpReply:
    """``found``: what a declaration says that was checked."""
    return shown(
        "opening.html",
        look,
        400 if look.problem else 200,
        listed=_listed(look),
        form=_form(look),
        found=found,
        opens=look.house.opens,
        not_allowed=NOT_ALLOWED,
        sources=look.value("sources")["items"],
        example=EXAMPLE,
    )


@page("POST", "/curate/data/check", "curate", again=opening_page)
def check_page(look: Sight) -> HttpReply:
    """The declaration as everybody will read it, before anything is registered."""
    data = declared(_form(look)["spec"])
    tables = [
        {"name": one.name, "source": one.source, "columns": [(each.name, each.kind.said()) for each in one.columns]}
        for one in data.tables
    ]
    return _shown(look, {**described(data), "tables": tables})


@page("POST", "/curate/data", "curate", again=opening_page)
def open_page(look: Sight) -> HttpReply:
    """Register it, unless it is registered, and have it opened."""
    form = _form(look)
    if look.house.ledger.record(DataSet, form["name"]) is None:
        cap = {"cap": {form["unit"]: form["amount"]}} if form["amount"] else {}
        look.do("register", body={"name": form["name"], "spec": form["spec"], **cap})
    look.do("open_dataset", path={"dataset": form["name"]}, body={"spec": form["spec"]})
    return redirect("/curate/data")
