"""Sixty-four writers at once: what fits is charged, exactly, and nothing else is."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from margrave.ledger import Ledger, verify
from margrave.ledger.records import Pool, RequestRecord
from tests.ledger.helpers import eps, many, small

ROOT = Path(__file__).parents[2]


def crowd(url, processes, threads, task):
    command = [sys.executable, "-m", "tests.ledger.crowd", url, str(processes), str(threads), task]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=1200)
    pairs = (line.partition(" ") for line in done.stdout.splitlines())
    return {text: int(times) for times, _, text in pairs}


RACES = [(8, 8), (64, 1), (1, 64), (16, 4)] * many(0, 15)


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "threads"), RACES or [(8, 8)])
def test_room_for_exactly_one_hundred(url, processes, threads, tried):
    small(url).close()
    found = crowd(url, processes, threads, "spend")
    assert all(text.isdigit() for text in found), found
    assert sum(found.values()) == 64
    assert sum(int(text) * times for text, times in found.items()) == 100
    with Ledger.open(url) as ledger:
        assert ledger.records(Pool)[0].spent.epsilon == 10
        assert verify(ledger).entries == 4 + 200
    tried("races of 64 writers for the last of a budget", kind_of(url), 1)
    tried("charges in these races", kind_of(url), 100)


@pytest.mark.slow
@pytest.mark.parametrize("_", range(many(1, 15)))
def test_one_request_by_all_is_charged_once_and_answered_alike(url, tried, _):
    small(url).close()
    found = crowd(url, 8, 8, "same")
    assert list(found.values()) == [64], found
    with Ledger.open(url) as ledger:
        assert ledger.records(Pool)[0].spent.epsilon == Fraction(1, 10)
        assert verify(ledger).entries == 4 + 2
    tried("races of 64 writers with one question", kind_of(url), 1)


@pytest.mark.slow
def test_writers_killed_at_any_moment_leave_all_that_was_confirmed(url, tried):
    """Eight writers, killed together again and again: what each was told is there, and nothing is charged twice."""
    rounds = many(3, 300)
    small(url, cap=eps(10_000), grant=eps(10_000)).close()
    found = crowd(url, 8, rounds, "killed")
    with Ledger.open(url) as ledger:
        committed = {one.id for one in ledger.records(RequestRecord) if one.status == "committed"}
        assert found and found.keys() <= committed
        assert set(found.values()) == {1}
        assert ledger.records(Pool)[0].spent.epsilon == Fraction(len(ledger.records(RequestRecord)), 10)
        verify(ledger)
    tried("writers killed, eight at a time", kind_of(url), 8 * rounds)
    tried("charges confirmed to writers that were then cut off", kind_of(url), len(found))


def kind_of(url):
    return "postgresql" if url.startswith("postgresql") else "sqlite"
