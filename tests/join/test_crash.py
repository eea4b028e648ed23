"""Sides of a join killed at any step: nothing is lost, nothing leaves without its charge, nothing is charged twice."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.ledger.helpers import many

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder():
    """A folder in memory if there is one: a kill does not ask what the disk has."""
    shared = Path("/dev/shm")
    found = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    yield found
    shutil.rmtree(found)


@pytest.mark.slow
def test_killed_at_calls_of_every_step(folder):
    command = [sys.executable, "-m", "tests.join.crash", str(folder), str(many(48, 2000))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3000)
    assert done.returncode == 0, done.stderr
    total, *lines = done.stdout.splitlines()
    found = {state: int(times) for times, _, state in (line.partition(" ") for line in lines)}
    assert sum(found.values()) >= many(48, 1500) and int(total) > 200
    assert {state.partition(":")[0] for state in found} == {"offer", "answer", "result", "accepted"}
    assert any("reserved, no message" in state for state in found)
    assert any("nothing, no message" in state for state in found)
