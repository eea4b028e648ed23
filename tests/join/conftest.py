"""Ledgers are closed when a test ends; a PostgreSQL server for some of them, as the tests of ledgers have."""

import pytest

from tests.join.parties import OPEN
from tests.ledger.conftest import server as server


@pytest.fixture(autouse=True)
def closing():
    yield
    while OPEN:
        OPEN.pop().close()
