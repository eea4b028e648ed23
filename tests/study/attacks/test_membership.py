"""Membership in a case group."""

import numpy as np
import pytest

from margrave.noise import Generator
from margrave.study.attacks.membership import found_at, homer, likelihood, membership, people, population
from margrave.study.attacks.terms import Terms

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    return membership(Terms(seed="test", runs=2))


def test_many_exact_frequencies_give_members_away(found):
    exact = [row.exact for row in found.rows]
    assert exact == sorted(exact) and exact[-1] > 0.8 and found.rows[-1].wrong > 0.7


def test_margraves_frequencies_do_not(found):
    assert all(row.margrave < row.bound == pytest.approx(0.1359, abs=1e-4) for row in found.rows)
    drawn = {line.style: line for line in found.panels[1].lines}
    # About 200 members: beside the share that the bound allows, three standard errors of it.
    pairs = zip(drawn["margrave"].y, drawn["bound"].y, strict=True)
    assert all(reached <= bound + 3 * (bound * (1 - bound) / 200) ** 0.5 for reached, bound in pairs)
    assert all(a <= b for a, b in zip(drawn["chance"].y, drawn["bound"].y, strict=True))


def test_both_statistics_are_those_of_their_authors():
    who, p, f = np.array([[1, 0]]), np.array([0.5, 0.5]), np.array([0.75, 0.5])
    assert homer(who, p, f).tolist() == [0.25]
    assert likelihood(who, p, f)[0] == pytest.approx(np.log(1.5))


def test_a_coin_finds_as_many_as_it_accuses():
    scores = population(4000, Generator.seeded("coin"))
    assert found_at(scores[:2000], scores[2000:], 0.05) == pytest.approx(0.05, abs=0.02)
    assert people(np.full(3, 0.99), 50, Generator.seeded("people")).mean() > 0.9
