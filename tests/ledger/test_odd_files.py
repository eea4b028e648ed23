"""Paths that are no ordinary files, odd names, files that are no ledgers, a making that is stopped."""

import os
import resource
import secrets
import signal
import socket
import sqlite3
import threading

import pytest

from margrave.errors import LedgerError, VerificationError
from margrave.ledger import Ledger, verify
from margrave.ledger.replay import remake
from margrave.ledger.stores.sqlite import SqliteStore
from tests.calls import counted
from tests.ledger import crash
from tests.ledger.commands import run  # noqa: F401
from tests.ledger.helpers import every, names, released, small
from tests.ledger.test_faults import demoted, in_child

LEDGER = ("show", "history", "verify", "export survey", "init", "account ann", "grant ann survey@1 epsilon=1")


@pytest.fixture
def impatient():
    """A command that waits for ever is stopped."""

    def stop(*_):
        raise TimeoutError("this hangs")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


@pytest.fixture(params=["pipe.zip", "socket", "folder", "/dev/zero", "/dev/null"])
def odd(request, tmp_path, monkeypatch):
    """The name of something that is no ordinary file."""
    monkeypatch.chdir(tmp_path)
    if request.param == "pipe.zip":
        os.mkfifo("pipe.zip")
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("socket")
    elif request.param == "folder":
        (tmp_path / "folder").mkdir()
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("command", LEDGER)
def test_no_command_of_a_ledger_waits_for_what_is_none(run, odd, impatient, command):  # noqa: F811
    said = run("ledger", *command.split(), "--ledger", odd, code=1)
    assert odd in said
    assert said.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", ["verify", "show", "report"])
def test_no_command_waits_for_a_bundle_that_is_none(run, odd, impatient, command):  # noqa: F811
    said = run(command, odd, code=1)
    assert "release" in said


def test_no_ledger_is_verified_against_a_bundle_that_never_ends(run, impatient):  # noqa: F811
    os.mkfifo("pipe.zip")
    run("ledger", "init")
    assert "pipe.zip is no ordinary file" in run("ledger", "verify", "--against", "pipe.zip", code=1)
    assert "pipe.zip is no ordinary file" in run("ledger", "verify", "--against", ".", code=1)


@pytest.mark.slow
@pytest.mark.parametrize("command", [("plan",), ("release", "--out", "out"), ("count", "--not-private")])
def test_no_command_waits_for_a_spec_that_is_none(run, odd, impatient, command):  # noqa: F811
    assert odd in run(command[0], odd, *command[1:], code=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pipe.csv", "pipe.parquet", "pipe.arrow", "pipe.csv.gz"])
def test_no_command_waits_for_data_that_never_ends(run, name):  # noqa: F811
    """Readers of data cannot be interrupted, so that one who waits is let go by a writer who says nothing."""
    os.mkfifo(name)
    let_go = threading.Timer(20, lambda: os.close(os.open(name, os.O_WRONLY | os.O_NONBLOCK)))
    let_go.start()
    try:
        for command in (("release", "spec.toml", "--data", name, "--out", "out"), ("init", name)):
            assert f"{name} is no ordinary file" in run(*command, code=1)
    finally:
        let_go.cancel()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["a?b.db", "a#b.db", "a%20b.db", "a b.db", "file:x.db", ":memory:", "x?mode=memory", "ü.db", "a'b\".db"]
)
def test_a_ledger_is_where_its_name_says(run, tmp_path, name):  # noqa: F811
    before = set(names(tmp_path))
    run("ledger", "init", "--ledger", name)
    run("ledger", "account", "ann", "--ledger", name)
    assert "2 entries" in run("ledger", "verify", "--ledger", name)
    assert set(names(tmp_path)) - before == {name}
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_a_link_to_a_ledger_is_the_ledger(tmp_path):
    (tmp_path / "inner").mkdir()
    small(str(tmp_path / "inner" / "ledger.db")).close()
    (tmp_path / "link.db").symlink_to("inner/ledger.db")
    with Ledger.open(tmp_path / "link.db") as ledger:
        released(ledger, 1)
        with Ledger.open(tmp_path / "inner" / "ledger.db") as same:
            assert verify(same).entries == 6
    (tmp_path / "nowhere.db").symlink_to("gone.db")
    with pytest.raises(LedgerError, match=r"there is no ledger .*nowhere\.db"):
        Ledger.open(tmp_path / "nowhere.db")
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(tmp_path / "nowhere.db")


def test_a_file_that_is_no_ledger_stays_as_it_is(tmp_path):
    (tmp_path / "empty.db").touch()
    foreign = sqlite3.connect(tmp_path / "foreign.db")
    foreign.execute("CREATE TABLE people (name TEXT)")
    foreign.execute("INSERT INTO people VALUES ('ann')")
    foreign.commit()
    foreign.close()
    for path in sorted(tmp_path.iterdir()):
        content = path.read_bytes()
        with pytest.raises(LedgerError, match="there is no ledger in"):
            Ledger.open(path)
        assert path.read_bytes() == content
    assert names(tmp_path) == ["empty.db", "foreign.db"]


def test_an_encrypted_file_is_no_ledger(tmp_path):
    (tmp_path / "ledger.db").write_bytes(secrets.token_bytes(8192))
    with pytest.raises(VerificationError, match="is not a ledger"):
        Ledger.open(tmp_path / "ledger.db")


@pytest.mark.parametrize("name", ["x" * 300, "half\0name", "ledger.db/inner.db"])
def test_a_path_that_cannot_be_is_refused_in_words(tmp_path, name):
    small(str(tmp_path / "ledger.db")).close()
    for action in (Ledger.open, Ledger.create):
        with pytest.raises(LedgerError, match=r"cannot be written, or not even read|there is no ledger|not a folder"):
            action(tmp_path / name)


def test_a_folder_that_may_not_be_entered_is_named(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    small(str(closed / "ledger.db")).close()
    closed.chmod(0)

    def look():
        demoted()
        Ledger.open(closed / "ledger.db")

    try:
        assert "Permission denied" in in_child(look)
    finally:
        closed.chmod(0o700)


@pytest.mark.parametrize("most", [0, 4096, 8192, 20_000])
def test_a_full_disk_leaves_no_part_of_a_new_ledger(tmp_path, most):
    path = tmp_path / "ledger.db"

    def full():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        Ledger.create(path)

    said = in_child(full)
    assert "nothing was written" in said
    assert str(path) in said
    assert names(tmp_path) == []
    small(str(path)).close()


@pytest.mark.slow
def test_a_new_ledger_is_there_as_a_whole_or_not_at_all_wherever_its_making_is_killed(tmp_path, tried):
    """What a killed maker leaves beside it is swept up by the next."""
    Ledger.create(tmp_path / "warm.db").close()
    path = tmp_path / "ledger.db"
    total = counted(lambda: Ledger.create(tmp_path / "whole.db").head, crash.watched)
    states = set()
    for last in range(1, total, every(29, 1)):
        assert not in_child(lambda last=last: counted(lambda: Ledger.create(path).head, crash.watched, last))
        states.add(path.exists())
        if not path.exists():
            Ledger.create(path).close()
        with Ledger.open(path) as ledger:
            assert verify(ledger).entries == 1
        path.unlink()
    Ledger.create(path).close()
    assert states == {True, False}
    assert not [name for name in names(tmp_path) if name.startswith(".")]
    tried("makings of a ledger killed, each at another call", "sqlite", len(range(1, total, every(29, 1))))


def test_the_log_of_a_ledger_that_was_removed_does_not_become_that_of_a_new_one(tmp_path):
    path = tmp_path / "ledger.db"
    with small(str(path)) as ledger:
        released(ledger, 1)
        log = (tmp_path / "ledger.db-wal").read_bytes()
    path.unlink()
    (tmp_path / "ledger.db-wal").write_bytes(log)
    with pytest.raises(LedgerError, match="log of another ledger"):
        Ledger.create(path)
    assert names(tmp_path) == ["ledger.db-wal"]


def test_of_two_that_make_a_ledger_at_once_one_is_refused(tmp_path):
    path = tmp_path / "ledger.db"
    late = SqliteStore(path, create=True)
    with pytest.raises(LedgerError, match="exists already"), late.made():
        with Ledger.create(path) as early:
            head = early.head
        late.migrate(remake)
    with Ledger.open(path) as ledger:
        assert ledger.head == head
