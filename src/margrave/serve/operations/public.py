"""What everybody may do: read what is public, come in, and go out again."""

from __future__ import annotations

from collections.abc import Mapping

from margrave.errors import UsageError
from margrave.ledger.records import DataSet, Opened
from margrave.ledger.statements.statement import notion_words, statement
from margrave.serve.kept.people import LOGGED_IN, MOST_PASSWORD
from margrave.serve.operations.declared import PAGE, Call, HttpReply, operation, page_of
from margrave.serve.operations.problems import MISSING, ProblemError
from margrave.serve.operations.releases import ARROW, CSV, bundle_bytes, published, release_named, table_reply
from margrave.serve.operations.shapes import NAME, FieldsShape, OneOf, TextShape
from margrave.version import __version__

COOKIE = "margrave"
_PASSWORD = TextShape(MOST_PASSWORD)
_SECRET = TextShape(100)
_ATTRIBUTES = TextShape(2_000)
_WHERE = TextShape(4_000)


@operation("GET", "/v1", "public", "What this is.")
def about(call: Call) -> HttpReply:
    return HttpReply({"margrave": __version__, "openapi": "/v1/openapi.json", "page": "/v1/about"})


@operation("GET", "/v1/datasets", "public", "The data sets that can be asked about.", query=PAGE)
def datasets(call: Call) -> HttpReply:
    every = sorted(one.dataset for one in call.house.ledger.records(Opened))
    found = list(enumerate(({"name": name} for name in every), start=1))
    return HttpReply(call.page(lambda after, limit: found[after : after + limit]))


@operation("GET", "/v1/datasets/{dataset}", "public", "The codebook of a data set, and whom it protects.")
def dataset(call: Call) -> HttpReply:
    name = call.path["dataset"]
    data = call.house.opened_data(name)
    return HttpReply({"name": name, "declared": data.public_dict(), "protects": list(notion_words(data.notion))})


@operation(
    "GET", "/v1/datasets/{dataset}/statement", "public", "The public statement of all that was charged for a data set."
)
def public_statement(call: Call) -> HttpReply:
    house, name = call.house, call.path["dataset"]
    if house.ledger.record(DataSet, name) is None:
        raise ProblemError(MISSING, "there is no data set of that name")
    # It reads the whole journal, and anybody may ask for it: so once for each entry of the public journal.
    head = house.ledger.public_head
    known = house.statements.get(name)
    if known is None or known[0] != head:
        found = statement(house.ledger, name)
        known = house.statements[name] = head, {**found.to_json(), "words": list(found.lines())}
    return HttpReply(known[1])


@operation(
    "GET",
    "/v1/releases",
    "public",
    "What is released.",
    query=PAGE,
    gives=page_of({"type": "object", "required": ["id", "dataset", "published"]}),
)
def releases(call: Call) -> HttpReply:
    found = list(enumerate((one.to_json() for one in published(call.house)), start=1))
    return HttpReply(call.page(lambda after, limit: found[after : after + limit]))


@operation("GET", "/v1/releases/{id}", "public", "A release: its tables, its guarantee and where it was charged.")
def release(call: Call) -> HttpReply:
    return HttpReply(release_named(call.house, call.path["id"]).described())


@operation(
    "GET", "/v1/releases/{id}/bundle", "public", "The whole bundle, to verify it yourself.", media=("application/zip",)
)
def bundle(call: Call) -> HttpReply:
    return HttpReply(content=bundle_bytes(call.house, call.path["id"]), media="application/zip")


@operation(
    "GET",
    "/v1/releases/{id}/table",
    "public",
    "The table of some attributes, their names separated by commas.",
    query={"attributes": _ATTRIBUTES, "where": _WHERE, "format": OneOf(("json", "csv", "arrow"))},
    media=("application/json", CSV, ARROW),
)
def table(call: Call) -> HttpReply:
    found = release_named(call.house, call.path["id"])
    names = [name for name in call.query.get("attributes", "").split(",") if name]
    return table_reply(found, names, meant(call.query.get("where", "")), call.query.get("format", "json"))


@operation(
    "GET",
    "/v1/releases/{id}/estimate",
    "public",
    "A sum of cells, a difference or a share, with its interval: where=smoke:yes,pressure:high|low.",
    query={"where": _WHERE, "minus": _WHERE, "among": _WHERE},
)
def estimate(call: Call) -> HttpReply:
    found = release_named(call.house, call.path["id"])
    asked = {name: meant(text) for name, text in call.query.items()}
    if "where" not in asked:
        raise UsageError("say what is meant: where=smoke:yes")
    return HttpReply(found.estimate(**asked))


def meant(text: str) -> dict[str, list[str]]:
    """What ``smoke:yes,pressure:high|low`` means: some values of some attributes."""
    found: dict[str, list[str]] = {}
    for part in filter(None, text.split(",")):
        name, colon, values = part.partition(":")
        if not colon or not name or not values or name in found:
            raise UsageError("write what is meant as attribute:value|value,attribute:value, each attribute once")
        found[name] = values.split("|")
    return found


@operation("GET", "/v1/releases/{id}/verification", "public", "The bundle checked against itself, here and now.")
def verification(call: Call) -> HttpReply:
    return HttpReply(release_named(call.house, call.path["id"]).verified(bundle_bytes(call.house, call.path["id"])))


@operation(
    "POST",
    "/v1/invitation",
    "public",
    "Come in by an invitation, and set a password.",
    status=201,
    body=FieldsShape(needed={"invitation": _SECRET, "name": NAME, "password": _PASSWORD}),
)
def accept(call: Call) -> HttpReply:
    person = call.house.people.accept(call.body["invitation"], call.body["name"], call.body["password"])
    return HttpReply({"name": person.name, "role": person.role}, 201)


@operation(
    "POST",
    "/v1/login",
    "public",
    "Log in: a cookie, and the guard that every change must send as X-Margrave-Guard.",
    body=FieldsShape(needed={"name": NAME, "password": _PASSWORD}),
)
def log_in(call: Call) -> HttpReply:
    login = call.house.people.log_in(call.body["name"], call.body["password"])
    told = {"name": login.person.name, "role": login.person.role, "guard": login.guard}
    return HttpReply(told, headers={"Set-Cookie": cookie(login.secret, LOGGED_IN, call.headers)})


@operation("POST", "/v1/logout", "own", "Log out.")
def log_out(call: Call) -> HttpReply:
    if call.secret:
        call.house.people.log_out(call.secret)
    return HttpReply({"logged_in": False}, headers={"Set-Cookie": cookie("", 0, call.headers)})


def cookie(secret: str, seconds: int, headers: Mapping[str, str]) -> str:
    """The cookie of a login: for this server alone, out of reach of scripts, never sent from other sites."""
    secure = "; Secure" if headers.get("x-margrave-scheme") == "https" else ""
    return f"{COOKIE}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
