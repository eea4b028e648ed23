"""A ledger that cannot be written can be shown, verified and exported; what would be unsafe to read is said."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from margrave.errors import LedgerError
from margrave.ledger import Ledger, verify
from margrave.ledger.records import Pool
from margrave.ledger.statements.statement import statement
from margrave.ledger.stores import sqlite as sqlite_module
from tests.ledger.helpers import ask, names, released, small
from tests.ledger.server import Standby
from tests.ledger.test_faults import demoted, in_child
from tests.ledger.test_versions import older


@pytest.fixture
def folder():
    """A folder that everybody may enter and, at the end of the test, its owner may remove."""
    found = Path(tempfile.mkdtemp())
    found.chmod(0o755)
    yield found
    found.chmod(0o755)
    shutil.rmtree(found)


def looked_at(url):
    """Everything that needs no writing, done: the entries there are."""
    with Ledger.open(url, wait=2) as ledger:
        assert ledger.head.number == len(list(ledger.entries()))
        assert "survey" in "\n".join(statement(ledger, "survey").lines())
        assert ledger.records(Pool)
        return verify(ledger).entries


def locked_away(folder):
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)


def test_a_ledger_in_a_read_only_folder_can_be_looked_at(folder):
    path = folder / "ledger.db"
    with small(str(path)) as ledger:
        released(ledger, 1)
    looked_at(path)  # a user without rights could not import what this needs
    locked_away(folder)

    def look():
        demoted()
        raise LedgerError(f"{looked_at(path)} entries")

    def write():
        demoted()
        with Ledger.open(path) as ledger:
            released(ledger, 2)

    assert in_child(look) == "6 entries"
    assert "must be writable: nothing was written" in in_child(write)
    assert names(folder) == ["ledger.db"]


_MOUNTED = """
set -e
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
for command in show history verify "export survey"; do
    "$2" -m margrave ledger $command --ledger "$1/ledger.db"
done
! "$2" -m margrave ledger account bob --ledger "$1/ledger.db"
"""


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], check=False).returncode != 0,
    reason="mounting needs a name space of its own",
)
def test_a_ledger_on_a_read_only_mount_can_be_looked_at(tmp_path):
    with small(str(tmp_path / "ledger.db")) as ledger:
        released(ledger, 1)
    command = ["unshare", "-rm", "bash", "-c", _MOUNTED, "bash", str(tmp_path), sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "6 entries follow one another" in done.stdout
    assert done.stderr.count("\n") == 1
    assert "must be writable" in done.stderr


def copied(path, folder, *endings):
    """A ledger with its log as a stopped program leaves them, copied."""
    writer = small(str(path))
    released(writer, 1)
    for ending in ("", *endings):
        shutil.copy(f"{path}{ending}", folder / f"copy.db{ending}")
    writer.close()
    looked_at(path)
    locked_away(folder)
    return folder / "copy.db"


def test_a_log_that_can_be_read_is_read(tmp_path, folder):
    path = copied(tmp_path / "ledger.db", folder, "-wal", "-shm")

    def look():
        demoted()
        raise LedgerError(f"{looked_at(path)} entries")

    assert in_child(look) == "6 entries"


def test_a_log_that_cannot_be_read_is_not_passed_over(tmp_path, folder):
    path = copied(tmp_path / "ledger.db", folder, "-wal")
    assert "copy the file together with its log" in in_child(lambda: (demoted(), looked_at(path)))


def test_a_ledger_that_another_writes_meanwhile_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / "ledger.db"
    small(str(path)).close()
    writer = Ledger.open(path)
    writer.close()  # until it is used again
    monkeypatch.setattr(sqlite_module, "_may_write", lambda _: False)
    with Ledger.open(path) as reader:
        assert verify(reader).entries == 4
        with pytest.raises(LedgerError, match=r"somebody else wrote to .* try again"), reader.store.reading():
            released(writer, 1)
            writer.close()
        assert verify(reader).entries == 6
        with pytest.raises(LedgerError, match="somebody else"), reader.store.reading() as session:
            released(writer, 2)  # whose log is there still
            list(session.journal())
        assert verify(reader).entries == 8
        writer.close()
        assert verify(reader).entries == 8


def test_an_older_ledger_that_cannot_be_brought_up_to_date_says_so(tmp_path, monkeypatch):
    path = tmp_path / "ledger.db"
    older(str(path), 3).close()
    content = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_module, "_may_write", lambda _: False)
        with pytest.raises(LedgerError, match="schema version 3, which can only be brought up to date where"):
            Ledger.open(path)
    assert path.read_bytes() == content
    Ledger.open(path).close()


def reader_of(server, schema):
    """The URL for a user who may read one schema, and do nothing else."""
    with server.connect() as connection:
        connection.execute(f"CREATE ROLE {schema}_reader LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {schema}_reader")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}_reader")
    return server.url(schema).replace("margrave@", f"{schema}_reader@")


def test_a_user_of_a_server_who_may_only_read_can_look(server):
    url = server.new_schema("lookers")
    with small(url) as ledger:
        released(ledger, 1)
    reading = reader_of(server, "lookers")
    assert looked_at(reading) == 6
    with Ledger.open(reading) as ledger, pytest.raises(LedgerError, match=r"may not do that .* nothing was written"):
        ledger.reserve(ask(2))
    old = server.new_schema("elders")
    older(old, 3).close()
    with pytest.raises(LedgerError, match="schema version 3, which can only be brought up to date where"):
        Ledger.open(reader_of(server, "elders"))
    with pytest.raises(LedgerError, match="may not do that"):
        Ledger.create(server.url().replace("margrave@", "lookers_reader@"))


def test_a_ledger_on_a_standby_can_be_looked_at(server):
    url = server.new_schema("followed")
    with small(url) as ledger:
        released(ledger, 1)
    standby = Standby(server)
    try:
        following = standby.url("followed")
        assert looked_at(following) == 6
        with Ledger.open(following) as ledger, pytest.raises(LedgerError, match="read-only: nothing was written"):
            ledger.reserve(ask(2))
    finally:
        standby.stop()
