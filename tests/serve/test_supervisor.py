"""Where a server may be reached, and that whatever is stopped, however, goes on where it was."""

import signal

import psutil
import pytest

from margrave.errors import RefusedError, UsageError
from margrave.ledger import Ledger
from margrave.ledger.records import RequestRecord
from margrave.serve.supervisor import ServerSettings, bound
from tests.serve.served import DATASET, Served, fill


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "curator.example"])
def test_another_address_needs_tls_or_a_proxy(host, tmp_path):
    with pytest.raises(RefusedError, match="--behind-proxy"):
        ServerSettings("ledger.db", host)
    assert ServerSettings("ledger.db", host, behind_proxy=True).host == host
    file = tmp_path / "file.pem"
    file.write_text("")
    assert ServerSettings("ledger.db", host, tls_cert=file, tls_key=file).https


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_the_loopback_address_needs_nothing(host):
    assert not ServerSettings("ledger.db", host).https


def test_settings_that_fit_no_server_are_refused(tmp_path):
    for options in ({"tls_cert": tmp_path / "a"}, {"port": 1 << 16}, {"workers": 0}, {"rate": 0}):
        with pytest.raises(UsageError):
            ServerSettings("ledger.db", **options)
    with pytest.raises(UsageError, match="no such file"):
        ServerSettings("ledger.db", tls_cert=tmp_path / "a", tls_key=tmp_path / "b")
    with bound(ServerSettings("ledger.db", port=0)) as held, pytest.raises(UsageError, match="name another"):
        bound(ServerSettings("ledger.db", port=held.getsockname()[1]))


@pytest.mark.slow
def test_a_restart_loses_no_job_and_no_charge(tmp_path):
    """Killed at once and without warning while a question waits: it is answered after the restart, and charged once."""
    url = str(tmp_path / "ledger.db")
    fill(url, tmp_path / "store")
    served = Served(url, tmp_path, "--workers", "1", "--untimed")
    try:
        token = served.person("ann", epsilon=1)
        children = served.children()
        assert "tell about the data" in served.out.read_text()
        body = {"text": "people count", "budget": {"epsilon": "0.1"}}
        with served.client(token) as ann:
            reply = ann.post(
                f"/v1/datasets/{DATASET}/questions", json=body, headers={"Idempotency-Key": "a-lasting-key"}
            )
        served.stop(signal.SIGKILL)
        psutil.wait_procs(children, timeout=30)
        assert not any(one.is_running() and one.status() != "zombie" for one in children)
        # Somebody who was there already needs no first curator's link, and there is still none.
        served.start()
        with served.client(token) as ann:
            found = ann.get(reply.headers["Location"], params={"wait": 60}).json()
            assert found["state"] == "answered"
        served.stop(signal.SIGTERM)
        assert served.process.returncode == 0 and "Stopped" in served.out.read_text()
    finally:
        served.stop(signal.SIGKILL)
    with Ledger.open(url) as ledger:
        assert [one.status for one in ledger.records(RequestRecord)] == ["committed"]
