"""Ledgers in both stores: every test that asks for `url` runs on SQLite and on PostgreSQL. A soak ends with figures."""

from collections import Counter
from itertools import count

import pytest

from tests.ledger.helpers import SOAK
from tests.ledger.server import Server

_schemas = count()


@pytest.fixture(scope="session")
def server():
    one = Server()
    yield one
    one.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The place of a ledger that is yet to be made."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("server").new_schema(f"ledger{next(_schemas)}")


@pytest.fixture
def tried(record_property):
    """Notes how often something was tried on a store, for the figures of a soak."""
    return lambda what, store, times: record_property("tried", (what, store, times))


def pytest_terminal_summary(terminalreporter):
    """A table for docs/curator.md: what was tried how often, and that all of it went well."""
    if not SOAK:
        return
    rows = {}
    for report in terminalreporter.stats.get("passed", ()):
        for name, note in report.user_properties:
            if name == "tried":
                what, store, times = note
                rows.setdefault(what, Counter())[store] += times
    terminalreporter.write_line("| tried | SQLite | PostgreSQL |\n|---|---|---|")
    for what, times in sorted(rows.items()):
        cells = (f"{times[store]:,}" if store in times else "–" for store in ("sqlite", "postgresql"))
        terminalreporter.write_line(f"| {what} | {' | '.join(cells)} |")
    failed = sum(len(terminalreporter.stats.get(kind, ())) for kind in ("failed", "error"))
    terminalreporter.write_line(f"{failed} tests FAILED: these figures do not count." if failed else "All went well.")
