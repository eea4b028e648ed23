"""How fast a ledger is: charges against a bare loop of two commits on the same store in the same run, and `verify`.

    python benchmarks/ledger.py [--entries 100000] [--seconds 6]

A client of the bare loop commits twice: a row as long as the entry of a charge, then one as long as the entry of its
commit together with the answer. Each time it also reads one balance, checks it and adds to it, as whatever guards a
common budget must; without that ("inserts") clients of a server do not wait for one another. A client of the ledger
reserves and commits; a release also keeps its noisy answers in between, a third commit. Clients are processes; the
loops take turns in short rounds, so that a busy disk is equally busy for all. PostgreSQL is measured where the tests
can start a server.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from margrave.budget.units import PureDP
from margrave.ledger import DataSetName, Ledger, Notion, Request, verify
from margrave.ledger.journal import Entry, digest, hash_of
from margrave.ledger.replay import recomputed
from margrave.ledger.rules.entries import apply
from margrave.ledger.stores.store import MOST_PARTS

ROUNDS = 20
MECHANISM = {"margin": ["smoke", "age"], "noise": {"kind": "discrete-laplace", "scale": "10"}}
ANSWER = b"x" * 2000
MOST = 10**9
ENTRY, COMMIT = "x" * 560, "x" * 330


def ledger_client(url: str, keeping: bool = False) -> Callable[[], None]:
    ledger, numbers, cost = Ledger.open(url), count(os.getpid() << 40), PureDP(Fraction(1, 10))
    name, notion = DataSetName("survey", "1"), Notion()

    def once() -> None:
        number = next(numbers)
        request = Request(name, "ann", f"{number:064x}", cost, notion, mechanisms=(MECHANISM,))
        charge = ledger.reserve(request)
        if keeping:
            charge = ledger.keep(charge, ANSWER)
        ledger.commit(charge, ANSWER + str(number).encode(), "0" * 64)

    return once


def bare_sqlite(path: str, balance: bool = True) -> Callable[[], None]:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")

    def once() -> None:
        for entry, answer in ((ENTRY, None), (COMMIT, ANSWER)):
            connection.execute("BEGIN IMMEDIATE")
            if balance:
                spent = connection.execute("SELECT spent FROM balance").fetchone()[0] + 1
                assert spent <= MOST
                connection.execute("UPDATE balance SET spent = ?", (spent,))
            connection.execute("INSERT INTO bare VALUES (?, ?)", (entry, answer))
            connection.execute("COMMIT")

    return once


def bare_postgres(url: str, balance: bool = True) -> Callable[[], None]:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)

    def once() -> None:
        for entry, answer in ((ENTRY, None), (COMMIT, ANSWER)):
            connection.execute("BEGIN")
            if balance:
                spent = connection.execute("SELECT spent FROM balance FOR UPDATE").fetchone()[0] + 1
                assert spent <= MOST
                connection.execute("UPDATE balance SET spent = %s", (spent,))
            connection.execute("INSERT INTO bare VALUES (%s, %s)", (entry, answer))
            connection.execute("COMMIT")

    return once


def client(make: Callable[[str], Callable[[], None]], place: str, commands: int, results: int) -> None:
    """One process that works for as long as it is told, again and again, and says how often it was done."""
    once = make(place)
    once()
    while (command := os.read(commands, 8)).strip() != b"end":
        until, done = time.perf_counter() + float(command), 0
        while time.perf_counter() < until:
            once()
            done += 1
        os.write(results, done.to_bytes(8, "little"))
    os._exit(0)


class Crowd:
    """Some clients of one kind."""

    def __init__(self, clients: int, make: Callable[[str], Callable[[], None]], place: str) -> None:
        self.pipes, self.pids = [], []
        for _ in range(clients):
            (command, told), (result, said) = os.pipe(), os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(told)
                client(make, place, command, said)
            os.close(command)
            self.pipes.append((told, result))
            self.pids.append(pid)

    def work(self, seconds: float) -> float:
        """How many were done in a second, all together."""
        for told, _ in self.pipes:
            os.write(told, f"{seconds:.3f}".encode().ljust(8))
        return sum(int.from_bytes(os.read(result, 8), "little") for _, result in self.pipes) / seconds

    def end(self) -> None:
        for told, _ in self.pipes:
            os.write(told, b"end".ljust(8))
        for pid in self.pids:
            os.waitpid(pid, 0)


def prepared(url: str) -> None:
    with Ledger.create(url) as ledger:
        ledger.register("survey@1", Notion(), PureDP(Fraction(10**6)))
        ledger.add_account("ann")
        ledger.grant("ann", "survey@1", PureDP(Fraction(10**6)))


def compare(name: str, make: Callable[..., Callable[[], None]], place: str, url: str, seconds: float) -> None:
    for clients in (1, 8):
        crowds = [Crowd(clients, make, place), Crowd(clients, partial(make, balance=False), place)]
        crowds += [Crowd(clients, ledger_client, url), Crowd(clients, partial(ledger_client, keeping=True), url)]
        for crowd in crowds:
            crowd.work(1)  # until logs have their length and caches are filled
        rates = [[crowd.work(seconds / ROUNDS) for crowd in crowds] for _ in range(ROUNDS)]
        for crowd in crowds:
            crowd.end()
        bare, inserts, charged, kept = (sum(row[kind] for row in rates) / ROUNDS for kind in range(4))
        print(
            f"{name:10} {clients} clients: bare {bare:5.0f}/s, inserts {inserts:5.0f}/s, ledger {charged:5.0f}/s; "
            f"ledger / bare {charged / bare:.2f}, ledger / inserts {charged / inserts:.2f}; "
            f"with noisy answers kept {kept:5.0f}/s",
            flush=True,
        )


def charge(number: int) -> tuple[str, dict[str, Any], bytes | None]:
    body = {"request": f"r{number:09}", "dataset": "survey@1", "account": "ann", "question": f"{number:064x}"}
    cost = {"epsilon": "0.1"}
    return "reserve", body | {"title": "", "cost": cost, "mechanisms": [MECHANISM], "exact": []}, None


def answer(number: int) -> tuple[str, dict[str, Any], bytes | None]:
    content = f"answer {number}".encode()
    return "commit", {"request": f"r{number:09}", "bundle": digest(content), "release": "0" * 64}, content


def long_ledger(path: Path, entries: int) -> None:
    """A ledger of so many entries, written at once: the rules and hashes are the real ones, only the waiting is not."""
    prepared(str(path))
    ledger = Ledger.open(path)
    head = ledger.head
    with ledger.store.reading() as session:
        view = recomputed(session)
    rows, answers, previous = [], [], head.hash
    for number in range(head.number + 1, entries + 1):
        kind, body, content = charge(number) if (number - head.number) % 2 else answer(number - 1)
        if content is not None:
            answers.append(((number - 1) * MOST_PARTS, content))
        entry = Entry(number, "2999-01-01T00:00:00.000000Z", kind, body, previous)
        previous = hash_of(entry.text)
        apply(view, entry, previous)
        rows.append((number, entry.text, previous))
    with ledger.store.connection() as connection:
        connection.execute("BEGIN")
        connection.execute("DELETE FROM ledger_state")
        connection.executemany("INSERT INTO ledger_journal VALUES (?, ?, ?)", rows)
        connection.executemany("INSERT INTO ledger_answer VALUES (?, ?)", answers)
        state = [(key, record.text) for key, record in view.changes.items()]
        connection.executemany("INSERT INTO ledger_state VALUES (?, ?)", state)
        connection.execute("COMMIT")
    ledger.close()


def time_verify(folder: Path, entries: int) -> None:
    path = folder / "long.db"
    long_ledger(path, entries)
    with Ledger.open(path) as ledger:
        start = time.perf_counter()
        checked = verify(ledger)
        print(f"verify      {checked.entries} entries: {time.perf_counter() - start:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with sqlite3.connect(folder / "bare.db") as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE bare (entry TEXT, answer BLOB)")
            connection.execute("CREATE TABLE balance AS SELECT 0 AS spent")
        connection.close()
        prepared(str(folder / "ledger.db"))
        compare("SQLite", bare_sqlite, str(folder / "bare.db"), str(folder / "ledger.db"), options.seconds)
        from tests.ledger.server import Server, programs

        if programs() is not None:
            server = Server()
            try:
                url = server.new_schema("bench")
                prepared(url)
                with server.connect() as postgres:
                    postgres.execute("CREATE TABLE bare (entry TEXT, answer BYTEA)")
                    postgres.execute("CREATE TABLE balance AS SELECT 0 AS spent")
                compare("PostgreSQL", bare_postgres, server.url(), url, options.seconds)
            finally:
                server.stop()
        time_verify(folder, options.entries)


if __name__ == "__main__":
    main()
