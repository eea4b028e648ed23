"""What curators do: people, grants, publishing, and looking after it all. Nobody sees raw data here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from margrave.budget.units import Budget
from margrave.errors import UsageError
from margrave.ledger.check import verify
from margrave.ledger.records import Account, Grants, RequestRecord
from margrave.ledger.replay import entry_of
from margrave.serve.kept.people import ROLES
from margrave.serve.operations.declared import PAGE, Call, House, HttpReply, operation
from margrave.serve.operations.releases import begins, publish
from margrave.serve.operations.shapes import BUDGET, DATASET, DAY, NAME, ExactText, FieldsShape, OneOf, TextShape
from margrave.session.builders import budget_of

_AMOUNT = FieldsShape(needed={}, optional={"epsilon": ExactText(), "rho": ExactText()}, one_of=("epsilon", "rho"))


@operation("GET", "/v1/accounts", "curate", "Who may come in, and every account of the ledger.")
def accounts(call: Call) -> HttpReply:
    house = call.house
    people = {one.name: one for one in house.people.every()}
    held = {one.name: one for one in house.ledger.records(Account)}
    items = []
    for name in sorted({**people, **held}):
        person, account = people.get(name), held.get(name)
        told: dict[str, Any] = {"name": name, "role": person.role if person else None}
        told["disabled"] = bool(person and person.disabled)
        items.append({**told, "organisation": account.organisation if account else None, "ledger": name in held})
    return HttpReply({"items": items, "next": None})


@operation(
    "POST",
    "/v1/accounts",
    "curate",
    "Invite somebody. An analyst gets an account of the ledger; the invitation is shown this once.",
    status=201,
    body=FieldsShape(needed={"name": NAME, "role": OneOf(ROLES)}, optional={"organisation": NAME}),
)
def invite(call: Call) -> HttpReply:
    house, wanted = call.house, call.body
    name, role = wanted["name"], wanted["role"]
    known = house.people.named(name)
    if known is not None and known.role != role:
        raise UsageError("somebody of this name has another role")
    if role == "analyst" and all(one.name != name for one in house.ledger.records(Account)):
        house.ledger.add_account(name, organisation=wanted.get("organisation"))
    return HttpReply({"name": name, "role": role, "invitation": house.people.invite(role, name)}, 201)


@operation("POST", "/v1/accounts/{name}/disable", "curate", "Let nobody in by a name any more.")
def disable(call: Call) -> HttpReply:
    if call.path["name"] == call.caller.name:
        raise UsageError("nobody shuts the door on themselves: let another curator do it")
    call.house.people.disable(call.path["name"])
    return HttpReply({"name": call.path["name"], "disabled": True})


@operation("GET", "/v1/grants", "curate", "What every account was granted, and spent.")
def grants(call: Call) -> HttpReply:
    items = [
        {
            "account": held.account,
            "dataset": held.pool,
            "amount": grant.amount.as_dict(),
            "starts": grant.starts,
            "expires": grant.expires,
            "spent_epsilon": str(grant.spent.epsilon),
            "spent_rho": str(grant.spent.rho),
        }
        for held in call.house.ledger.records(Grants)
        for grant in held.grants
    ]
    return HttpReply({"items": items, "next": None})


@operation(
    "POST",
    "/v1/grants",
    "curate",
    "Let an account spend on a data set.",
    status=201,
    body=FieldsShape(
        needed={"account": NAME, "dataset": DATASET, "amount": _AMOUNT},
        optional={"starts": DAY, "expires": DAY, "most": BUDGET},
    ),
)
def grant(call: Call) -> HttpReply:
    wanted = call.body
    most = _amount(wanted["most"]) if "most" in wanted else None
    call.house.ledger.grant(
        wanted["account"],
        wanted["dataset"],
        _amount(wanted["amount"]),
        starts=wanted.get("starts"),
        expires=wanted.get("expires"),
        most=most,
    )
    return HttpReply({"account": wanted["account"], "dataset": wanted["dataset"], "amount": wanted["amount"]}, 201)


def _amount(value: dict[str, str]) -> Budget:
    return budget_of(value.get("epsilon"), value.get("rho"))


@operation("DELETE", "/v1/grants/{account}/{dataset}", "curate", "End the grants of an account for a data set.")
def end_grant(call: Call) -> HttpReply:
    call.house.ledger.end_grant(call.path["account"], call.path["dataset"])
    return HttpReply({"account": call.path["account"], "dataset": call.path["dataset"], "ended": True})


@operation("GET", "/v1/accounts/{name}/tokens", "curate", "The tokens of somebody, without their secrets.")
def tokens_of(call: Call) -> HttpReply:
    return HttpReply({"items": [one.to_json() for one in call.house.tokens.of(call.path["name"])], "next": None})


@operation("GET", "/v1/requests", "curate", "Every request of the ledger.", query=PAGE)
def requests(call: Call) -> HttpReply:
    every = sorted(call.house.ledger.records(RequestRecord), key=lambda one: one.number)

    def found(after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
        some = [one for one in every if one.number > after][:limit]
        return list(zip([one.number for one in some], requests_json(call.house, some), strict=True))

    return HttpReply(call.page(found))


def requests_json(house: House, some: Sequence[RequestRecord]) -> list[dict[str, Any]]:
    """Requests as curators see them. ``tables``: whether the answer is tables, which can be released."""
    with house.ledger.store.reading() as session:
        titles = [entry_of(session, one.number)[0].body["title"] for one in some]
        tables = [one.status == "committed" and begins(session, one.answer) == b"PK" for one in some]
    return [
        {
            "id": one.id,
            "dataset": one.dataset,
            "account": one.account,
            "question": one.question,
            "title": title,
            "cost": one.cost.as_dict(),
            "entry": one.number,
            "status": one.status,
            "tables": is_table,
        }
        for one, title, is_table in zip(some, titles, tables, strict=True)
    ]


@operation("GET", "/v1/access", "curate", "Who did what and when, without values.", query=PAGE)
def access(call: Call) -> HttpReply:
    call.house.access.flush()
    visits = call.house.access.visits
    return HttpReply(call.page(lambda after, limit: [(number, one.to_json()) for number, one in visits(after, limit)]))


@operation("GET", "/v1/verification", "curate", "The whole ledger, recomputed from its journal.")
def check_ledger(call: Call) -> HttpReply:
    found = verify(call.house.ledger)
    return HttpReply({"holds": True, "entries": found.entries, "records": found.records, "answers": found.bundles})


@operation(
    "POST",
    "/v1/releases",
    "curate",
    "Publish what a request of the ledger was answered with.",
    status=201,
    body=FieldsShape(needed={"request": TextShape(128)}),
)
def publish_release(call: Call) -> HttpReply:
    return HttpReply(publish(call.house, call.body["request"]).to_json(), 201)
