"""The server of one person: on the loopback address, for those who ask by its name, with nothing that can run."""

from http.client import HTTPConnection
from threading import Thread

import pytest

from margrave.publish.explorer.library import library_of
from margrave.publish.explorer.server import HOST, ExplorerServer


@pytest.fixture(scope="module")
def server(releases, tmp_path_factory):
    folder = releases["raw"].save(tmp_path_factory.mktemp("one") / "raw")
    with ExplorerServer(library_of(folder)) as found:
        thread = Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def asked(server, path, method="GET", **headers):
    connection = HTTPConnection(HOST, server.server_port, timeout=10)
    connection.request(method, path, headers=headers)
    found = connection.getresponse()
    return found, found.read()


def test_pages_come_with_a_policy_that_lets_nothing_run(server):
    found, body = asked(server, "/")
    assert found.status == 200
    assert b"A small survey" in body
    policy = found.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_it_answers_to_no_other_name(server):
    assert asked(server, "/", Host="evil.example")[0].status == 421


def test_it_can_be_looked_at_and_nothing_else(server):
    assert asked(server, "/", "POST")[0].status == 501
    found, body = asked(server, "/", "HEAD")
    assert (found.status, body) == (200, b"")
