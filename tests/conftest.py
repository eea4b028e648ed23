"""Settings for the whole suite: property tests are deterministic and have no clock."""

import os
import shutil

import pytest
from hypothesis import settings

from tests.processor import Processor

# Before NumPy is loaded: several workers whose matrix products have a thread for every core wait for each other in
# busy loops, which took up to eight times the processor time.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

settings.register_profile("margrave", deadline=None, derandomize=True, max_examples=60, print_blob=False)
settings.load_profile("margrave")


def pytest_configure(config):
    config.pluginmanager.register(Processor(), "margrave-processor")


@pytest.fixture(autouse=True, scope="session")
def few_simulations():
    """Error bars from fewer simulations than a real release takes: enough to test everything but their precision."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("margrave.planning.limits.MANY_SIMULATIONS", 6)
        patch.setattr("margrave.planning.limits.FEW_SIMULATIONS", 3)
        patch.setattr("margrave.planning.limits.RECORD_SIMULATIONS", ((3, 2 * 10**7), (2, 6 * 10**8)))
        yield


@pytest.fixture(autouse=True, scope="session")
def patience():
    """Commands say no word about how long they take: it depends on the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("margrave.cli.terminal.PATIENCE", 3600.0)
        yield


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests that need a browser."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None and "CI" not in os.environ:
        pytest.skip("no Chromium: install it (Debian: apt-get install chromium)")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()
