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
    folder = tmp_path_factory.mktemp("paging")
    sources = folder / "sources"
    sources.mkdir()
    (sources / "people.csv").write_text("region,age,income\n" + "north,30,100\nsouth,40,200\n" * 50)
    one = Served(store_url, folder, "--workers", "1", "--rate", "10000", "--sources", str(sources))
    yield one
    one.stop()
