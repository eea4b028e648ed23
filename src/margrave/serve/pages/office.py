"""What curators see and do: data sets, people, grants and what they would allow, requests, the ledger, the log."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from margrave.errors import MargraveError
from margrave.ledger.records import DataSet, Grants, Opened, Pool, RequestRecord
from margrave.ledger.rules.limits import kept
from margrave.ledger.statements.allowance import Allowance
from margrave.planning.questions.every import question_of
from margrave.planning.questions.language.aggregates import Count
from margrave.planning.questions.language.relations import Rows
from margrave.serve.operations.curating import requests_json
from margrave.serve.operations.declared import HttpReply
from margrave.serve.operations.problems import ProblemError
from margrave.serve.operations.releases import published
from margrave.serve.pages.drawings import number
from margrave.serve.pages.frame import redirect, shown, statement_parts
from margrave.serve.pages.visits import Notice, Sight, page
from margrave.serve.pages.workbench import meters
from margrave.session.builders import budget_of

_PAGE = 100
_TENTH = 10


@page("GET", "/curate", "curate")
def overview_page(look: Sight) -> HttpReply:
    ledger = look.house.ledger
    pools = {one.name: one for one in ledger.records(Pool)}
    opened = {one.dataset for one in ledger.records(Opened)}
    listed = []
    for one in ledger.records(DataSet):
        pool = pools[one.pool]
        cap = Allowance(f"the cap of {pool.name}", kept(pool.cap), pool.spent)
        listed.append({"name": one.name, "opened": one.name in opened, "meters": meters((cap,))})
    people = look.value("accounts")["items"]
    return shown("overview.html", look, datasets=listed, people=len(people), released=len(published(look.house)))


@page("GET", "/curate/people", "curate")
def people_page(look: Sight) -> HttpReply:
    listed = look.value("accounts")["items"]
    status = 400 if look.problem else 200
    return shown("people.html", look, status, listed=listed, name=look.said("name"))


@page("POST", "/curate/people", "curate", again=people_page)
def invite_page(look: Sight) -> HttpReply:
    body = {"name": look.said("name"), "role": look.said("role")}
    if look.said("organisation"):
        body["organisation"] = look.said("organisation")
    made = look.value("invite", body=body)
    text = f"The invitation of {made['name']}, shown this once: hand it on. It works once, and for seven days."
    return people_page(replace(look, notice=Notice(text, f"{look.host}/invitation?code={made['invitation']}")))


@page("POST", "/curate/people/{name}/disable", "curate", again=people_page)
def disable_page(look: Sight) -> HttpReply:
    look.do("disable", path={"name": look.path["name"]})
    return redirect("/curate/people")


def _allowed(look: Sight, dataset: str, unit: str, amount: str) -> list[tuple[str, str, str]]:
    """What a grant would allow: for each table a count from all of it, and ten counts from a tenth each."""
    whole = budget_of(**{"eps" if unit == "epsilon" else "rho": amount})
    tenth = whole.with_amount(Fraction(whole.amount) / _TENTH).without_delta()
    assert tenth is not None
    data = look.house.opened_data(dataset)
    found = []
    for table in data.tables:
        once, often = (question_of(data, Count(Rows(table.name)), one).forecast[0] for one in (whole, tenth))
        found.append((table.name, f"± {number(once.half_width)}", f"± {number(often.half_width)}"))
    return found


def _granted(look: Sight) -> list[dict[str, Any]]:
    """Every grant, with what is left of it; ``version``: a data set under its cap, by which it is ended."""
    versions = {one.pool: one.name for one in look.house.ledger.records(DataSet)}
    return [
        {
            "account": held.account,
            "dataset": held.pool,
            "version": versions[held.pool],
            "expires": grant.expires or "",
            "meters": meters((Allowance(f"the grant of {held.account}", kept(grant.amount), grant.spent),)),
        }
        for held in look.house.ledger.records(Grants)
        for grant in held.grants
    ]


@page("GET", "/curate/grants", "curate")
def grants_page(look: Sight) -> HttpReply:
    house = look.house
    accounts = [one["name"] for one in look.value("accounts")["items"] if one["ledger"]]
    form = {name: look.said(name) for name in ("account", "dataset", "amount", "expires")}
    form["unit"] = look.said("unit", "epsilon")
    allows: list[tuple[str, str, str]] = []
    problem = look.problem
    if form["amount"] and not problem:
        try:
            allows = _allowed(look, form["dataset"], form["unit"], form["amount"])
        except (MargraveError, ProblemError, ValueError) as error:
            problem = str(error)
    return shown(
        "grants.html",
        look,
        400 if problem else 200,
        problem=problem,
        listed=_granted(look),
        accounts=accounts,
        datasets=[one.dataset for one in house.ledger.records(Opened)],
        form=form,
        allows=allows,
    )


@page("POST", "/curate/grants", "curate", again=grants_page)
def grant_page(look: Sight) -> HttpReply:
    body: dict[str, Any] = {"account": look.said("account"), "dataset": look.said("dataset")}
    body["amount"] = {look.said("unit"): look.said("amount")}
    if look.said("expires"):
        body["expires"] = look.said("expires")
    look.do("grant", body=body)
    return redirect("/curate/grants")


@page("POST", "/curate/grants/end", "curate", again=grants_page)
def end_grant_page(look: Sight) -> HttpReply:
    look.do("end_grant", path={"account": look.said("account"), "dataset": look.said("dataset")})
    return redirect("/curate/grants")


@page("GET", "/curate/requests", "curate")
def requests_page(look: Sight) -> HttpReply:
    every = sorted(look.house.ledger.records(RequestRecord), key=lambda one: -one.number)
    known = {one.request: one.id for one in published(look.house)}
    told = requests_json(look.house, every[:_PAGE])
    listed = [
        {**each, "number": one.number, "cost": str(one.cost), "released": known.get(one.id, "")}
        for one, each in zip(every[:_PAGE], told, strict=True)
    ]
    return shown("requests.html", look, 400 if look.problem else 200, listed=listed, many=len(every))


@page("POST", "/curate/requests/publish", "curate", again=requests_page)
def publish_page(look: Sight) -> HttpReply:
    look.do("publish_release", body={"request": look.said("request")})
    return redirect("/curate/requests")


@page("GET", "/curate/ledger", "curate")
def ledger_page(look: Sight) -> HttpReply:
    statements = {
        one.name: statement_parts(look.value("public_statement", path={"dataset": one.name})["words"])
        for one in look.house.ledger.records(DataSet)
    }
    found = look.value("check_ledger") if look.said("verify") else None
    return shown("ledger.html", look, statements=statements, found=found)


@page("GET", "/curate/log", "curate")
def log_page(look: Sight) -> HttpReply:
    look.house.access.flush()
    return shown("log.html", look, visits=look.house.access.latest(_PAGE), most=_PAGE)
