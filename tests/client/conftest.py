"""The server of the tests of `serve` on one store, for its client, who cannot tell which it is.

It simulates as a real one does, and so does whoever verifies.
"""

import pytest

from margrave.planning import limits
from tests.serve.conftest import new_name, served
from tests.serve.served import fill

__all__ = ["new_name", "served"]
_NAMES = ("MANY_SIMULATIONS", "FEW_SIMULATIONS", "RECORD_SIMULATIONS")
_REAL = {name: getattr(limits, name) for name in _NAMES}


@pytest.fixture(scope="session")
def store_url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    fill(str(folder / "ledger.db"), folder / "store")
    return str(folder / "ledger.db")


@pytest.fixture(autouse=True)
def all_simulations(monkeypatch):
    for name, value in _REAL.items():
        monkeypatch.setattr(limits, name, value)
