"""A long journal is verified as a short one is; how fast, benchmarks/ledger.py shows."""

import pytest
from benchmarks.ledger import long_ledger

from margrave.ledger import Ledger, verify
from tests.ledger.helpers import many


@pytest.mark.slow
def test_a_long_journal_is_verified_to_its_last_entry(tmp_path, tried):
    entries = many(10_000, 200_000)
    long_ledger(tmp_path / "long.db", entries)
    with Ledger.open(tmp_path / "long.db") as ledger:
        assert verify(ledger).entries == entries
    tried("entries of one journal verified", "sqlite", entries)
