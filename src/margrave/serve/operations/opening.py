"""Registering data sets and having them opened. No request reaches data: a wish is noted, and others fulfil it."""

from __future__ import annotations

from typing import Any

from margrave.errors import RefusedError
from margrave.ledger.records import DataSet
from margrave.ledger.statements.statement import notion_words
from margrave.planning.questions.data_spec import DataSpec
from margrave.serve.kept.openings import MOST_SPEC, declared
from margrave.serve.operations.declared import PAGE, Call, HttpReply, operation, page_of
from margrave.serve.operations.problems import MISSING, ProblemError
from margrave.serve.operations.shapes import BUDGET, DATASET, FieldsShape, TextShape
from margrave.session.builders import budget_of

NOT_ALLOWED = (
    "this server may open no files: whoever runs it names the folder that it may open them from, as "
    "'margrave serve --sources FOLDER', or opens the data set on the machine itself, with 'margrave data open'"
)
_SPEC = TextShape(MOST_SPEC)
_OPENING = {
    "type": "object",
    "required": ["id", "dataset", "state", "created", "detail"],
    "properties": {"state": {"enum": ["waiting", "open", "failed"]}},
}


def described(data: DataSpec) -> dict[str, Any]:
    """A declaration, as it would be shown to everybody."""
    files = {table.name: table.source for table in data.tables}
    return {"declared": data.public_dict(), "protects": list(notion_words(data.notion)), "sources": files}


@operation(
    "POST",
    "/v1/declarations",
    "curate",
    "What a declaration of a data set says, and whom it protects. Nothing is registered.",
    body=FieldsShape(needed={"spec": _SPEC}),
)
def check_declaration(call: Call) -> HttpReply:
    return HttpReply(described(declared(call.body["spec"])))


@operation(
    "POST",
    "/v1/datasets",
    "curate",
    "Register a data set by its declaration as TOML, with a cap; a further version under the same cap leaves it out.",
    status=201,
    body=FieldsShape(needed={"name": DATASET, "spec": _SPEC}, optional={"cap": BUDGET, "most": BUDGET}),
)
def register(call: Call) -> HttpReply:
    wanted, data = call.body, declared(call.body["spec"])
    amounts = {
        name: budget_of(wanted[name].get("epsilon"), wanted[name].get("rho")) if name in wanted else None
        for name in ("cap", "most")
    }
    call.house.ledger.register(wanted["name"], data.notion, amounts["cap"], most=amounts["most"])
    return HttpReply({"name": wanted["name"], "protects": list(notion_words(data.notion))}, 201)


@operation(
    "POST",
    "/v1/datasets/{dataset}/opening",
    "curate",
    "Have a registered data set opened for questions, once, from files that this server may open.",
    status=202,
    body=FieldsShape(needed={"spec": _SPEC}),
    gives=_OPENING,
)
def open_dataset(call: Call) -> HttpReply:
    house, name = call.house, call.path["dataset"]
    if not house.opens:
        raise RefusedError(NOT_ALLOWED)
    if house.ledger.record(DataSet, name) is None:
        raise ProblemError(MISSING, "no data set of that name is registered")
    house.ledger.check_open(name, declared(call.body["spec"]).notion)
    return HttpReply(house.openings.put(name, call.body["spec"]).to_json(), 202)


@operation(
    "GET", "/v1/openings", "curate", "What became of data sets to be opened.", query=PAGE, gives=page_of(_OPENING)
)
def openings(call: Call) -> HttpReply:
    found = call.house.openings.of
    return HttpReply(call.page(lambda after, limit: [(number, one.to_json()) for number, one in found(after, limit)]))


@operation("GET", "/v1/sources", "curate", "The names of the files that this server may open.")
def sources(call: Call) -> HttpReply:
    return HttpReply({"items": call.house.openings.sources() if call.house.opens else [], "next": None})
