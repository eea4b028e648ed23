"""``margrave join``: two institutions in processes of their own, from keys to the same bundle, and what goes wrong."""

import re
import subprocess
import sys
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from margrave.cli.app import app
from margrave.publish.verification.signature import SigningKey
from tests.cli.typed import inside, run
from tests.join.certificates import Authority
from tests.join.conftest import server as server
from tests.join.parties import KEYS, QUICK, frame, text


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with keys, a spec and the data of each owner."""
    monkeypatch.chdir(tmp_path)
    for name, key in KEYS.items():
        key.save(tmp_path / f"{name}.key")
    for name in ("hospital", "airline"):
        frame(name).to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "join.toml").write_text(text(release=QUICK, deadline="2099-01-01"))
    (tmp_path / "helped.toml").write_text(text(release=QUICK, helper=True, deadline="2099-01-01"))
    return tmp_path


def ledgers(*urls):
    for url in urls:
        inside("ledger", "init", "--ledger", url)
        budget = "epsilon=100,delta=0.2"
        part = ("--event-delta", "0.1", "--ledger", url)
        inside("ledger", "dataset", "people@1", "--spec", "join.toml", "--cap", budget, *part)
        inside("ledger", "account", "ann", "--ledger", url)
        inside("ledger", "grant", "ann", "people@1", budget, *part)


def mine(owner, ledger, data=True):
    options = ["--owner", owner, "--key", f"{owner}.key", "--session", f"s-{owner}"]
    options += ["--account", "ann", "--ledger", ledger]
    return [*options, "--data", f"{owner}.csv"] if data else options


def done(*arguments):
    found = run(*arguments)
    assert found.returncode == 0, found.stderr
    return found.stdout + found.stderr


def failed(*arguments):
    found = CliRunner().invoke(app, [str(one) for one in arguments])
    return found.exception if found.exception is not None else AssertionError("it did not fail")


@pytest.mark.slow
def test_two_processes_with_two_ledgers_end_with_the_same_bundle(place, server):
    first, second = "hospital.db", server.new_schema("cli_join")
    ledgers(first, second)
    assert "Send s-hospital/1-offer.msg to airline." in done("join", "offer", "join.toml", *mine("hospital", first))
    said = done("join", "answer", "join.toml", "s-hospital/1-offer.msg", *mine("airline", second))
    assert "Send s-airline/2-answer.msg to hospital, and to nobody else." in said
    options = [*mine("hospital", first, data=False), "--out", "out1"]
    said = done("join", "finish", "join.toml", "s-airline/2-answer.msg", *options)
    assert "Send s-hospital/3-result.msg to airline" in said and "hospital publishes it" in said
    options = [*mine("airline", second, data=False), "--out", "out2"]
    done("join", "finish", "join.toml", "s-hospital/3-result.msg", *options)
    files = [{path.name: path.read_bytes() for path in (place / out).rglob("*.*")} for out in ("out1", "out2")]
    assert files[0] == files[1]
    assert "as they were written" in inside("verify", "out1").output
    assert "of_hospital, of_airline" in inside("show", "out2").output
    for url in (first, second):
        assert "1 stored answers are as they were written" in inside("ledger", "verify", "--ledger", url).output
    said = inside("join", "replay", "join.toml", "--session", "s-hospital", "--data", "hospital.csv").output
    assert "the offer follows from the data and the secrets" in said


@contextmanager
def listening(inbox, tls):
    """A mailbox in a process of its own."""
    command = [sys.executable, "-m", "margrave", "join", "listen", "join.toml", "--at", "127.0.0.1:0"]
    command += ["--inbox", inbox, "--tls", tls]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r"https://127.0.0.1:\d+", process.stderr.readline())[0]
        finally:
            process.kill()


@pytest.mark.slow
def test_messages_go_over_https_between_processes(place):
    ledgers("a.db", "b.db")
    authority = Authority()
    for name in ("hospital", "airline"):
        authority.folder(place / f"tls-{name}")
    with listening("in-hospital", "tls-hospital") as here, listening("in-airline", "tls-airline") as there:
        outward, back = ["--peer", there, "--tls", "tls-hospital"], ["--peer", here, "--tls", "tls-airline"]
        said = inside("join", "offer", "join.toml", *mine("hospital", "a.db"), *outward).output
        assert "Sent s-hospital/1-offer.msg to airline." in said
        (offered,) = (place / "in-airline").glob("*/1-offer.msg")
        inside("join", "answer", "join.toml", str(offered), *mine("airline", "b.db"), *back)
        (answered,) = (place / "in-hospital").glob("*/2-answer.msg")
        options = [*mine("hospital", "a.db", data=False), "--out", "out1.zip", *outward]
        inside("join", "finish", "join.toml", str(answered), *options)
        (result,) = (place / "in-airline").glob("*/3-result.msg")
        inside("join", "send", "s-hospital/3-result.msg", there, "--tls", "tls-hospital")
        inside("join", "finish", "join.toml", str(result), *mine("airline", "b.db", data=False), "--out", "out2.zip")
    assert (place / "out1.zip").read_bytes() == (place / "out2.zip").read_bytes()


@pytest.mark.slow
def test_owners_and_a_helper_end_with_the_same_bundle(place):
    ledgers("a.db", "b.db")
    said = inside("join", "offer", "helped.toml", *mine("hospital", "a.db")).output
    assert "2-submission.msg to registry, and to nobody else" in said
    said = inside("join", "answer", "helped.toml", "s-hospital/1-offer.msg", *mine("airline", "b.db")).output
    assert "Send s-airline/2-submission.msg to registry" in said
    sent = ["s-hospital/2-submission.msg", "s-airline/2-submission.msg"]
    said = inside("join", "match", "helped.toml", *sent, "--key", "registry.key", "--sessions", "helper").output
    made = next((place / "helper").glob("*/3-result.msg"))
    assert "to all owners" in said
    for number, owner in enumerate(("hospital", "airline")):
        options = [*mine(owner, f"{'ab'[number]}.db", data=False), "--out", f"{owner}.zip"]
        inside("join", "finish", "helped.toml", str(made), *options)
    assert (place / "hospital.zip").read_bytes() == (place / "airline.zip").read_bytes()


def test_a_key_is_shown_as_the_spec_wants_it(place):
    said = inside("join", "key", "hospital.key").output
    assert f'key = "{KEYS["hospital"].public.raw.hex()}"' in said and 'box = "' in said


def test_a_plan_shows_what_each_side_learns_and_pays(place):
    said = inside("plan", "join.toml").output
    told = inside("plan", "join.toml", "--json").output
    assert "What is charged to each ledger" in said and "semi-honest" in said
    assert '"costs"' in told


@pytest.mark.slow
def test_mistakes_are_one_line_and_cost_nothing(place):
    ledgers("a.db")
    good = mine("hospital", "a.db")
    SigningKey.new().save(place / "strange.key")
    (place / "plain.toml").write_text('[attributes]\na = ["x"]\n[release]\nall = 1\n[privacy]\nepsilon = 1\n')
    strange = ["strange.key" if one == "hospital.key" else one for one in good]
    for arguments, expected in [
        (("offer", "join.toml", *mine("nobody", "a.db")), "no owner 'nobody'"),
        (("offer", "join.toml", *strange), "not the key of hospital"),
        (("offer", "plain.toml", *good), "no section [join]"),
        (("offer", "join.toml", *good, "--peer", "https://x"), "--peer and --tls are given together"),
        (("offer", "join.toml", *good, "--peer", "http://x", "--tls", "."), "no address of a mailbox"),
        (("offer", "join.toml", *good, "--peer", "https://x", "--tls", "."), "must hold certificate.pem"),
        (("listen", "join.toml", "--inbox", "in", "--tls", ".", "--at", "nowhere"), "no place to listen at"),
        (("answer", "join.toml", "absent.msg", *mine("airline", "a.db")), "no file with a message"),
        (("finish", "join.toml", "join.toml", *mine("hospital", "a.db", data=False), "--out", "o"), "no session"),
    ]:
        error = failed("join", *arguments)
        assert expected in str(error) and "\n" not in str(error), arguments
    error = failed("release", "join.toml", "--print", "--data", "hospital.csv")
    assert "margrave join offer" in str(error)
