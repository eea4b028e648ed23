"""What is written in the journal, in sentences for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from margrave.budget.units import Budget
from margrave.ledger.amounts import read_limit
from margrave.ledger.journal import Entry

_DIGITS = 6


def brief(budget: Budget | Mapping[str, str] | None) -> str:
    """A budget, perhaps as JSON has it, in so many digits that sums can be compared."""
    if budget is None:
        return "nothing"
    return (read_limit(budget) if isinstance(budget, Mapping) else budget).brief(_DIGITS)


def sentence(entry: Entry) -> str:
    """What an entry did, in words."""
    return _TOLD[entry.kind](entry.body)


def _added(body: Mapping[str, Any]) -> str:
    kind = "the organisation" if body["type"] == "organisation" else "the analyst"
    member = f", a member of {body['organisation']}," if body["organisation"] else ""
    return f"An account for {kind} {body['name']}{member} was added."


def _reserved(body: Mapping[str, Any]) -> str:
    named = f" ({body['title']})" if body["title"] else ""
    return (
        f"{body['account']} asked {body['dataset']} {len(body['mechanisms'])} noisy questions{named} at a "
        f"price of {brief(body['cost'])}, before the data was opened. Request {body['request']}."
    )


def _failed(body: Mapping[str, Any]) -> str:
    return (
        f"The request {body['request']} failed{_why(body)}; data may have been touched, so its charge stays, and "
        "asking again goes on with it."
    )


def _given_up(body: Mapping[str, Any]) -> str:
    stays = "data may have been touched, so its charge stays" if body["charged"] else "its charge was given back"
    return f"The request {body['request']} was given up{_why(body)}; {stays}."


def _why(body: Mapping[str, Any]) -> str:
    return f" ({body['reason']})" if body["reason"] else ""


def _registered(body: Mapping[str, Any]) -> str:
    people = "about people in no other version, with a cap of its own" if body["disjoint"] else "under one cap by name"
    cap = f" of {brief(body['cap'])} in all" if body["cap"] else ", that of its earlier versions"
    most = f", at most {brief(body['most'])} for one request" if body["most"] else ""
    return f"The data set {body['name']}@{body['version']} was registered, {people}{cap}{most}."


def _granted(body: Mapping[str, Any]) -> str:
    since = f" from {body['starts']}" if body["starts"] else ""
    until = f" until {body['expires']}" if body["expires"] else ""
    most = f", at most {brief(body['most'])} for one request" if body["most"] else ""
    return f"{body['account']} may spend {brief(body['amount'])} on {body['dataset']}{since}{until}{most}."


_TOLD: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "open": lambda body: f"The ledger {body['ledger']} was opened.",
    "rules": lambda body: (
        f"From here on rules {body['rules']} hold; earlier entries are judged by those of their time."
    ),
    "clock": lambda body: (
        "The clock was set back: earlier entries have too late a date. What had ended by then stays ended."
    ),
    "key": lambda body: f"Releases are signed with the key {body['key']} from here on.",
    "dataset": _registered,
    "opened": lambda body: f"{body['dataset']} was opened for questions; its recoded rows are in {body['place']}.",
    "count": lambda body: (
        f"Each row of {body['dataset']} was declared to stand for as many records as its column {body['column']} says."
    ),
    "account": _added,
    "grant": _granted,
    "end": lambda body: f"The grant of {body['account']} from {body['dataset']} was ended.",
    "reserve": _reserved,
    "escrow": lambda body: (
        f"{body['account']} set {brief(body['cost'])} apart for the {len(body['purses'])} parts of {body['title']} in "
        f"{body['dataset']}, a purse for each. Request {body['request']}."
    ),
    "spend": lambda body: f"From a purse: {_reserved(body)}",
    "drawn": lambda body: f"Noisy answers to the request {body['request']} are kept as {body['answers'][:12]}….",
    "failed": _failed,
    "commit": lambda body: f"The request {body['request']} was answered; its bundle is kept as {body['bundle'][:12]}….",
    "void": _given_up,
}
"""What an entry of each kind did."""
