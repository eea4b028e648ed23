"""The first page, data sets and their codebooks, coming in and going out, and tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from margrave.ledger.records import Opened
from margrave.planning.questions.data_spec import DataSpec
from margrave.serve.kept.people import LEAST_PASSWORD, LOGGED_IN
from margrave.serve.kept.tokens import ALLOWED
from margrave.serve.operations.declared import OPERATIONS, HttpReply
from margrave.serve.operations.openapi import told_operations
from margrave.serve.operations.public import cookie
from margrave.serve.operations.releases import published
from margrave.serve.pages.frame import redirect, shown, statement_parts
from margrave.serve.pages.visits import Notice, Sight, page

_HOME = {"analyst": "/ask", "curator": "/curate"}


@page("GET", "/", "public")
def first_page(look: Sight) -> HttpReply:
    datasets = [(one.dataset, DataSpec.load(one.declared)) for one in look.house.ledger.records(Opened)]
    listed = [{"name": name, "title": data.title or name, "tables": len(data.tables)} for name, data in datasets]
    return shown("first.html", look, datasets=sorted(listed, key=str), released=len(published(look.house)))


@page("GET", "/data/{dataset}", "public")
def data_page(look: Sight) -> HttpReply:
    name = look.path["dataset"]
    data = look.house.opened_data(name)
    told = look.value("dataset", path={"dataset": name})
    statement = look.value("public_statement", path={"dataset": name})
    tables = [
        {
            "name": table.name,
            "unit": "each row is a unit" if table.unit is None else f"at most {table.max_records:,} rows of a unit",
            "columns": [(one.name, one.kind.said(), _members(one.kind)) for one in table.columns],
        }
        for table in data.tables
    ]
    context: dict[str, Any] = {
        "protects": told["protects"],
        "words": statement_parts(statement["words"]),
        "tables": tables,
    }
    return shown("data.html", look, name=name, title=data.title or name, **context)


def _members(kind: Any) -> str:
    values = getattr(kind, "values", ())
    return ", ".join(values[:20]) + (", …" if len(values) > 20 else "")


@page("GET", "/v1/about", "public")
def about_page(look: Sight) -> HttpReply:
    return shown("about.html", look, operations=told_operations(OPERATIONS))


@page("GET", "/login", "public")
def login_page(look: Sight) -> HttpReply:
    status = 409 if look.problem else 200
    return shown("login.html", look, status, name=look.said("name"), then=_inside(look.said("then")))


@page("POST", "/login", "public", again=login_page, door="log_in")
def log_in_page(look: Sight) -> HttpReply:
    # Over the operation, so that one place decides who comes in.
    body = {"name": look.said("name"), "password": look.said("password")}
    reply = look.do("log_in", body=body)
    to = _inside(look.said("then")) or _HOME[reply.value["role"]]
    return redirect(to, **{"Set-Cookie": reply.headers["Set-Cookie"]})


def _inside(address: str) -> str:
    """An address of this site, or nothing."""
    fits = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return quote(address, safe="/?&=@%.~-_+|,:") if fits else ""


@page("POST", "/logout", "own")
def log_out_page(look: Sight) -> HttpReply:
    reply = look.do("log_out")
    return redirect("/", **{"Set-Cookie": reply.headers["Set-Cookie"]})


@page("GET", "/invitation", "public")
def invitation_page(look: Sight) -> HttpReply:
    status = 409 if look.problem else 200
    code = look.said("code") or look.said("invitation")
    return shown("invitation.html", look, status, code=code[:100], name=look.said("name"), least=LEAST_PASSWORD)


@page("POST", "/invitation", "public", again=invitation_page, door="accept")
def accept_page(look: Sight) -> HttpReply:
    """Come in: who takes an invitation is logged in at once."""
    body = {name: look.said(name) for name in ("invitation", "name", "password")}
    person = look.value("accept", body=body)
    login = look.house.people.log_in(person["name"], body["password"])
    headers = {"x-margrave-scheme": "https"} if look.secure else {}
    return redirect(_HOME[person["role"]], **{"Set-Cookie": cookie(login.secret, LOGGED_IN, headers)})


@page("GET", "/tokens", "own")
def tokens_page(look: Sight) -> HttpReply:
    person = look.caller.person
    assert person is not None
    listed = look.value("tokens")["items"]
    status = 400 if look.problem else 200
    return shown("tokens.html", look, status, listed=listed, scopes=ALLOWED[person.role])


@page("POST", "/tokens", "own", again=tokens_page)
def new_token_page(look: Sight) -> HttpReply:
    body = {"scopes": list(look.every("scopes")), "days": look.said("days", "90")}
    if look.said("label"):
        body["label"] = look.said("label")
    made = look.value("new_token", body=body)
    notice = Notice("The new token, shown this once. Keep it as a password is kept.", made["token"])
    return tokens_page(replace(look, notice=notice))


@page("POST", "/tokens/{id}/revoke", "own", again=tokens_page)
def revoke_page(look: Sight) -> HttpReply:
    look.do("revoke_token", path={"id": look.path["id"]})
    return redirect("/tokens")
