"""What a request says, what was asked before, and what the ledger keeps for it: noisy answers, then the answer."""

from __future__ import annotations

from collections.abc import Mapping
from os import urandom
from time import time_ns
from typing import Any

from margrave.errors import RefusedError, UsageError, VerificationError
from margrave.files.content import Content, digest_of
from margrave.ledger.amounts import budget_json
from margrave.ledger.records import Question, RequestRecord
from margrave.ledger.replay import entry_of
from margrave.ledger.rules.lookup import requests
from margrave.ledger.stores.store import Transaction
from margrave.ledger.values import Request
from margrave.ledger.view import View


def earlier(view: View, request: Request) -> RequestRecord | None:
    """The request of the same account that this one takes up; None if the account has not asked this before."""
    dataset = str(request.dataset)
    asked = view.get(RequestRecord, request.id) if request.id is not None else None
    if asked is None:
        asking = reversed(requests(view, dataset, request.question))
        mine = (one for one in asking if one.account == request.account and request.cost.within(one.cost))
        return next(mine, None)
    same = (asked.dataset, asked.account, asked.question) == (dataset, request.account, request.question)
    if not same or not request.cost.within(asked.cost):
        raise UsageError(f"the request id {asked.id} was used for another question: a new question needs a new id")
    if asked.status == "void":
        raise RefusedError(f"the request {asked.id} was given up: use a new id")
    return asked


def stored_answer(session: Transaction, asked: RequestRecord) -> tuple[Mapping[str, Any], Content]:
    """What the commit of a request says, and the stored answer."""
    body = entry_of(session, asked.closed)[0].body
    content = session.answer(asked.answer) if asked.answer is not None else b""
    if digest_of(content) != body["bundle"]:
        raise VerificationError(f"the stored answer to the request {asked.id} is missing or was changed")
    return body, content


def drawn_answers(session: Transaction, question: Question) -> tuple[str, Content] | None:
    """The SHA-256 and the content of the noisy answers that are kept for a question; None where there are none."""
    if question.drawn is None:
        return None
    digest, content = entry_of(session, question.drawn)[0].body["answers"], session.answer(question.drawn)
    if digest_of(content) != digest:
        raise VerificationError(f"the noisy answers kept by entry {question.drawn} are missing or were changed")
    return digest, content


def reserving(request: Request, identity: str) -> dict[str, Any]:
    """What the entry that reserves a request says."""
    body: dict[str, Any] = {
        "request": identity,
        "dataset": str(request.dataset),
        "account": request.account,
        "question": request.question,
        "cost": budget_json(request.cost),
        "count": request.notion.count,
        "title": request.title,
        "mechanisms": list(request.mechanisms),
        "exact": [list(margin) for margin in request.exact],
    }
    if request.purse:
        body["purse"] = request.purse
    if request.purses:
        body |= {"parts": request.parts, "purses": [budget_json(one) for one in request.purses]}
    return body | {"disclosed": list(request.disclosed)} if request.disclosed else body


def new_id() -> str:
    """An id that nobody can guess, in the order of time, which keeps neighbours in time together in the store."""
    return f"r{time_ns() // 10**6:013}-{urandom(8).hex()}"
