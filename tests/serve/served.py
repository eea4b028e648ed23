"""A real server for the tests: its own processes on the loopback address, with a clinic to ask about."""

import os
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction

import httpx
import psutil
from argon2 import PasswordHasher

from margrave.budget.units import PureDP
from margrave.ledger import Ledger
from margrave.pipeline import open_data
from margrave.planning.questions.data_spec import DataSpec
from margrave.serve.kept import people as people_module
from margrave.serve.kept.people import PeopleTable
from margrave.serve.kept.tables import ServerTables
from margrave.serve.kept.tokens import ALLOWED, Tokens
from tests.session.conftest import SPEC, clinic

people_module._hasher = lambda: PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""People whom the tests make themselves have passwords that are hashed in no time; the server's own are not."""
DATASET = "clinic@2024"
PASSWORD = "correct horse battery"
START = 90


def fill(url, store, *, cap=1_000):
    """A ledger with a clinic that is open for questions."""
    spec = DataSpec.load(SPEC)
    with Ledger.create(url) as ledger:
        ledger.register(DATASET, spec.notion, PureDP(Fraction(cap)))
        open_data(spec, clinic(), ledger=ledger, dataset=DATASET, place=store)


class Served:
    """``margrave serve`` in processes of its own."""

    def __init__(self, url, folder, *options):
        self.url, self.out, self.options = url, folder / "serve.txt", options
        self.process, self.address, self.invitation = None, "", ""
        self.start()

    def start(self):
        with self.out.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "margrave", "serve", "--ledger", self.url, "--port", "0", *self.options],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "COLUMNS": "400"},
            )
        self._wait(lambda: "/v1/about" in self.out.read_text())
        said = self.out.read_text()
        self.address = re.search(r"serves at (\S+)", said)[1]
        found = re.search(r"code=(inv_[\w-]+)", said)
        self.invitation = found[1] if found else ""
        self._wait(self._answers)

    def _answers(self):
        try:
            return httpx.get(self.address + "/v1", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def _wait(self, ready):
        until = time.monotonic() + START
        while not ready():
            assert self.process.poll() is None, self.out.read_text()
            assert time.monotonic() < until, self.out.read_text()
            time.sleep(0.1)

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)

    def children(self):
        """The workers and the process that has questions answered, without what Python starts beside them."""
        every = psutil.Process(self.process.pid).children(recursive=True)
        return [one for one in every if "resource_tracker" not in " ".join(one.cmdline())]

    def person(self, name, role="analyst", *, epsilon=None, scopes=None):
        """Somebody with a token, made at the store itself: the doors have tests of their own."""
        with Ledger.open(self.url) as ledger:
            if role == "analyst":
                ledger.add_account(name)
                if epsilon is not None:
                    ledger.grant(name, DATASET, PureDP(Fraction(epsilon)))
            tables = ServerTables(ledger)
            people = PeopleTable(tables)
            person = people.accept(people.invite(role, name), name, PASSWORD)
            return Tokens(tables).make(person, scopes or ALLOWED[role])[1]

    def login(self, name):
        """The secret of a login, made at the store itself."""
        with Ledger.open(self.url) as ledger:
            return PeopleTable(ServerTables(ledger)).log_in(name, PASSWORD).secret

    def invited(self, role):
        """An invitation for anybody."""
        with Ledger.open(self.url) as ledger:
            return PeopleTable(ServerTables(ledger)).invite(role)

    def client(self, token=""):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.address, headers=headers, timeout=600)
