"""Sixty-four writers at once: what fits is charged, exactly, and nothing else is."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from margrave.budget.ledger import Ledger, verify
from margrave.budget.ledger.records import Pool
from tests.budget.ledger.helpers import SOAK, small

ROOT = Path(__file__).parents[3]


def crowd(url, processes, threads, task):
    command = [sys.executable, "-m", "tests.budget.ledger.crowd", url, str(processes), str(threads), task]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    pairs = (line.partition(" ") for line in done.stdout.splitlines())
    return {text: int(times) for times, _, text in pairs}


@pytest.mark.parametrize(("processes", "threads"), [(8, 8), *([(64, 1), (1, 64), (16, 4)] * 5 if SOAK else [])])
def test_room_for_exactly_one_hundred(url, processes, threads):
    small(url).close()
    found = crowd(url, processes, threads, "spend")
    assert all(text.isdigit() for text in found), found
    assert sum(found.values()) == 64
    assert sum(int(text) * times for text, times in found.items()) == 100
    with Ledger.open(url) as ledger:
        assert ledger.records(Pool)[0].spent.epsilon == 10
        assert verify(ledger).entries == 4 + 200


def test_one_request_by_all_is_charged_once_and_answered_alike(url):
    small(url).close()
    found = crowd(url, 8, 8, "same")
    assert list(found.values()) == [64], found
    with Ledger.open(url) as ledger:
        assert ledger.records(Pool)[0].spent.epsilon == Fraction(1, 10)
        assert verify(ledger).entries == 4 + 2
