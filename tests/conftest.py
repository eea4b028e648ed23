"""Settings for the whole suite: property tests are deterministic and have no clock."""

import pytest
from hypothesis import settings

settings.register_profile("margrave", deadline=None, derandomize=True, max_examples=60, print_blob=False)
settings.load_profile("margrave")


@pytest.fixture(autouse=True)
def few_simulations(monkeypatch):
    """Error bars from fewer simulations than a real release takes: enough to test everything but their precision."""
    monkeypatch.setattr("margrave.reconstruct.bootstrap._MANY", 6)
    monkeypatch.setattr("margrave.reconstruct.bootstrap._FEW", 3)
