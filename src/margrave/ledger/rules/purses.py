"""What setting apart for the parts of a partition, and spending from a purse, do to the records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margrave.budget.numbers import readable
from margrave.budget.units import Budget
from margrave.errors import RefusedError, UsageError
from margrave.ledger.amounts import read_budget
from margrave.ledger.journal import Entry
from margrave.ledger.purses import Escrow, Purse, escrow_cost, purse_name
from margrave.ledger.records import Question, RequestRecord
from margrave.ledger.rules import questions
from margrave.ledger.rules.charges import active_grants, tell_rows
from margrave.ledger.rules.lookup import answered, need_account, need_dataset, need_pool, need_reserved, requests
from margrave.ledger.view import View


def escrow(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """Charge a partition as a whole, once, and fill the purses of its parts. Nothing of it is ever given back."""
    data = need_dataset(view, body["dataset"])
    purses = tuple(read_budget(one) for one in body["purses"])
    notion = need_pool(view, data.pool).notion(data)
    if notion.facts:
        raise RefusedError("with public facts one change can touch several parts: there is no partition")
    if not escrow_cost(purses, body["parts"], notion.neighbours).within(read_budget(body["cost"])):
        raise UsageError("a partition costs what its dearest purses hold together")
    if view.get(Escrow, f"{data.name}/{body['question']}") is not None:
        raise RefusedError("the purses of this partition are filled already")
    questions.reserve(view, body, entry)
    view.put(Escrow(data.name, body["question"], body["account"], purses))


def spend(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """Charge a question to the purse of its part, which must have room, and to nothing else."""
    data, account = need_dataset(view, body["dataset"]), need_account(view, body["account"])
    cost, request, question = read_budget(body["cost"]), body["request"], body["question"]
    if view.get(RequestRecord, request) is not None:
        raise RefusedError(f"the request {request} was made before")
    name, _, part = str(body["purse"]).partition("/")
    held = view.get(Escrow, f"{data.name}/{name}")
    if held is None or held.account != account.name or not part.isdecimal() or int(part) >= len(held.purses):
        raise RefusedError(f"{account.name} has no such purse for {data.name}")
    tell_rows(view, data, body["count"])
    active_grants(view, account, data.pool, entry.time)
    asking = requests(view, data.name, question)
    first, new = answered(asking), not any(cost.within(one.cost) for one in asking)
    if new:
        _take(view, held, int(part), cost)
    known = view.get(Question, f"{data.name}/{question}") or Question(data.name, question)
    view.put(known._replace(requests=(*known.requests, request)))
    closed, answer = (None, None) if first is None else (first.closed, first.answer)
    touched = first is not None or known.drawn is not None
    asked = (request, data.name, account.name, question, cost, entry.number)
    view.put(RequestRecord(*asked, (), closed, answer, new, touched, purse=purse_name(name, int(part))))


def _take(view: View, held: Escrow, part: int, cost: Budget) -> None:
    purse = view.get(Purse, f"{held.dataset}/{purse_name(held.question, part)}") or Purse(
        held.dataset, held.question, part
    )
    limit, spent = held.purses[part], purse.spent.plus(cost)
    if not limit.holds(spent):
        if limit.parts.pure and not cost.parts.pure:
            raise RefusedError(f"the purse of this part is pure ({limit}), and a cost of {cost} is not")
        left = readable(max(limit.left(purse.spent), limit.amount * 0))
        raise RefusedError(f"the question costs {cost}; of the purse of its part, {limit}, only {left} is left")
    view.put(purse._replace(spent=spent))


def void(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """As `questions.void`; what is given back goes where it came from, and a partition is never given back."""
    asked = need_reserved(view, body["request"])
    if view.get(Escrow, f"{asked.dataset}/{asked.question}") is not None:
        raise RefusedError("what was set apart for a partition is not given back")
    questions.void(view, body, entry)
    if asked.purse and asked.cap and not any(one.cap for one in requests(view, asked.dataset, asked.question)):
        purse = view.get(Purse, f"{asked.dataset}/{asked.purse}")
        assert purse is not None
        view.put(purse._replace(spent=purse.spent.minus(asked.cost)))
