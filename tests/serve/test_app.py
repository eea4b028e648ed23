"""A server as callers meet it: real processes on the loopback address, on both stores."""

import re
import time

import pytest

from margrave.ledger import Ledger
from margrave.ledger.check import verify
from margrave.ledger.records import RequestRecord
from margrave.serve.kept.collections import planned
from tests.serve.kept.test_collections import SPEC, lines_of
from tests.serve.served import DATASET, PASSWORD
from tests.session.conftest import CANARY

pytestmark = pytest.mark.slow
QUESTION = {"text": "people by region count", "budget": {"epsilon": "0.1"}}


def asked(client, key, body=QUESTION, dataset=DATASET):
    return client.post(f"/v1/datasets/{dataset}/questions", json=body, headers={"Idempotency-Key": key})


def settled(client, reply):
    return client.get(reply.headers["Location"], params={"wait": 60}).json()


@pytest.fixture
def ann(served, new_name):
    with served.client(served.person(new_name(), epsilon=1)) as client:
        yield client


@pytest.fixture
def carla(served, new_name):
    with served.client(served.person(new_name(), "curator")) as client:
        yield client


def test_from_the_first_curator_to_a_refusal(served, new_name):
    """Invitation, account, grant, login, explain, ask, answer, and no more when the grant is used up."""
    curator, analyst = new_name(), new_name()
    with served.client() as one, served.client() as two:
        told = {"invitation": served.invitation, "name": curator, "password": PASSWORD}
        assert one.post("/v1/invitation", json=told).json() == {"name": curator, "role": "curator"}
        assert one.post("/v1/invitation", json=told).status_code == 409
        login = one.post("/v1/login", json={"name": curator, "password": PASSWORD})
        cookie = login.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        guard = {"X-Margrave-Guard": login.json()["guard"]}
        account = {"name": analyst, "role": "analyst"}
        assert one.post("/v1/accounts", json=account).status_code == 403
        invited = one.post("/v1/accounts", json=account, headers=guard)
        grant = {"account": analyst, "dataset": DATASET, "amount": {"epsilon": "0.25"}}
        assert one.post("/v1/grants", json=grant, headers=guard).status_code == 201
        two.post("/v1/invitation", json={**told, "name": analyst, "invitation": invited.json()["invitation"]})
        login = two.post("/v1/login", json={"name": analyst, "password": PASSWORD})
        guard = {"X-Margrave-Guard": login.json()["guard"]}
        token = two.post("/v1/tokens", json={"scopes": ["read", "ask"]}, headers=guard).json()["token"]
        assert token.startswith("mgv_") and len(token) == 47
    with served.client(token) as ann:
        told = ann.post(f"/v1/datasets/{DATASET}/explain", json=QUESTION).json()
        assert told["affordable"] and told["cost"] == {"epsilon": "0.1"}
        found = settled(ann, asked(ann, "first-key"))
        assert found["state"] == "answered" and len(found["result"]["numbers"]) == 2
        left = {**QUESTION, "text": "visits by ward count"}
        assert settled(ann, asked(ann, "other-key", left))["state"] == "answered"
        refused = settled(ann, asked(ann, "third-key", {**QUESTION, "text": "people count"}))
        assert refused["state"] == "refused" and "the grant of" in refused["problem"]["detail"]
        assert [one["state"] for one in ann.get("/v1/questions").json()["items"]] == ["answered"] * 2 + ["refused"]


def test_the_same_key_is_the_same_request(ann, served):
    first = settled(ann, asked(ann, "a-key-of-mine"))
    again = asked(ann, "a-key-of-mine")
    assert again.status_code == 202 and again.json()["state"] == "answered"
    assert settled(ann, again) == first
    other = asked(ann, "a-key-of-mine", {**QUESTION, "text": "people count"})
    assert other.status_code == 409 and "another question" in other.json()["detail"]
    anew = settled(ann, asked(ann, "another-key"))
    assert anew["result"] == first["result"]
    spent = ann.get("/v1/me").json()["allowances"][DATASET][0]["spent"]
    assert spent == {"pure": {"1/10": 1}}


def test_nobody_sees_the_questions_of_others(ann, served, new_name):
    mine = asked(ann, "my-own-question")
    with served.client(served.person(new_name(), epsilon=1)) as bob:
        theirs, nothing = bob.get(mine.headers["Location"]), bob.get("/v1/questions/q0")
        assert theirs.status_code == nothing.status_code == 404
        assert theirs.json() == nothing.json()
        assert asked(bob, "my-own-question").json()["id"] != mine.json()["id"]
        assert bob.get("/v1/questions").json()["items"][0]["id"] != mine.json()["id"]


def test_each_role_does_its_own_and_no_more(served, ann, carla, new_name):
    assert ann.get("/v1/accounts").status_code == ann.get("/v1/access").status_code == 403
    assert asked(carla, "curators-key").status_code == 403
    with served.client() as nobody:
        assert nobody.get("/v1/me").status_code == nobody.get("/v1/requests").status_code == 401
        assert nobody.get("/v1/datasets").json()["items"] == [{"name": DATASET}]
        assert "declared" in nobody.get(f"/v1/datasets/{DATASET}").json()
    with served.client(served.person(new_name(), epsilon=1, scopes=("read",))) as reader:
        assert reader.post(f"/v1/datasets/{DATASET}/explain", json=QUESTION).status_code == 200
        assert asked(reader, "readers-key").status_code == 403
        grown = reader.post("/v1/tokens", json={"scopes": ["read", "ask"]})
        assert grown.status_code == 403 and "no token that may do more" in grown.json()["detail"]
        assert reader.post("/v1/tokens", json={"scopes": ["read"]}).status_code == 201


def test_a_revoked_token_and_a_disabled_person_come_in_no_more(served, carla, new_name):
    name = new_name()
    token = served.person(name, epsilon=1)
    with served.client(token) as client:
        made = client.post("/v1/tokens", json={"scopes": ["read"], "label": "short", "days": 1}).json()
        with served.client(made["token"]) as other:
            assert other.get("/v1/me").status_code == 200
            assert client.delete(f"/v1/tokens/{made['id']}").status_code == 200
            assert other.get("/v1/me").status_code == 401
        assert client.delete("/v1/tokens/none").status_code == 404
        assert carla.post(f"/v1/accounts/{name}/disable").status_code == 200
        assert client.get("/v1/me").status_code == 401


def test_an_unknown_name_cannot_be_told_from_a_wrong_password(served, new_name):
    name = new_name()
    served.person(name)
    with served.client() as client:
        wrong = client.post("/v1/login", json={"name": name, "password": "not the password"})
        unknown = client.post("/v1/login", json={"name": "nobody.of.this.name", "password": "not the password"})
    assert (wrong.status_code, wrong.json()) == (unknown.status_code, unknown.json())
    assert wrong.status_code == 409 and "set-cookie" not in wrong.headers


def test_problems_are_those_of_rfc_9457_and_say_what_to_do(ann):
    missing = ann.get("/v1/datasets/none@1")
    assert missing.headers["content-type"] == "application/problem+json"
    assert missing.json()["status"] == missing.status_code == 404
    bad = asked(ann, "bad-question", {"text": "people cuont", "budget": {"epsilon": "0.1"}})
    assert bad.status_code == 400 and bad.json()["type"] == "urn:margrave:bad-request"
    for body, word in [
        ({**QUESTION, "budget": {"epsilon": 0.1}}, "exact number as text"),
        ({**QUESTION, "budget": {"epsilon": "-1"}}, "exact number as text"),
        ({**QUESTION, "budget": {"epsilon": "0.0"}}, "greater than 0"),
        ({**QUESTION, "budget": {"epsilon": "1", "rho": "1"}}, "exactly one"),
        ({**QUESTION, "sql": "SELECT 1"}, "exactly one"),
        ({**QUESTION, "more": 1}, "no field"),
        ([], "an object"),
    ]:
        found = asked(ann, "bad-question", body)
        assert found.status_code == 400 and word in found.json()["detail"]
    assert ann.post(f"/v1/datasets/{DATASET}/questions", json=QUESTION).status_code == 400
    assert ann.post(f"/v1/datasets/{DATASET}/explain", content=b"{}").status_code == 415
    assert ann.post(f"/v1/datasets/{DATASET}/explain", json={"text": "x" * (1 << 20)}).status_code == 413
    assert ann.put("/v1/me").status_code == 405 and ann.get("/nothing").status_code == 404


def test_what_was_not_changed_is_not_sent_again(ann):
    first = ann.get(f"/v1/datasets/{DATASET}")
    again = ann.get(f"/v1/datasets/{DATASET}", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b""


def test_long_lists_come_in_pages(ann):
    for number in range(3):
        asked(ann, f"question-{number}", {**QUESTION, "text": f"people where age > {number} count"})
    first = ann.get("/v1/questions", params={"limit": 2}).json()
    rest = ann.get("/v1/questions", params={"limit": 2, "after": first["next"]}).json()
    assert len(first["items"]) == 2 and len(rest["items"]) == 1 and rest["next"] is None
    assert ann.get("/v1/questions", params={"limit": 0}).status_code == 400
    assert ann.get("/v1/questions", params={"other": 1}).status_code == 400


def test_states_are_told_as_events(ann):
    reply = asked(ann, "told-as-events")
    with ann.stream("GET", reply.headers["Location"] + "/events") as events:
        said = "".join(events.iter_text())
    assert re.findall(r"data: (\w+)", said) == ["waiting", "answered"]


def access_log(curator):
    log, after = [], 0
    while after is not None:
        found = curator.get("/v1/access", params={"after": after, "limit": 1000}).json()
        log, after = log + found["items"], found["next"]
    return log


def test_the_access_log_names_operations_and_no_values(ann, carla, served):
    until = time.monotonic() + 30
    settled(ann, asked(ann, "a-secret-key", {**QUESTION, "text": "people where age > 77 count"}))
    log = access_log(carla)
    while not any(one["operation"] == "ask" for one in log) and time.monotonic() < until:  # written a moment later
        time.sleep(0.1)
        log = access_log(carla)
    assert "ask" in {one["operation"] for one in log}
    assert set(log[0]) == {"time", "who", "address", "operation", "status"}
    text = str(log)
    assert not any(word in text for word in ("a-secret-key", "77", "mgv_", "region", CANARY))
    with Ledger.open(served.url) as ledger:
        for statement in ("DELETE FROM server_access", "UPDATE server_access SET status = 1"):
            with pytest.raises(Exception, match="append-only"), ledger.store.beside() as session:
                session.write_now(statement)


def test_curators_see_grants_requests_and_that_the_ledger_holds(ann, carla, served):
    settled(ann, asked(ann, "seen-by-curators"))
    me = ann.get("/v1/me").json()["name"]
    grants = [one for one in carla.get("/v1/grants").json()["items"] if one["account"] == me]
    assert [(one["amount"], one["spent_epsilon"]) for one in grants] == [({"epsilon": "1"}, "1/10")]
    assert carla.get("/v1/verification").json()["holds"]
    requests, after = [], 0
    while after is not None:
        found = carla.get("/v1/requests", params={"after": after, "limit": 7}).json()
        requests, after = requests + found["items"], found["next"]
    with Ledger.open(served.url) as ledger:
        assert {one["id"] for one in requests} == {one.id for one in ledger.records(RequestRecord)}
    assert carla.delete(f"/v1/grants/{me}/{DATASET}").status_code == 200
    assert settled(ann, asked(ann, "after-the-end", {**QUESTION, "text": "people count"}))["state"] == "refused"


def test_a_release_is_published_read_filtered_and_verified(ann, carla, served):
    body = {"text": "people tables(region)", "budget": {"epsilon": "0.5"}}
    found = settled(ann, asked(ann, "tables-for-all", body))
    assert found["state"] == "answered" and found["result"] is None
    me = ann.get("/v1/me").json()["name"]
    mine = [one for one in carla.get("/v1/requests", params={"limit": 1000}).json()["items"] if one["account"] == me]
    made = carla.post("/v1/releases", json={"request": mine[0]["id"]})
    assert made.status_code == 201
    place = f"/v1/releases/{made.json()['id']}"
    with served.client() as anybody:
        assert made.json()["id"] in [one["id"] for one in anybody.get("/v1/releases").json()["items"]]
        assert anybody.get(place).json()["tables"] == [["region"]]
        table = anybody.get(place + "/table", params={"attributes": "region"}).json()
        assert [one["region"] for one in table["rows"]] == ["north", "south"]
        assert all(isinstance(one["count"], str) for one in table["rows"])
        only = anybody.get(place + "/table", params={"attributes": "region", "where": "region:north"}).json()
        assert only["rows"] == table["rows"][:1]
        csv = anybody.get(place + "/table", params={"attributes": "region", "format": "csv"})
        assert csv.text.splitlines()[0] == "region,count,std_error,low,high"
        arrow = anybody.get(place + "/table", params={"attributes": "region", "format": "arrow"})
        import pyarrow as pa

        assert pa.ipc.open_stream(arrow.content).read_all().num_rows == 2
        share = anybody.get(place + "/estimate", params={"where": "region:north", "among": "region:north|south"})
        assert 0 < share.json()["low"] < share.json()["value"] < share.json()["high"] < 1
        less = anybody.get(place + "/estimate", params={"where": "region:north", "minus": "region:south"}).json()
        assert less["low"] < less["value"] < less["high"]
        assert anybody.get(place + "/verification").json()["holds"]
        assert anybody.get(place + "/bundle").content[:2] == b"PK"
        assert anybody.get(place + "/table", params={"attributes": "ward"}).status_code == 400
        assert anybody.get(place + "/estimate", params={"where": "region"}).status_code == 400
        assert anybody.get("/v1/releases/none").status_code == 404
        words = " ".join(anybody.get(f"/v1/datasets/{DATASET}/statement").json()["words"])
        assert "ε" in words and me not in words
    other = settled(ann, asked(ann, "not-a-release"))
    assert other["state"] == "answered"
    mine = [one for one in carla.get("/v1/requests", params={"limit": 1000}).json()["items"] if one["account"] == me]
    assert carla.post("/v1/releases", json={"request": mine[-1]["id"]}).status_code == 409


def test_the_page_of_an_invitation_runs_no_script(served):
    with served.client() as client:
        shown = client.get("/invitation", params={"code": "'><script>alert(1)</script>"})
        assert "<script>" not in shown.text and "default-src 'none'" in shown.headers["content-security-policy"]
        sent = {"invitation": "<script>x</script>", "name": "x", "password": PASSWORD}
        wrong = client.post("/invitation", data=sent)
        assert wrong.status_code == 409 and "<script>" not in wrong.text
        about = client.get("/v1/about").text
        assert "/v1/datasets/{dataset}/questions" in about and "<script>" not in about


def test_doors_open_slowly(served):
    """Whoever tries out secrets is soon told to wait."""
    told = {"name": "nobody.of.this.name", "password": "guess"}
    with served.client() as client:
        found = {client.post("/v1/login", json=told).status_code for _ in range(40)}
    assert 429 in found


def test_a_ledger_that_was_served_holds(served):
    time.sleep(0.1)
    with Ledger.open(served.url) as ledger:
        assert verify(ledger).beyond == ()


def test_respondents_send_reports_and_nobody_notes_who_they_are(served, carla, ann, new_name):
    name = new_name()
    assert carla.post("/v1/collections", json={"name": name, "spec": SPEC}).status_code == 201
    assert carla.post("/v1/collections", json={"name": name, "spec": "no = toml ="}).status_code == 400
    assert ann.post("/v1/collections", json={"name": name, "spec": SPEC}).status_code == 403
    lines = lines_of(planned(SPEC), 5)
    place = f"/v1/collections/{name}"
    with served.client() as anybody:
        assert name in [one["name"] for one in anybody.get("/v1/collections").json()["items"]]
        assert "protects" in anybody.get(place).json()
        sent = anybody.post(place + "/reports", json={"reports": [*lines, "nonsense"]}).json()
        assert sent == {"taken": 5, "refused": {"malformed": 1}}
        again = anybody.post(f"/collections/{name}", data={"report": lines[0]})
        assert again.status_code == 200 and "was taken" in again.text
        assert anybody.post(f"/collections/{name}", data={"report": "nonsense"}).status_code == 409
        assert "<script>" in anybody.get(f"/collections/{name}").text
        assert anybody.get(place + "/reports").status_code == 401
    assert carla.get(place + "/reports").text.splitlines() == ["plan,question,symbol,token", *sorted(lines)]
    log, after = [], 0
    while after is not None:
        found = carla.get("/v1/access", params={"after": after, "limit": 1000}).json()
        log, after = log + found["items"], found["next"]
    found = [one for one in log if one["operation"] in ("send_reports", "reported_page", "reporting_page")]
    assert found and all(one["who"] == one["address"] == "" for one in found)
