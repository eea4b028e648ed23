"""A release killed at any step, and a store that loses its power."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest

from margrave.errors import LedgerError
from margrave.ledger import Ledger, verify
from margrave.ledger.records import Pool, RequestRecord
from tests.ledger.helpers import answer, ask, eps, every, many, released, small

ROOT = Path(__file__).parents[2]
EXPECTED = {
    "nothing, no bundle",
    "reserved, no bundle",
    "drawn, no bundle",
    "committed, no bundle",
    "committed, a bundle",
}


@pytest.fixture
def folder():
    """A folder in memory if there is one: a kill does not ask what the disk has."""
    shared = Path("/dev/shm")
    found = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    yield found
    shutil.rmtree(found)


def walk(folder, kills, *urls):
    command = [sys.executable, "-m", "tests.ledger.crash", str(folder), str(kills), *urls]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3000)
    assert done.returncode == 0, done.stderr
    total, *lines = done.stdout.splitlines()
    return int(total), {state: int(times) for times, _, state in (line.partition(" ") for line in lines)}


@pytest.mark.slow
def test_killed_at_each_step(folder, tried):
    kills = many(210, 10_000)
    total, found = walk(folder, kills)
    assert set(found) == EXPECTED
    assert sum(found.values()) == min(kills, total - 1)
    assert total > 210
    tried("releases killed, each at another call", "sqlite", sum(found.values()))


@pytest.mark.slow
def test_killed_at_each_step_with_a_server(folder, server, tried):
    kills = many(8, 600)
    urls = [server.new_schema(f"killed{number}") for number in range(kills + 2)]
    _, found = walk(folder, kills, *urls)
    assert set(found) <= EXPECTED
    assert sum(found.values()) == kills
    tried("releases killed, each at another call", "postgresql", kills)


@pytest.mark.slow
def test_power_cut_at_every_length_of_the_log(folder, tried):
    """What reached the disk is a beginning of the log, perhaps with rubbish behind: all that was told is there."""
    path = folder / "ledger.db"
    ledger = small(str(path))
    keep = sqlite3.connect(path)  # as long as somebody reads, nothing is moved from the log into the file
    keep.execute("BEGIN")
    keep.execute("SELECT count(*) FROM ledger_journal").fetchone()
    base, log = path.read_bytes(), path.with_name("ledger.db-wal")
    told = [(log.stat().st_size, ledger.head.number)]
    for number in range(4):
        released(ledger, number)
        told.append((log.stat().st_size, ledger.head.number))
    content = log.read_bytes()
    keep.close()
    ledger.close()
    cuts = sorted({*range(0, len(content), every(1021, 61)), *(length for length, _ in told), len(content)})
    for number, cut in enumerate(cuts):
        copy = folder / f"cut{number}.db"
        copy.write_bytes(base)
        rubbish = b"\xa5" * 700 if number % 2 else b""
        copy.with_name(f"{copy.name}-wal").write_bytes(content[:cut] + rubbish)
        least = max((entry for length, entry in told if length <= cut), default=None)
        if least is None:
            continue
        with Ledger.open(copy) as after:
            assert after.head.number >= least
            verify(after)
            open_requests = [one for one in after.records(RequestRecord) if one.status == "reserved"]
            assert len(open_requests) <= 1
            for again in range(4):
                released(after, again)
            assert verify(after).entries == 4 + 8
        for left in folder.glob(f"cut{number}.db*"):
            left.unlink()
    tried("power cuts", "sqlite", len(cuts))


def test_power_cut_in_the_middle_of_a_checkpoint(tmp_path):
    """Some pages reached the file, others not, and the log is still there."""
    path = tmp_path / "ledger.db"
    ledger = small(str(path))
    keep = sqlite3.connect(path)
    keep.execute("BEGIN")
    keep.execute("SELECT count(*) FROM ledger_journal").fetchone()
    before = path.read_bytes()
    for number in range(6):
        released(ledger, number)
    log = path.with_name("ledger.db-wal").read_bytes()
    head = ledger.head
    keep.close()
    ledger.close()
    after = path.read_bytes()
    pages = len(after) // 4096
    for torn in range(pages + 1):
        mixed = bytearray(before.ljust(len(after), b"\0")[: len(after)])
        mixed[: torn * 4096] = after[: torn * 4096]
        copy = tmp_path / f"torn{torn}.db"
        copy.write_bytes(bytes(mixed) if torn else before)
        copy.with_name(f"{copy.name}-wal").write_bytes(log)
        with Ledger.open(copy) as found:
            assert verify(found).head == head


@pytest.mark.slow
def test_server_without_power(server, tried):
    """The server dies with all that it had not written; what it confirmed is there when it comes back."""
    crashes = many(1, 30)
    url = server.new_schema("power")
    ledger = small(url)
    for number in range(crashes):
        released(ledger, number)
        told = ledger.head
        server.crash()
        ledger.close()
        server.start()
        ledger = Ledger.open(url)
        assert ledger.head == told
    assert verify(ledger).bundles == crashes
    ledger.close()
    tried("power cuts", "postgresql", crashes)


def test_server_without_power_in_the_middle_of_its_work(server, tried):
    """Whatever eight writers were told is there when the server comes back; nothing else was answered."""
    crashes = many(1, 30)
    url = server.new_schema("busy")
    small(url, cap=eps(10_000), grant=eps(10_000)).close()
    told = set()

    def write(name):
        with suppress(LedgerError), Ledger.open(url) as ledger:
            for number in count():
                identity = f"{name}-{number}"
                content = answer(ledger, ledger.reserve(ask(hash(identity) & (1 << 60) - 1, id=identity)), number)
                told.add((identity, bytes(content)))

    for crash in range(crashes):
        writers = [threading.Thread(target=write, args=(f"{crash}-{number}",)) for number in range(8)]
        before = len(told)
        for one in writers:
            one.start()
        while len(told) < before + 10 + 3 * crash:
            time.sleep(0.01)
        server.crash()
        for one in writers:
            one.join()
        server.start()
        with Ledger.open(url) as ledger:
            verify(ledger)
            committed = {one.id for one in ledger.records(RequestRecord) if one.status == "committed"}
            assert {identity for identity, _ in told} <= committed
            assert ledger.records(Pool)[0].spent.epsilon == Fraction(len(ledger.records(RequestRecord)), 10)
    tried("power cuts", "postgresql", crashes)
    tried("charges confirmed to writers that were then cut off", "postgresql", len(told))
