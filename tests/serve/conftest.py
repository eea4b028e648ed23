"""One server for all tests, on each store."""

from itertools import count

import pytest

from tests.ledger.server import Server
from tests.serve.served import Served, fill

_schemas = count()
_names = count()


@pytest.fixture(scope="session")
def postgres():
    one = Server()
    yield one
    one.stop()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def store_url(request, tmp_path_factory):
    """The place of a ledger with a clinic, on each store."""
    folder = tmp_path_factory.mktemp("served")
    if request.param == "sqlite":
        url = str(folder / "ledger.db")
    else:
        url = request.getfixturevalue("postgres").new_schema(f"served{next(_schemas)}")
    fill(url, folder / "store")
    return url


@pytest.fixture(scope="session")
def served(store_url, tmp_path_factory):
    one = Served(store_url, tmp_path_factory.mktemp("serving"), "--workers", "2", "--rate", "10000")
    yield one
    one.stop()


@pytest.fixture
def new_name():
    """A name that nobody has yet."""
    return lambda: f"person{next(_names)}"
