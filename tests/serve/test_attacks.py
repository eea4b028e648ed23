"""What an attacker tried at the door, in one process: each of these told something, or kept others out, once."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product

import httpx
import pytest
import uvicorn

from margrave.budget.units import PureDP
from margrave.errors import RefusedError
from margrave.ledger import Ledger
from margrave.ledger.records import Opened
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from margrave.serve import app as app_module
from margrave.serve import connections, watching
from margrave.serve.answering import Slot, hold_slot
from margrave.serve.app import Rates, Worker
from margrave.serve.connections import PatientProtocol
from margrave.serve.kept import people as people_module
from margrave.serve.kept.jobs import asked_in
from margrave.serve.kept.people import PeopleTable
from margrave.serve.kept.tokens import ALLOWED, Tokens
from margrave.serve.operations.declared import House
from margrave.serve.operations.public import COOKIE
from margrave.serve.rates import network_of
from tests.serve.served import DATASET, PASSWORD
from tests.session.conftest import SPEC, clinic

QUESTION = {"text": "people count", "budget": {"epsilon": "0.1"}}


def in_a_loop(doing):
    """What a coroutine returns, in a thread of its own: a browser may have a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, doing).result()


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    folder, spec = tmp_path_factory.mktemp("attacked"), DataSpec.load(SPEC)
    with Ledger.create(folder / "ledger.db") as one:
        one.register(DATASET, spec.notion, PureDP(Fraction(1_000)))
        open_data(spec, clinic(), ledger=one, dataset=DATASET, place=folder / "store")
        House(one).tables.make()
        one.add_account("ann")
        one.grant("ann", DATASET, PureDP(Fraction(10)))
        yield one


@pytest.fixture(scope="module")
def house(ledger):
    return House(ledger)


@pytest.fixture(scope="module")
def token(house):
    people = PeopleTable(house.tables)
    return Tokens(house.tables).make(
        people.accept(people.invite("analyst", "ann"), "ann", PASSWORD), ALLOWED["analyst"]
    )[1]


@pytest.fixture
def client(house, token, tmp_path):
    """Requests to a worker without a network."""
    worker = Worker(house, Rates.of(10_000), tmp_path, https=False, behind_proxy=False)

    def sent(method, path, **options):
        async def once():
            transport = httpx.ASGITransport(worker.app)
            headers = {"Authorization": f"Bearer {token}", **options.pop("headers", {})}
            async with httpx.AsyncClient(transport=transport, base_url="http://here", headers=headers) as one:
                return await one.request(method, path, **options)

        return in_a_loop(once())

    sent.worker = worker
    return sent


@pytest.fixture
def slot(ledger):
    one = Slot(ledger, ledger.records(Opened)[0], timed=False)
    yield one
    one.close()


def ask(client, key, text="people count"):
    body = {**QUESTION, "text": text}
    return client("POST", f"/v1/datasets/{DATASET}/questions", json=body, headers={"Idempotency-Key": key})


def test_no_answer_is_told_by_another_way_before_its_time_class_ends(client, house, slot):
    """The ledger has an answer as soon as the engine is done: all answers of an account were told from there."""
    place = f"/v1/datasets/{DATASET}/answers"
    before = len(client("GET", place).json()["answers"])
    made = ask(client, "early-answer").json()
    job = house.jobs.found(made["id"])
    assert slot._content(job, asked_in(job))
    assert len(client("GET", place).json()["answers"]) == before
    assert slot.step(threading.Event())
    assert len(client("GET", place).json()["answers"]) == before + 1


def test_a_question_of_another_version_keeps_nobody_waiting(client, house, slot):
    """One that could not be read stood before all others of its data set, for ever."""
    house.jobs.put("q-old", "ann", DATASET, {"format": 0})
    made = ask(client, "behind-the-old").json()
    stopped = threading.Event()
    assert slot.step(stopped) and slot.step(stopped)
    assert house.jobs.found("q-old").state == "refused" and house.jobs.found(made["id"]).state == "answered"


def test_a_slot_outlives_what_nobody_foresaw(capsys):
    class Broken:
        many = 0

        def step(self, stopped):
            self.many += 1
            if self.many == 2:
                stopped.set()
            raise ZeroDivisionError("a value that nobody may see")

    one, stopped = Broken(), threading.Event()
    stopped.wait = lambda seconds: stopped.is_set()
    hold_slot(one, stopped)
    said = capsys.readouterr().err
    assert one.many == 2 and "ZeroDivisionError" in said and "nobody may see" not in said


def test_names_with_a_zero_in_them_are_nobodys(client):
    for path in (
        "/v1/datasets/a%00b",
        "/v1/questions/q%00",
        "/v1/releases/%00",
        "/v1/datasets/%00/statement",
        "/data/%00",
    ):
        assert client("GET", path).status_code == 404, path


@pytest.mark.parametrize(
    ("address", "whose"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::9", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("unix", "unix"),
        ("", ""),
    ],
)
def test_whoever_has_a_network_has_one_bucket(address, whose):
    assert network_of(address) == whose


def test_only_a_few_passwords_are_hashed_at_once(house, monkeypatch):
    """Each takes 64 MiB: from many addresses at once they took all memory."""
    monkeypatch.setattr(people_module, "_HASHING", threading.BoundedSemaphore(1))
    with people_module._one_of_few(), pytest.raises(RefusedError, match="try again"):
        house.people.log_in("nobody", PASSWORD)
    with pytest.raises(RefusedError, match="wrong"):
        house.people.log_in("nobody", PASSWORD)


def test_a_body_that_never_ends_is_not_waited_for(client, monkeypatch):
    monkeypatch.setattr(app_module, "_BODY_WAIT", 0.05)

    async def dripping():
        while True:
            await asyncio.sleep(0.02)
            yield b" "

    reply = client(
        "POST", f"/v1/datasets/{DATASET}/explain", content=dripping(), headers={"Content-Type": "application/json"}
    )
    assert reply.status_code == 408 and reply.json()["type"] == "urn:margrave:too-slow"


def test_nobody_waits_in_all_places(client, monkeypatch, slot):
    made = ask(client, "awaited-by-many").json()
    place = f"/v1/questions/{made['id']}"
    monkeypatch.setattr(watching, "MOST_WAITING", 0)
    assert client("GET", f"{place}?wait=1").status_code == 429
    assert client("GET", f"{place}/events").status_code == 429
    monkeypatch.setattr(watching, "MOST_WAITING", 1)
    assert client("GET", f"{place}?wait=1").json()["state"] == "waiting"
    assert slot.step(threading.Event()) and client("GET", f"{place}?wait=1").json()["state"] == "answered"


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize(
    ("by", "place"),
    [
        *product(("token", "login"), ("/v1/questions/{}?wait=20", "/v1/questions/{}/events")),
        ("login", "/questions/{}?wait=1"),
    ],
)
def test_whoever_is_shut_out_while_waiting_is_told_nothing(client, house, slot, monkeypatch, near, by, place):
    """The answer comes at a tick after the token was revoked, or the login ended: it is no longer this caller's."""
    monkeypatch.setattr(type(house.tables), "near", near)
    record, secret = house.tokens.make(house.people.named("ann"), ALLOWED["analyst"])
    login = house.people.log_in("ann", PASSWORD)
    headers = {"Authorization": f"Bearer {secret}"}
    if by == "login":
        headers = {"Authorization": "", "Cookie": f"{COOKIE}={login.secret}"}
    made = ask(client, f"shut-out-while-waiting-{near}-{by}-{len(place)}").json()
    awaited, settled = threading.Event(), house.jobs.settled

    def settling(identities):
        awaited.set()
        return settled(identities)

    monkeypatch.setattr(house.jobs, "settled", settling)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client, "GET", place.format(made["id"]), headers=headers)
        assert awaited.wait(20)
        house.tokens.revoke(record.id)
        house.people.log_out(login.secret)
        assert slot.step(threading.Event())
        reply = waiting.result(20)
    if "events" in place:
        assert reply.text.count("data: ") == reply.text.count("data: waiting") > 0
    else:
        assert reply.status_code in (401, 303)
    assert "result" not in reply.text and "95 %" not in reply.text
    assert client("GET", f"/v1/questions/{made['id']}").json()["state"] == "answered"


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "....//x"]
)
def test_no_path_leads_out(client, path):
    for start in ("/explore/", "/v1/releases/", "/data/", "/collections/", "/"):
        reply = client("GET", start + path)
        assert reply.status_code in (303, 404) and "root:" not in reply.text


def test_a_connection_that_says_nothing_is_closed(monkeypatch):
    """A thousand of them kept everybody else out."""
    monkeypatch.setattr(connections, "HEAD_WAIT", 0.2)

    async def app(scope, receive, send):
        await asyncio.sleep(0.5)  # longer than a head may take
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    assert in_a_loop(said_to(app, b"")) == b""
    assert in_a_loop(said_to(app, b"GET / HTTP/1.1\r\nHost: here\r\nX-Slow: ")) == b""
    assert in_a_loop(said_to(app, b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")).startswith(b"HTTP/1.1 204")


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"])
def test_a_head_without_end_is_not_kept(monkeypatch, before):
    """Also not while something else is answered on the same connection."""
    monkeypatch.setattr(connections, "MOST_HEAD", 1_000)

    async def app(scope, receive, send):
        await asyncio.sleep(60)

    for more in (b"X-More: 1\r\n" * 30_000, b"X-More: " + b"1" * 400_000):
        found = in_a_loop(said_to(app, before + b"GET / HTTP/1.1\r\n", more))
        assert found in (b"", b"HTTP/1.1 400 Bad Request\r\n")


def test_a_reply_is_sent_whole_and_a_large_request_is_taken():
    async def app(scope, receive, send):
        size, more = 0, True
        while more:
            got = await receive()
            size, more = size + len(got["body"]), got["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(size).encode()})

    head = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 300000\r\n\r\n"
    twice = head + b"x" * 300_000 + head, b"x" * 300_000
    found = in_a_loop(said_to(app, *twice, lines=16))
    assert found.count(b"HTTP/1.1 200 OK") == 2 and found.count(b"300000") == 2


async def said_to(app, *pieces, lines=1):
    """What comes back on a connection on which so much is sent, piece after piece."""
    config = uvicorn.Config(app, http=PatientProtocol, ws="none", lifespan="off", log_level="critical", port=0)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    reader, writer = await asyncio.open_connection(*server.servers[0].sockets[0].getsockname())
    try:
        async with asyncio.timeout(20):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.05)
            return b"".join([await reader.readline() for _ in range(lines)])
    except ConnectionError:
        return b""
    finally:
        writer.close()
        server.should_exit, server.force_exit = True, True
        await running
