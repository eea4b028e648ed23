"""What requests do to the records since a question is paid for once (rules 2), and when they are refused.

A question is paid for once from the cap of its data set, and once by each account that asks it and by its organisation,
whatever becomes of it. Nothing here depends on whether it was answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margrave.errors import RefusedError
from margrave.ledger.amounts import read_budget
from margrave.ledger.journal import Entry
from margrave.ledger.records import Question, RequestRecord
from margrave.ledger.rules.charges import charge_cap, pay, refund_cap, refund_grant, tell_rows
from margrave.ledger.rules.lookup import (
    answered,
    need_account,
    need_dataset,
    need_question,
    need_reserved,
    payers,
    requests,
)
from margrave.ledger.values import check_digest
from margrave.ledger.view import View


def reserve(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """Charge a question to whoever has not paid for it, at this cost or a higher one."""
    data, account = need_dataset(view, body["dataset"]), need_account(view, body["account"])
    cost, request, question = read_budget(body["cost"]), body["request"], body["question"]
    if view.get(RequestRecord, request) is not None:
        raise RefusedError(f"the request {request} was made before")
    if "count" in body:  # the first entries under these rules do not say how rows are weighed
        tell_rows(view, data, body["count"])
    asking = requests(view, data.name, question)
    before = [one for one in asking if cost.within(one.cost)]
    first, new = answered(asking), not any(one.cap for one in before)
    if new:
        charge_cap(view, data, cost)
    paid = pay(view, account, data.pool, cost, entry.time, {payer for one in before for payer, _ in one.paid})
    known = view.get(Question, f"{data.name}/{question}") or Question(data.name, question)
    view.put(Question(data.name, question, (*known.requests, request), known.drawn))
    closed, answer = (None, None) if first is None else (first.closed, first.answer)
    touched = first is not None or known.drawn is not None
    asked = (request, data.name, account.name, question, cost, entry.number)
    view.put(RequestRecord(*asked, paid, closed, answer, new, touched))


def drawn(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """Keep the noisy answers to a question, or give those that are kept to another request that asks it."""
    asked = need_reserved(view, body["request"])
    check_digest("the digest of noisy answers", body["answers"])
    if answered(requests(view, asked.dataset, asked.question)) is not None:
        raise RefusedError(f"the question of the request {asked.id} is answered already")
    question = need_question(view, asked)
    if question.drawn is None:
        view.put(question._replace(drawn=entry.number))
    elif asked.touched:
        raise RefusedError(f"noisy answers to the question of the request {asked.id} are kept already")
    view.put(asked._replace(touched=True))


def commit(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """Close a request with the answer to its question; its noisy answers, which are part of that, need not be kept."""
    asked = need_reserved(view, body["request"])
    first = answered(requests(view, asked.dataset, asked.question))
    answer = asked.number if first is None else first.answer
    question = need_question(view, asked)
    if question.drawn is not None:
        view.put(question._replace(drawn=None))
    view.put(asked.close(entry.number, answer, touched=True))


def failed(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """Note that a request failed once data may have been touched. It stays what it was, and so does its charge."""
    view.put(need_reserved(view, body["request"])._replace(touched=True))


def void(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """Give up a request for which no data was touched, and give back what nobody else has to pay now."""
    asked = need_reserved(view, body["request"])
    if body["charged"] or asked.touched:
        raise RefusedError(f"data may have been touched for the request {asked.id}: it stays, and so does its charge")
    others = [one for one in requests(view, asked.dataset, asked.question) if one.id != asked.id]
    view.put(need_question(view, asked)._replace(requests=tuple(one.id for one in others)))
    view.put(asked.close(entry.number))
    _give_back(view, asked, [one.id for one in others if one.cost.within(asked.cost)])


def _give_back(view: View, asked: RequestRecord, others: list[str]) -> None:
    """Refund each part of a charge that no other request relies on; where one does, it is that one's from now on."""
    pool = need_dataset(view, asked.dataset).pool
    heirs = [one for one in _all(view, others) if not one.cap]
    if asked.cap and heirs:
        view.put(heirs[0]._replace(cap=True))
    elif asked.cap and not asked.purse:
        refund_cap(view, pool, asked.cost)
    for payer, index in asked.paid:
        heirs = [one for one in _all(view, others) if _relies(view, one, payer)]
        if heirs:
            view.put(heirs[0]._replace(paid=(*heirs[0].paid, (payer, index))))
        else:
            refund_grant(view, pool, payer, index, asked.cost)


def _all(view: View, ids: list[str]) -> list[RequestRecord]:
    return [one for one in view.all(RequestRecord, ids) if one is not None]


def _relies(view: View, asked: RequestRecord, payer: str) -> bool:
    """Whether a request was not charged to an account because that one had paid."""
    return payer in payers(need_account(view, asked.account)) and all(payer != paid for paid, _ in asked.paid)
