"""Differencing and composition: what adds up, who adds it up, and what the ledger lets pass."""

from fractions import Fraction
from itertools import product
from math import exp

import pytest

from margrave.budget.units import PureDP
from margrave.noise import Generator
from margrave.study.attacks.composition import (
    CAP,
    FIRST,
    LUCKY,
    OTHERWISE,
    Accepted,
    by_ledger,
    composition,
    hasty,
    loss_beyond,
)
from margrave.study.attacks.differencing import asked_again, differencing, served
from margrave.study.attacks.terms import Terms

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def composed():
    return composition(Terms(seed="test", runs=2000))


def test_many_small_questions_tell_all_unless_the_ledger_stops_them(composed):
    last = composed.rows[-1]
    assert last.wrong > 0.95
    assert all(row.margrave < row.bound for row in composed.rows)


def test_the_clever_analyst_beats_composition_and_not_the_ledger(composed):
    hurried, careful = (float(row[2]) for row in composed.more[0].rows)
    assert hurried == pytest.approx(0.0155, abs=1e-4) and hurried > float(CAP.delta) > careful
    assert loss_beyond(hasty(), 1.0) == pytest.approx(hurried, abs=1e-4)


def test_the_loss_is_that_of_every_sequence_of_answers():
    accepted = Accepted((Fraction(1, 4),) * 2, (Fraction(1, 2),) * 2, (Fraction(1, 8),) * 3)
    total = 0.0
    for first in product((1, -1), repeat=2):
        rest = accepted.lucky if first == (1, 1) else accepted.otherwise
        for after in product((1, -1), repeat=len(rest)):
            pairs = [*zip(first, accepted.first, strict=True), *zip(after, rest, strict=True)]
            loss, chance = sum(s * float(e) for s, e in pairs), 1.0
            for sign, one in pairs:
                chance *= 1 / (1 + exp(-sign * float(one)))
            total += chance * max(0.0, 1 - exp(0.9 - loss))
    assert loss_beyond(accepted, 0.9) == pytest.approx(total)
    assert loss_beyond(Accepted((), (), ()), 1.0) == 0.0


def test_the_ledger_lets_pass_what_fits(tmp_path):
    assert by_ledger(PureDP(Fraction(1)), [Fraction(1, 4)] * 9, tmp_path) == 4
    assert by_ledger(CAP, (*FIRST, *LUCKY), tmp_path) < 4
    assert by_ledger(CAP, (*FIRST, *OTHERWISE), tmp_path) < 45
    assert served(Fraction(1), 9, tmp_path) == 4


def test_colluding_analysts_are_stopped_by_the_cap():
    found = differencing(Terms(seed="test", runs=60))
    last = found.rows[-1]
    assert last.exact == 1.0 and last.wrong > 0.98
    # Sixty runs: three standard errors are about a fifth.
    assert all(row.margrave <= row.bound for row in found.rows)
    assert [row[1] for row in found.more[0].rows] == ["1", "4", "4", "4", "4"]


def test_asking_once_more_helps_by_the_root():
    once, often = (asked_again(Fraction(1), times, 4000, Generator.seeded(f"{times}")) for times in (1, 64))
    assert 0.6 < once < 0.7 and often > 0.97
