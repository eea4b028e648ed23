"""Local collections over HTTP: a curator opens one, respondents send reports, and the curator fetches them."""

from __future__ import annotations

from margrave.local.page import page_html
from margrave.serve.kept.collections import HEADER, LocalCollection
from margrave.serve.operations.declared import Call, House, HttpReply, operation
from margrave.serve.operations.problems import MISSING, ProblemError
from margrave.serve.operations.shapes import NAME, FieldsShape, ListShape, TextShape

CSV = "text/csv"
MOST_REPORTS = 1_000
_REPORT = TextShape(1 << 14)


@operation(
    "POST",
    "/v1/collections",
    "curate",
    "Take reports of a local collection from now on, by its spec as TOML.",
    status=201,
    body=FieldsShape(needed={"name": NAME, "spec": TextShape(200_000)}),
)
def open_collection(call: Call) -> HttpReply:
    return HttpReply(_told(call.house.collections.open(call.body["name"], call.body["spec"])), 201)


def _told(one: LocalCollection) -> dict[str, object]:
    return {"name": one.name, "title": one.plan.title, "plan": one.plan.hash}


@operation("GET", "/v1/collections", "public", "The local collections that take reports.")
def collections(call: Call) -> HttpReply:
    return HttpReply({"items": [_told(one) for one in call.house.collections.every()], "next": None})


@operation("GET", "/v1/collections/{name}", "public", "A local collection: its spec, and what protects a respondent.")
def collection(call: Call) -> HttpReply:
    one = collection_named(call.house, call.path["name"])
    return HttpReply({**_told(one), "spec": one.spec, "protects": list(one.plan.words())})


def collection_named(house: House, name: str) -> LocalCollection:
    """A collection by its name."""
    found = house.collections.named(name)
    if found is None:
        raise ProblemError(MISSING, "there is no collection of that name")
    return found


def respondent_page(house: House, name: str, address: str) -> str:
    """The page on which a respondent's own device makes her report; it is sent to an address of this server."""
    return page_html(collection_named(house, name).plan, address)


@operation(
    "POST",
    "/v1/collections/{name}/reports",
    "public",
    "Send reports. Who sends them is not noted; one that is sent again is the same report.",
    body=FieldsShape(needed={"reports": ListShape(_REPORT, 1, MOST_REPORTS)}),
    nameless=True,
)
def send_reports(call: Call) -> HttpReply:
    one = collection_named(call.house, call.path["name"])
    refused = call.house.collections.take(one, call.body["reports"])
    return HttpReply({"taken": len(call.body["reports"]) - sum(refused.values()), "refused": refused})


@operation(
    "GET",
    "/v1/collections/{name}/reports",
    "curate",
    "All reports of a local collection, for `margrave local collect`, in an order that tells nothing.",
    media=(CSV,),
)
def reports(call: Call) -> HttpReply:
    one = collection_named(call.house, call.path["name"])
    lines = [HEADER, *call.house.collections.reports(one.name)]
    return HttpReply(content="".join(f"{line}\n" for line in lines).encode(), media=CSV)
