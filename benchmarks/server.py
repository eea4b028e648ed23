"""How many questions a second a server answers over a million rows, what each costs it, and how soon it explains.

Run with: python benchmarks/server.py [rows] [questions] [clients]. Time classes are off: with them, a slot answers
twenty of the shortest class a second, whatever the machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from http.client import HTTPConnection
from json import dumps, loads
from pathlib import Path
from statistics import quantiles

import numpy as np
import pandas as pd
import psutil

from margrave.budget.units import PureDP
from margrave.ledger import Ledger
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from margrave.serve.kept.people import PeopleTable
from margrave.serve.kept.tables import ServerTables
from margrave.serve.kept.tokens import ALLOWED, Tokens

DATASET = "people@1"
START = 120


def fill(folder: Path, rows: int) -> tuple[str, str]:
    """A ledger with a data set of so many rows, and the token of an analyst."""
    url = str(folder / "ledger.db")
    spec = DataSpec.load(
        {
            "tables": {
                "people": {
                    "rows": rows,
                    "columns": {
                        "region": ["north", "south", "east", "west"],
                        "age": {"number": [0, 120]},
                        "income": {"number": [0, 100_000], "step": 10},
                    },
                }
            }
        }
    )
    generator = np.random.default_rng(20)
    frame = pd.DataFrame(
        {
            "region": generator.choice(["north", "south", "east", "west"], rows),
            "age": generator.integers(0, 100, rows),
            "income": 10 * generator.integers(0, 10_000, rows),
        }
    )
    with Ledger.create(url) as ledger:
        ledger.register(DATASET, spec.notion, PureDP(Fraction(10**6)))
        open_data(spec, {"people": frame}, ledger=ledger, dataset=DATASET, place=folder / "store")
        ledger.add_account("ann")
        ledger.grant("ann", DATASET, PureDP(Fraction(10**6)))
        tables = ServerTables(ledger)
        tables.make()
        people = PeopleTable(tables)
        person = people.accept(people.invite("analyst", "ann"), "ann", "correct horse battery")
        return url, Tokens(tables).make(person, ALLOWED["analyst"])[1]


class Server:
    """``margrave serve`` without time classes."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-m", "margrave", "serve", "--ledger", url, "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--untimed", "--rate", "1000000"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        said, until = "", time.monotonic() + START
        while "serves at" not in said and time.monotonic() < until:
            said += self.process.stdout.readline()
        found = re.search(r"serves at\s+http://([\d.]+):(\d+)", said)
        assert found is not None, said
        self.place = found[1], int(found[2])

    def seconds(self) -> float:
        """Processor time of all its processes so far."""
        own = psutil.Process(self.process.pid)
        every = [own, *own.children(recursive=True)]
        return sum(one.cpu_times().user + one.cpu_times().system for one in every)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


class Asker:
    """One client, with one connection."""

    def __init__(self, server: Server, token: str) -> None:
        self._connection = HTTPConnection(*server.place, timeout=300)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def sent(self, method: str, path: str, body: object = None, **headers: str) -> dict[str, object]:
        content = None if body is None else dumps(body)
        self._connection.request(method, path, content, {**self._headers, **headers})
        reply = self._connection.getresponse()
        told: dict[str, object] = loads(reply.read())
        assert reply.status < 300, told
        return told

    def ask(self, number: int) -> None:
        """A question that nobody has asked before, up to its answer."""
        text = f"people where age > {number % 97} and income > {10 * (number % 9_973)} count"
        made = self.sent(
            "POST",
            f"/v1/datasets/{DATASET}/questions",
            {"text": text, "budget": {"epsilon": "0.01"}},
            **{"Idempotency-Key": f"question-{number}"},
        )
        while made["state"] == "waiting":
            made = self.sent("GET", f"/v1/questions/{made['id']}?wait=60")
        assert made["state"] == "answered", made

    def explain(self, number: int) -> float:
        """How long it takes to have a question explained, in milliseconds."""
        text = f"people where age > {number % 97} by region average income"
        started = time.perf_counter()
        self.sent("POST", f"/v1/datasets/{DATASET}/explain", {"text": text, "budget": {"epsilon": "0.1"}})
        return 1000 * (time.perf_counter() - started)


def main(rows: int = 1_000_000, questions: int = 2_000, clients: int = 16) -> None:
    with tempfile.TemporaryDirectory() as place:
        url, token = fill(Path(place), rows)
        server = Server(url)
        try:
            askers = [Asker(server, token) for _ in range(clients)]
            for _ in range(START):
                try:
                    askers[0].ask(questions)
                    break
                except OSError:
                    time.sleep(1)
                    askers[0] = Asker(server, token)
            before, started = server.seconds(), time.perf_counter()
            with ThreadPoolExecutor(clients) as pool:
                shares = [range(at, questions, clients) for at in range(clients)]
                list(pool.map(lambda pair: [pair[0].ask(one) for one in pair[1]], zip(askers, shares, strict=True)))
            took, spent = time.perf_counter() - started, server.seconds() - before
            print(f"{rows:,} rows, {questions:,} questions, {clients} clients, load {psutil.getloadavg()[0]:.1f}")
            print(
                f"{questions / took:.0f} questions a second, {1000 * spent / questions:.2f} ms of processor time each"
            )
            times = [askers[0].explain(number) for number in range(1_000)]
            cuts = quantiles(times, n=100)
            print(f"explain: median {cuts[49]:.1f} ms, 99th percentile {cuts[98]:.1f} ms")
        finally:
            server.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
