"""The demo has what it says: two analysts, three releases, a budget half used."""

from fractions import Fraction

import pytest

from margrave.ledger import Ledger
from margrave.ledger.records import Pool
from margrave.serve.demo import ANALYSTS, DATASET, set_up
from margrave.serve.operations.declared import House
from margrave.serve.operations.releases import published, release_named


@pytest.mark.slow
def test_the_demo_is_set_up_as_it_says(tmp_path):
    made = set_up(tmp_path)
    with Ledger.open(made.ledger) as ledger:
        house = House(ledger)
        assert [house.people.log_in(name, made.passwords[name]).person.role for name in ("carla", "ann")] == [
            "curator",
            "analyst",
        ]
        assert [house.tokens.holder(made.tokens[name])[0].name for name in ANALYSTS] == list(ANALYSTS)
        found = [release_named(house, one.id).described() for one in published(house)]
        assert [one["dataset"] for one in found] == [DATASET] * 3 and all(one["tables"] for one in found)
        (pool,) = ledger.records(Pool)
        # Plans of tables round their shares of a budget down.
        assert 0 <= pool.cap.amount / 2 - pool.spent.epsilon < Fraction(1, 10**9)
