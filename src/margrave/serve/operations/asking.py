"""What analysts do: see what they may spend, have questions explained, ask them, and fetch the answers."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from margrave.errors import UsageError
from margrave.files.content import Content, reader_of
from margrave.ledger.records import Opened
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import Question, question_of
from margrave.planning.questions.language.aggregates import Aggregate
from margrave.planning.questions.language.form import read_as
from margrave.planning.questions.language.sql import read_sql
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.price.mechanisms import Price
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.batch import Batch
from margrave.planning.questions.several.partition import PartPurse
from margrave.serve.kept.jobs import Job, request_id
from margrave.serve.kept.tables import moment
from margrave.serve.operations.declared import PAGE, Call, House, HttpReply, operation, page_of
from margrave.serve.operations.parting import AccountPurses, allowance_json
from margrave.serve.operations.problems import FORBIDDEN, MISSING, ProblemError
from margrave.serve.operations.shapes import (
    BUDGET,
    KEY,
    MEASURED,
    ONE_QUESTION,
    PURSE,
    FieldsShape,
    ListShape,
    NodeShape,
    TextShape,
    WholeNumber,
)
from margrave.session.builders import budget_of
from margrave.session.explanation import BatchExplanation, Explanation
from margrave.session.parts import purse_left

_KEY_HEADER = "idempotency-key"
_TOGETHER = {"together": ListShape(ONE_QUESTION), "measured": ListShape(MEASURED), "wanted": ListShape(NodeShape())}
QUESTION = FieldsShape(
    optional={**ONE_QUESTION.optional, **_TOGETHER, "budget": BUDGET, "purse": PURSE},
    one_of=("text", "sql", "asked", "together", "measured"),
)
_JOB = {
    "type": "object",
    "required": ["id", "dataset", "state", "created"],
    "properties": {
        "id": {"type": "string"},
        "dataset": {"type": "string"},
        "state": {"enum": ["waiting", "answered", "refused", "fault"]},
        "created": {"type": "string"},
        "digest": {"type": "string"},
        "result": {"type": ["object", "null"]},
        "problem": {"type": "object"},
    },
}


@operation("GET", "/v1/me", "own", "Who you are, and what you may still spend.")
def me(call: Call) -> HttpReply:
    house, person = call.house, call.caller
    datasets = [one.dataset for one in house.ledger.records(Opened)]
    left = {name: [allowance_json(one) for one in house.allowed(person.name, name)] for name in datasets}
    return HttpReply({"name": person.name, "role": person.role, "allowances": left})


def asked_of(call: Call) -> Question | Batch:
    """The question, or the batch of questions, that a call asks, with the purse that pays for it."""
    body, data = call.body, call.house.opened_data(call.path["dataset"])
    nodes, priced = _priced(body, data)
    return priced(AccountPurses.of(call).paying(nodes, priced, body.get("purse")))


def _priced(body: dict[str, Any], data: DataSpec) -> tuple[tuple[Aggregate, ...], Callable[..., Question | Batch]]:
    """What is asked, and how it is priced if a purse pays for it, or none."""
    if "measured" in body:
        if "budget" in body:
            raise UsageError("each measured question has its own budget: leave out that of all")
        pairs = [(_node(one, data), _budget(one["budget"])) for one in body["measured"]]
        wanted = tuple(read_as(one, Aggregate) for one in body.get("wanted", ()))

        def measured(purse: PartPurse | None) -> Batch:
            return Batch(tuple(PricedQuestion(data, node, budget, purse) for node, budget in pairs), wanted)

        return tuple(node for node, _ in pairs), measured
    if "wanted" in body or "budget" not in body:
        raise UsageError('give a budget, {"epsilon": "0.1"} or {"rho": "0.01"}; wanted goes with measured')
    budget = _budget(body["budget"])
    if "together" in body:
        nodes = tuple(_node(one, data) for one in body["together"])
        return nodes, lambda purse: Batch.shared(data, nodes, budget, purse)
    node = _node(body, data)
    return (node,), lambda purse: question_of(data, node, budget, purse)


def _budget(value: dict[str, str]) -> Price:
    return budget_of(value.get("epsilon"), value.get("rho"))


def _node(one: dict[str, Any], data: DataSpec) -> Aggregate:
    if "text" in one:
        found = parsed(one["text"], data)
        if not isinstance(found, Aggregate):
            raise UsageError("a partition is opened, and its parts are asked: ask one of them")
        return found
    return read_sql(one["sql"], data) if "sql" in one else read_as(one["asked"], Aggregate)


@operation(
    "POST",
    "/v1/datasets/{dataset}/explain",
    "read",
    "What a question would cost and be worth. Nothing is charged and no data is opened.",
    body=QUESTION,
)
def explain(call: Call) -> HttpReply:
    house, dataset = call.house, call.path["dataset"]
    asked = asked_of(call)
    left = house.allowed(call.caller.name, dataset)
    if asked.purse is not None:
        left = purse_left(AccountPurses.of(call), asked.purse)
    told = BatchExplanation(asked, left) if isinstance(asked, Batch) else Explanation(asked, left)
    return HttpReply({**told.to_json(), "said": repr(told), "digest": asked.question})


@operation(
    "POST",
    "/v1/datasets/{dataset}/questions",
    "ask",
    "Ask, and pay. The same key is the same request: sent again, it is neither asked nor charged again.",
    status=202,
    body=QUESTION,
    headers={_KEY_HEADER: KEY},
    gives=_JOB,
)
def ask(call: Call) -> HttpReply:
    house, dataset, account = call.house, call.path["dataset"], call.caller.name
    asked = asked_of(call)
    identity = request_id(account, call.headers[_KEY_HEADER])
    job = house.jobs.put(identity, account, dataset, asked.asked_json())
    if job.state == "fault":
        house.jobs.again(identity)
    return HttpReply(job_json(job), 202, {"Location": f"/v1/questions/{job.id}"})


def job_json(job: Job) -> dict[str, Any]:
    """A job as its account sees it."""
    told: dict[str, Any] = {"id": job.id, "dataset": job.dataset, "state": job.state, "created": moment(job.created)}
    if job.result is None:
        return told
    if job.state != "answered":
        return {**told, "problem": json.loads(job.result)}
    readable = job.result[:1] == b"{"
    return {
        **told,
        "digest": sha256(job.result).hexdigest(),
        "result": json.loads(job.result) if readable else None,
    }


@operation("GET", "/v1/questions", "read", "Your questions, the oldest first.", query=PAGE, gives=page_of(_JOB))
def questions(call: Call) -> HttpReply:
    def found(after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
        return [(number, job_json(job)) for number, job in call.house.jobs.of(call.caller.name, after, limit)]

    return HttpReply(call.page(found))


@operation(
    "GET",
    "/v1/questions/{id}",
    "read",
    "What became of a question; with wait, after so many seconds at most.",
    query={"wait": WholeNumber(0, 60)},
    gives=_JOB,
    brief=True,
)
def question(call: Call) -> HttpReply:
    return HttpReply(job_json(_own(call)))


@operation(
    "GET",
    "/v1/questions/{id}/content",
    "read",
    "The stored answer, byte for byte: JSON, or the bundle of tables.",
    media=("application/octet-stream",),
)
def content(call: Call) -> HttpReply:
    job = _own(call)
    if job.state != "answered" or job.result is None:
        raise ProblemError(MISSING, "the question has no answer yet, or was refused")
    return HttpReply(content=job.result, media="application/octet-stream")


def _own(call: Call) -> Job:
    return own_job(call.house, call.caller.name, call.path["id"])


def own_job(house: House, account: str, identity: str) -> Job:
    """The job of an account: of those of others nobody is told, not even that they are there."""
    job = house.jobs.found(identity, account)
    if job is None:
        raise ProblemError(MISSING, "you have asked no such question")
    return job


@operation("GET", "/v1/datasets/{dataset}/answers", "read", "Everything you were ever answered about a data set.")
def answers(call: Call) -> HttpReply:
    call.house.opened_data(call.path["dataset"])
    # The ledger has an answer as soon as it is drawn, which may depend on the data; it is told when its class ends.
    waiting = call.house.jobs.waiting(call.caller.name)
    found = call.house.ledger.answers_of(call.caller.name, call.path["dataset"], without=waiting)
    return HttpReply({"answers": [b64encode(_bytes(one)).decode("ascii") for one in found]})


def _bytes(content: Content) -> bytes:
    with reader_of(content) as file:
        return file.read()


_TOKEN = FieldsShape(
    needed={"scopes": ListShape(TextShape(16), 1, 3)}, optional={"label": TextShape(100), "days": WholeNumber(1, 366)}
)


@operation("GET", "/v1/tokens", "own", "Your tokens, without their secrets.")
def tokens(call: Call) -> HttpReply:
    return HttpReply({"items": [one.to_json() for one in call.house.tokens.of(call.caller.name)], "next": None})


@operation("POST", "/v1/tokens", "own", "A new token. Its secret is shown this once.", status=201, body=_TOKEN)
def new_token(call: Call) -> HttpReply:
    wanted = call.body
    if not set(wanted["scopes"]) <= set(call.scopes):
        raise ProblemError(FORBIDDEN, "a token makes no token that may do more than itself")
    token, secret = call.house.tokens.make(
        call.caller, wanted["scopes"], label=wanted.get("label", ""), days=wanted.get("days", 90)
    )
    return HttpReply({**token.to_json(), "token": secret}, 201)


@operation("DELETE", "/v1/tokens/{id}", "own", "Revoke a token: your own, or as a curator any.")
def revoke_token(call: Call) -> HttpReply:
    try:
        call.house.tokens.revoke(call.path["id"], None if "curate" in call.scopes else call.caller.name)
    except LookupError:
        raise ProblemError(MISSING, "you have no such token") from None
    return HttpReply({"revoked": True})
