"""One server with a clinic for the tests of pages, which are the same on every store."""

import pytest

from tests.serve.served import Served, fill


@pytest.fixture(scope="session")
def store_url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paged")
    fill(str(folder / "ledger.db"), folder / "store")
    return str(folder / "ledger.db")


@pytest.fixture(scope="session")
def served(store_url, tmp_path_factory):
    one = Served(store_url, tmp_path_factory.mktemp("paging"), "--workers", "1", "--rate", "10000")
    yield one
    one.stop()
