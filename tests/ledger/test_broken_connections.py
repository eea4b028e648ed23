"""The server goes away in the middle of a command, at each thing that the command asks of it."""

import logging
from itertools import count

import psycopg
import pytest

from margrave.ledger import Ledger, verify
from margrave.ledger.records import Pool
from tests.ledger.commands import run  # noqa: F401
from tests.ledger.helpers import every

STEPS = {
    "init": ("ledger", "init"),
    "dataset": ("ledger", "dataset", "survey@1", "--spec", "spec.toml", "--cap", "epsilon=3"),
    "account": ("ledger", "account", "ann"),
    "grant": ("ledger", "grant", "ann", "survey@1", "epsilon=2"),
    "show": ("ledger", "show"),
    "history": ("ledger", "history"),
    "verify": ("ledger", "verify"),
    "export": ("ledger", "export", "survey"),
    "release": ("release", "spec.toml", "--account", "ann", "--request", "one"),
}


class Breaking:
    """Connections that are ended by the server just before the statement of some number."""

    def __init__(self, server, monkeypatch):
        self.server, self.last, self.made = server, None, 0
        self.execute = psycopg.Connection.execute
        monkeypatch.setattr(psycopg.Connection, "execute", lambda one, *words: self.do(one, words))

    def do(self, connection, words):
        self.made += 1
        if self.made == self.last:
            pid = connection.info.backend_pid
            with psycopg.connect(self.server.url(), autocommit=True) as other:
                self.execute(other, "SELECT pg_terminate_backend(%s, 5000)", (pid,))
        return self.execute(connection, *words)


@pytest.mark.slow
def test_a_server_that_goes_away_is_named_and_the_command_goes_on_afterwards(server, run, monkeypatch, tried):  # noqa: F811
    """Every command, broken at its statements, says one line, and once it is let through all is as it should be."""
    url = server.new_schema("broken")
    monkeypatch.setenv("MARGRAVE_LEDGER", url)
    breaking = Breaking(server, monkeypatch)
    outs, breaks = count(), 0
    for name, words in STEPS.items():
        for last in range(1, 200, every(5, 1)):
            breaking.last, breaking.made = last, 0
            options = ("--ledger", url, "--out", f"out{next(outs)}") if name == "release" else ()
            try:
                said = run(*words, *options, code=1)
            except AssertionError:
                if breaking.made >= last:
                    raise
                break
            *before, said = said.splitlines()
            assert all("this release" in line.lower() for line in before)  # what it costs, or that it comes back free
            if "already" in said:  # what was broken after its commit holds
                break
            assert "cannot be reached" in said
            breaks += 1
        assert last > 5
    breaking.last = None
    tried("connections broken in the middle of a command", "postgresql", breaks)
    with Ledger.open(url) as ledger:
        assert verify(ledger).entries == 7
        assert ledger.records(Pool)[0].spent.epsilon == 1
    assert logging.getLogger("psycopg").handlers  # otherwise its warnings would be printed beside the one line
