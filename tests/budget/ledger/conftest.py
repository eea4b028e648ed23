"""Ledgers in both stores: every test that asks for `url` runs on SQLite and on PostgreSQL."""

from itertools import count

import pytest

from tests.budget.ledger.server import Server

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
