"""Damage, a wrong clock, a full or read-only disk, locks: detected or refused, with nothing lost."""

import os
import resource
import shutil
import sqlite3
import tempfile
import warnings
from pathlib import Path

import pytest

from margrave.errors import LedgerError, RefusedError, UsageError, VerificationError
from margrave.ledger import Ledger, verify
from margrave.ledger.stores import sqlite as sqlite_module
from margrave.ledger.stores.mounts import kind_of, network_file_system
from margrave.ledger.stores.sqlite import SqliteStore
from tests.ledger.helpers import Clock, ask, eps, every, released, small
from tests.ledger.server import NOBODY


@pytest.fixture
def ledger(url):
    with small(url) as one:
        for number in range(3):
            released(one, number)
        yield one


def tamper(ledger, *statements):
    """Change a ledger by other means than its own: its guards are taken off, and put back afterwards."""
    store = ledger.store
    with store.connection() as connection:
        guards = [text for text in store.migrations(0) if text.startswith("CREATE TRIGGER")]
        for text in guards:
            connection.execute(
                f"DROP TRIGGER {text.split()[2]}{'' if store.dialect == 'sqlite' else ' ON ledger_journal'}"
            )
        for statement in statements:
            connection.execute(statement)
        for text in guards:
            connection.execute(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("UPDATE ledger_journal SET entry = replace(entry, '0.1', '0.2') WHERE number = 5", "entry 5 was changed"),
        ("UPDATE ledger_journal SET hash = substr(hash, 2) || '0' WHERE number = 3", "entry 3 was changed"),
        ("DELETE FROM ledger_journal WHERE number = 6", "entry 6 is missing"),
        ("DELETE FROM ledger_journal WHERE number > 8", "the ledger keeps"),
        ("DELETE FROM ledger_journal WHERE number = 1", "entry 1 is missing"),
        ("DELETE FROM ledger_state WHERE key LIKE 'grants/%'", "lacks the record 'grants/survey/ann'"),
        (
            "UPDATE ledger_state SET value = replace(value, '\"1/10\":3', '\"1/10\":2') WHERE key = 'pool/survey'",
            "'pool/survey'",
        ),
        ("INSERT INTO ledger_state VALUES ('pool/other', '{}')", "'pool/other' that does not follow"),
        ("DELETE FROM ledger_answer WHERE place = (SELECT min(place) FROM ledger_answer)", "missing or was changed"),
        ("INSERT INTO ledger_answer VALUES (5, 'abc')", "that no entry commits"),
    ],
)
def test_what_was_changed_is_named(ledger, statement, text):
    verify(ledger)
    tamper(ledger, statement)
    with pytest.raises(VerificationError, match=text):
        verify(ledger)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


@pytest.mark.slow
def test_every_byte_of_the_journal_counts(tmp_path, tried):
    with small(str(tmp_path / "ledger.db")) as ledger:
        released(ledger, 1)
        texts = [text for _, text in sorted((e.number, e.text) for e, _ in ledger.entries())]
        flips = 0
        for number, text in enumerate(texts, start=1):
            for position in range(0, len(text), every(11, 1)):
                changed = text[:position] + chr(ord(text[position]) ^ 1) + text[position + 1 :]
                tamper(ledger, f"UPDATE ledger_journal SET entry = {quoted(changed)} WHERE number = {number}")
                with pytest.raises(VerificationError, match=f"entry {number} was changed"):
                    verify(ledger)
                flips += 1
            tamper(ledger, f"UPDATE ledger_journal SET entry = {quoted(text)} WHERE number = {number}")
        tried("bits flipped in entries", "sqlite", flips)
        verify(ledger)


def test_a_forged_entry_with_a_right_hash_breaks_a_rule(ledger):
    """Somebody who recomputes the hashes still cannot charge beyond the cap."""
    from margrave.ledger.journal import Entry, hash_of

    head = ledger.head
    body = {"request": "forged", "charged": False, "reason": ""}
    text = Entry(head.number + 1, "2999-01-01", "void", body, head.hash).text
    tamper(ledger, f"INSERT INTO ledger_journal VALUES ({head.number + 1}, '{text}', '{hash_of(text)}')")
    with pytest.raises(VerificationError, match=f"entry {head.number + 1} breaks a rule: there is no request forged"):
        verify(ledger)
    with pytest.raises(VerificationError, match="not where the ledger stood"):
        released(ledger, 9)


def test_the_journal_itself_refuses_changes(ledger):
    for statement in ("UPDATE ledger_journal SET hash = ''", "DELETE FROM ledger_journal"):
        with pytest.raises(Exception, match="append-only"), ledger.store.connection() as connection:
            connection.execute(statement)
    verify(ledger)


def test_a_truncated_journal_takes_no_more_charges(ledger):
    tamper(ledger, "DELETE FROM ledger_journal WHERE number > 8")
    with pytest.raises(VerificationError, match="not where the ledger stood"):
        ledger.reserve(ask(9))


def test_a_stored_answer_that_was_changed_is_not_given_out(ledger):
    tamper(ledger, "UPDATE ledger_answer SET content = 'something else'")
    with pytest.raises(VerificationError, match="missing or was changed"):
        ledger.reserve(ask(1))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.95])
def test_a_file_cut_short_is_detected(tmp_path, share):
    path = tmp_path / "ledger.db"
    with small(str(path)) as ledger:
        for number in range(20):
            released(ledger, number)
    size = path.stat().st_size
    os.truncate(path, int(size * share))
    with (
        pytest.raises((VerificationError, LedgerError), match=r"damaged|cut short|no ledger"),
        Ledger.open(path) as found,
    ):
        verify(found)


def test_damage_inside_the_file_is_detected(tmp_path, tried):
    path = tmp_path / "ledger.db"
    with small(str(path)) as ledger:
        for number in range(20):
            released(ledger, number)
    content = bytearray(path.read_bytes())
    found = 0
    positions = range(4096, len(content), every(1709, 23))
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        copy = tmp_path / "damaged.db"
        copy.write_bytes(damaged)
        try:
            with Ledger.open(copy) as one:
                verify(one)
        except (VerificationError, LedgerError):
            found += 1
        for left in tmp_path.glob("damaged.db*"):
            left.unlink()
    # Some bytes of a page are unused, and there a change means nothing.
    assert found > 10
    tried("bits flipped in the file", "sqlite", len(positions))


def test_no_ledger_there(tmp_path, server):
    with pytest.raises(LedgerError, match="margrave ledger init"):
        Ledger.open(tmp_path / "none.db")
    with pytest.raises(LedgerError, match="margrave ledger init"):
        Ledger.open(server.new_schema("empty"))
    (tmp_path / "text.db").write_text("no data base " * 1000)
    with pytest.raises(VerificationError, match="not a ledger"):
        Ledger.open(tmp_path / "text.db")
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(tmp_path / "text.db")
    with pytest.raises(LedgerError, match="is not a folder"):
        Ledger.create(tmp_path / "nowhere" / "ledger.db")
    with pytest.raises(UsageError, match="postgresql://"):
        Ledger.open("mysql://somewhere/else")


def test_an_unreachable_server_is_named_without_its_password():
    with pytest.raises(LedgerError) as caught:
        Ledger.open("postgresql://ann:secret@127.0.0.1:1/none", wait=2)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_clock_set_back_is_refused(url):
    clock = Clock()
    with small(url, clock=clock) as ledger:
        clock.forward(seconds=-30)
        released(ledger, 1)
        clock.forward(minutes=-2)
        head = ledger.head
        with pytest.raises(RefusedError, match="set the clock right"):
            ledger.reserve(ask(2))
        assert ledger.head == head
        clock.forward(minutes=5)
        released(ledger, 2)
        verify(ledger)


def test_an_expired_grant_is_not_revived_by_a_slow_clock(url):
    clock = Clock()
    with small(url, grant=None, clock=clock) as ledger:
        ledger.grant("ann", "survey@1", eps(1), expires="2030-01-02")
        clock.forward(days=1)
        ledger.add_account("bob")
        clock.forward(seconds=-10)
        with pytest.raises(RefusedError, match="expired"):
            ledger.reserve(ask(1))


def test_a_locked_file_is_refused_after_a_wait(tmp_path):
    path = tmp_path / "ledger.db"
    small(str(path)).close()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with Ledger.open(path, wait=0.2) as ledger:
        with pytest.raises(LedgerError, match=r"locked by another program for 0\.2 s"):
            ledger.reserve(ask(1))
        blocker.execute("ROLLBACK")
        released(ledger, 1)
        verify(ledger)
    blocker.close()


def test_a_locked_row_is_refused_after_a_wait(server):
    url = server.new_schema("locked")
    small(url).close()
    with Ledger.open(url, wait=0.2) as ledger, ledger.store.connection() as blocker:
        blocker.execute("BEGIN")
        blocker.execute("SELECT * FROM ledger_state WHERE key = 'head' FOR UPDATE")
        with pytest.raises(LedgerError, match=r"locked by another program for 0\.2 s"):
            ledger.reserve(ask(1))
        blocker.execute("ROLLBACK")
        released(ledger, 1)
        verify(ledger)


def test_a_full_disk_is_refused_and_loses_nothing(tmp_path):
    """In a child that may not write files beyond their present size, as if the disk were full."""
    path = tmp_path / "ledger.db"
    ledger = small(str(path))
    released(ledger, 1)
    head = ledger.head
    ledger.close()

    def full():
        size = path.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with Ledger.open(path) as one:
            for number in range(2, 200):
                released(one, number)

    assert "nothing was written" in in_child(full)
    with Ledger.open(path) as after:
        assert after.head.number >= head.number
        verify(after)
        released(after, 500)
        verify(after)


def test_a_full_data_base_is_refused_and_loses_nothing(tmp_path, monkeypatch):
    path = tmp_path / "ledger.db"
    ledger = small(str(path))
    with ledger.store.connection() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(LedgerError, match="the disk is full"):
        for number in range(1000):
            released(ledger, number)
    ledger.close()
    with Ledger.open(path) as after:
        verify(after)
        released(after, 5000)


def test_a_read_only_folder_is_refused():
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    path = folder / "ledger.db"
    small(str(path)).close()
    path.chmod(0o444)
    folder.chmod(0o555)

    def write():
        demoted()
        with Ledger.open(path) as one:
            released(one, 1)

    try:
        assert "must be writable" in in_child(write)
        assert "cannot be written" in in_child(lambda: (demoted(), Ledger.create(folder / "other.db")))
    finally:
        folder.chmod(0o755)
    with Ledger.open(path) as after:
        verify(after)
    shutil.rmtree(folder)


def demoted():
    if os.getuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def in_child(action):
    """What an action says as it fails with an error of ours, done in a process of its own."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork where there are threads
        pid = os.fork()
    if pid == 0:
        text = "nothing failed"
        try:
            action()
        except LedgerError as error:
            text = str(error)
        except BaseException as error:
            text = f"unforeseen {type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text


MOUNTS = """\
21 1 8:1 / / rw - ext4 /dev/sda1 rw
30 21 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/local rw - ext4 /dev/sdb1 rw
32 21 0:42 / /mnt/my\\040share rw - cifs //server/share rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/etc/ledger.db", "ext4"),
        ("/home/ann/ledger.db", "nfs4"),
        ("/home/local/ledger.db", "ext4"),
        ("/mnt/my share/ledger.db", "cifs"),
        ("/homework/ledger.db", "ext4"),
    ],
)
def test_the_file_system_of_a_path(path, kind):
    assert kind_of(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_refused(tmp_path, monkeypatch):
    assert network_file_system(tmp_path) is None
    monkeypatch.setattr(sqlite_module, "network_file_system", lambda _: "nfs4")
    with pytest.raises(LedgerError, match="network file system"):
        Ledger.create(tmp_path / "ledger.db")
    assert not (tmp_path / "ledger.db").exists()


def test_the_file_is_for_its_owner_alone_and_settles_every_commit(tmp_path):
    with small(str(tmp_path / "ledger.db")) as ledger, ledger.store.connection() as connection:
        assert (tmp_path / "ledger.db").stat().st_mode & 0o777 == 0o600
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert isinstance(ledger.store, SqliteStore)


def test_what_need_not_be_settled_at_once_leaves_no_later_charge_unsettled(tmp_path):
    with small(str(tmp_path / "ledger.db")) as ledger:
        with pytest.raises(LedgerError), ledger.store.beside(settled=False) as session:
            assert [tuple(row) for row in session.rows("PRAGMA synchronous")] == [(1,)]
            raise LedgerError("refused after all")
        with ledger.store.writing() as session:
            assert [tuple(row) for row in session.rows("PRAGMA synchronous")] == [(2,)]


def test_a_server_that_may_forget_is_refused_or_told_not_to(server):
    url = server.new_schema("forgetful")
    small(url).close()
    with Ledger.open(f"{url}%20-csynchronous_commit%3Doff") as ledger, ledger.store.connection() as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
