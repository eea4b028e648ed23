"""A long journal is verified in seconds; charges keep up with a bare loop of commits (the long variant)."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmarks.ledger import long_ledger

from margrave.budget.ledger import Ledger, verify
from tests.budget.ledger.helpers import SOAK

ROOT = Path(__file__).parents[3]


def test_a_long_journal_is_verified_in_seconds(tmp_path):
    entries = 100_000 if SOAK else 10_000
    long_ledger(tmp_path / "long.db", entries)
    with Ledger.open(tmp_path / "long.db") as ledger:
        start = time.process_time()
        checked = verify(ledger)
        assert checked.entries == entries
        assert time.process_time() - start < entries / 4000


@pytest.mark.skipif(not SOAK, reason="a comparison of speeds needs a quiet machine and time")
def test_charges_keep_up_with_a_bare_loop():
    command = [sys.executable, "benchmarks/ledger.py", "--entries", "100", "--seconds", "20"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ratios = [float(text) for text in re.findall(r"ledger / bare ([\d.]+)", shown)]
    assert len(ratios) == 4
    assert min(ratios) >= 0.5, shown
