"""Messages over HTTPS with certificates on both ends: whole sessions, and everybody who is turned away."""

import socket
import ssl
import threading
from contextlib import contextmanager
from http.client import HTTPSConnection

import pytest

from margrave.errors import RefusedError, UsageError
from margrave.join import post
from margrave.join.post import Mailbox, Tls, send
from tests.join.certificates import Authority
from tests.join.parties import QUICK, parties


@contextmanager
def listening(plan, inbox, tls):
    with Mailbox(plan, inbox, tls, "127.0.0.1", 0) as mailbox:
        thread = threading.Thread(target=mailbox.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"https://127.0.0.1:{mailbox.server_port}"
        finally:
            mailbox.shutdown()
            thread.join()


@pytest.fixture
def authority():
    return Authority()


@pytest.fixture
def tls(tmp_path, authority):
    return [Tls(authority.folder(tmp_path / f"tls{number}")) for number in range(2)]


def came(inbox, name):
    (found,) = inbox.glob(f"*/{name}")
    return found


def test_a_whole_session_goes_over_https(tmp_path, tls):
    hospital, airline = parties(tmp_path, release=QUICK)
    first, second = tmp_path / "to-hospital", tmp_path / "to-airline"
    with listening(hospital.plan, first, tls[0]) as here, listening(airline.plan, second, tls[1]) as there:
        (offered,) = hospital.offer()
        for _ in range(2):  # sent again, it is taken again
            send(offered, there, tls[0])
        send(airline.answer(came(second, "1-offer.msg")), here, tls[1])
        result = hospital.finish(came(first, "2-answer.msg"))
        send(hospital.message("result"), there, tls[0])
    assert airline.finish(came(second, "3-result.msg")).bundle == result.bundle
    assert came(second, "1-offer.msg").read_bytes() == offered.read_bytes()


def test_submissions_of_several_owners_do_not_stand_in_each_others_place(tmp_path, tls):
    owners = parties(tmp_path, helper=True, owners=3)
    offered, one = owners[0].offer()
    sent = [one, *(other.answer(offered) for other in owners[1:])]
    with listening(owners[0].plan, tmp_path / "inbox", tls[0]) as there:
        for path in sent:
            send(path, there, tls[1])
    assert len(list((tmp_path / "inbox").glob("*/*/2-submission.msg"))) == 3


def test_a_message_that_was_changed_or_repeated_with_other_bytes_is_not_taken(tmp_path, tls):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    content = bytearray(offered.read_bytes())
    inbox = tmp_path / "inbox"
    changed = tmp_path / "changed.msg"
    with listening(airline.plan, inbox, tls[0]) as there:
        for place in (3, 60, len(content) // 2, len(content) - 1):
            content[place] ^= 1
            changed.write_bytes(content)
            content[place] ^= 1
            with pytest.raises(RefusedError, match="did not take the message"):
                send(changed, there, tls[1])
        assert list(inbox.iterdir()) == []
        send(offered, there, tls[1])
        folder = came(inbox, "1-offer.msg")
        folder.write_bytes(b"another")
        with pytest.raises(RefusedError, match="not repeated with other bytes"):
            send(offered, there, tls[1])
        folder.unlink()
        changed.write_bytes(b"")
        with pytest.raises(RefusedError, match="no message of a join"):
            send(changed, there, tls[1])


def test_who_has_no_certificate_of_the_authority_is_turned_away(tmp_path, authority, tls):
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    stranger = Tls(Authority().folder(tmp_path / "stranger", trusting=authority))
    wary = Tls(Authority().folder(tmp_path / "wary"))
    with listening(airline.plan, tmp_path / "inbox", tls[0]) as there:
        for other in (stranger, wary):
            with pytest.raises(RefusedError, match="could not be reached"):
                send(offered, there, other)
        bare = ssl.create_default_context(cafile=str(tls[0].folder / "authority.pem"))
        port = int(there.rpartition(":")[2])
        with pytest.raises((ssl.SSLError, OSError)):
            connection = HTTPSConnection("127.0.0.1", port, timeout=10, context=bare)
            try:
                connection.request("POST", "/", b"x")
                connection.getresponse().read()
            finally:
                connection.close()
        send(offered, there, tls[1])  # and the mailbox still works
    assert len(list((tmp_path / "inbox").iterdir())) == 1


def test_whoever_connects_and_says_nothing_holds_up_nobody(tmp_path, tls, monkeypatch):
    monkeypatch.setattr(post, "WAIT", 2.0)
    hospital, airline = parties(tmp_path, release=QUICK)
    (offered,) = hospital.offer()
    with listening(airline.plan, tmp_path / "inbox", tls[0]) as there:
        port = int(there.rpartition(":")[2])
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        try:
            send(offered, there, tls[1])
        finally:
            for one in silent:
                one.close()


@pytest.mark.parametrize("length", ["9" * 14, "9" * 5000, "x", "-1"])
def test_a_length_that_no_message_has_is_refused_before_it_is_read(tmp_path, tls, length):
    _, airline = parties(tmp_path)
    with listening(airline.plan, tmp_path / "inbox", tls[0]) as there:
        port = int(there.rpartition(":")[2])
        connection = HTTPSConnection("127.0.0.1", port, timeout=10, context=tls[1].context(serving=False))
        try:
            connection.putrequest("POST", "/")
            connection.putheader("Content-Length", length)
            connection.endheaders()
            assert connection.getresponse().status == 413
        finally:
            connection.close()


def test_addresses_and_folders_that_cannot_be_are_refused(tmp_path, tls):
    for url in ("http://x", "https://", "https://x/inbox", "ftp://x", "https://x:port", ""):
        with pytest.raises(UsageError, match="no address of a mailbox"):
            post.address_of(url)
    assert post.address_of("https://hospital.example") == ("hospital.example", 443)
    with pytest.raises(UsageError, match=r"must hold certificate\.pem"):
        Tls(tmp_path).context(serving=True)
    with pytest.raises(RefusedError, match="could not be reached"):
        send(tls[0].folder / "secret.pem", "https://127.0.0.1:9", tls[0])
