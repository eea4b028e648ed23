"""A clock that may be wrong: asked about before it does harm, and set back afterwards without reviving anything."""

import pytest

from margrave.errors import RefusedError
from margrave.ledger import Ledger, verify
from margrave.ledger.records import Grants
from margrave.ledger.statements.words import sentence
from tests.ledger.commands import run
from tests.ledger.helpers import Clock, ask, eps, released, small
from tests.ledger.test_older_rules import INSIDE
from tests.ledger.test_versions import older

__all__ = ["run"]


@pytest.fixture
def clock():
    return Clock()


def sure(url, clock):
    return Ledger.open(url, clock=clock, clock_is_right=True)


def test_a_clock_more_than_a_year_ahead_needs_a_word(url, clock):
    with small(url, clock=clock) as ledger:
        head = ledger.head
        clock.forward(days=367)
        with pytest.raises(RefusedError, match=r"367 days after the last entry .* --clock-is-right"):
            ledger.reserve(ask(1))
        assert ledger.head == head
        with sure(url, clock) as same:
            released(same, 1)
        released(ledger, 2)
        verify(ledger)


def test_what_becomes_of_a_request_is_dated_as_the_entry_before_whatever_the_clock_says(url, clock):
    with small(url, clock=clock) as ledger:
        charge = ledger.reserve(ask(1))
        clock.forward(days=5000)
        assert ledger.commit(charge, b"answer", "0" * 64) == b"answer"
        clock.forward(days=-4999)
        released(ledger, 2)
        assert [one.time for one, _ in ledger.entries()] == sorted(one.time for one, _ in ledger.entries())
        verify(ledger)


@pytest.mark.parametrize("answered", [True, False])
def test_whether_a_clock_is_believed_does_not_depend_on_what_became_of_a_request(url, clock, answered):
    with small(url, grant=None, clock=clock) as ledger:
        ledger.grant("ann", "survey@1", eps(1), expires="2030-02-15")
        charge = ledger.reserve(ask(1))
        if answered:
            ledger.commit(charge, b"answer", "0" * 64)
        clock.forward(days=30)
        again = ledger.reserve(ask(1))
        if not answered:
            ledger.commit(again, b"answer", "0" * 64)
        clock.forward(days=40)
        with pytest.raises(RefusedError, match="70 days after the last entry"):
            ledger.add_account("bob")


def test_a_clock_so_far_ahead_that_a_grant_would_end_needs_a_word(url, clock):
    with small(url, grant=None, clock=clock) as ledger:
        ledger.grant("ann", "survey@1", eps(1), expires="2030-02-15")
        clock.forward(days=61)
        with pytest.raises(RefusedError, match=r"would end the grant of ann from survey \(until 2030-02-15\)"):
            ledger.add_account("bob")
        with sure(url, clock) as same:
            same.add_account("bob")
        ledger.add_account("cem")


def test_a_ledger_that_was_not_used_for_some_weeks_is_nothing_unusual(url, clock):
    with small(url, grant=None, clock=clock) as ledger:
        ledger.grant("ann", "survey@1", eps(1), expires="2030-02-15")
        clock.forward(days=60)
        ledger.add_account("bob")
        clock.forward(days=300)
        ledger.add_account("cem")


def wrongly_dated(url, clock):
    """A ledger with an entry of 2040, after which the clock is set right again."""
    with small(url, grant=None, clock=clock) as ledger:
        ledger.add_account("bob")
        ledger.add_account("cem")
        ledger.grant("ann", "survey@1", eps(1), expires="2035-01-01")
        ledger.grant("bob", "survey@1", eps(1))
    clock.forward(days=3650)
    with sure(url, clock) as ledger:
        ledger.grant("cem", "survey@1", eps(1), expires="2041-01-01")
    clock.forward(days=-3649)
    return Ledger.open(url, clock=clock)


def test_after_a_wrong_date_the_clock_can_be_set_back(url, clock):
    with wrongly_dated(url, clock) as ledger:
        with pytest.raises(RefusedError, match="see 'margrave ledger clock'"):
            ledger.reserve(ask(1, account="bob"))
        ledger.set_clock_back()
        assert ledger.last_time.startswith("2030-01-02")
        released(ledger, 1, account="bob")
        assert verify(ledger).entries == ledger.head.number
        assert any("The clock was set back" in sentence(entry) for entry, _ in ledger.entries())


def test_a_grant_that_the_wrong_date_ended_is_not_revived(url, clock):
    with wrongly_dated(url, clock) as ledger:
        ledger.set_clock_back()
        with pytest.raises(RefusedError, match="the grant of ann from survey expired"):
            ledger.reserve(ask(1))
        ledger.grant("ann", "survey@1", eps(1), expires="2035-01-01")
        released(ledger, 1)
        verify(ledger)


def test_a_grant_that_expired_long_ago_is_not_revived_by_setting_back_twice(url, clock):
    with wrongly_dated(url, clock) as ledger:
        ledger.set_clock_back()
        clock.forward(days=-30)
        ledger.set_clock_back()
        with pytest.raises(RefusedError, match="expired"):
            ledger.reserve(ask(1))
        verify(ledger)


def test_a_grant_that_was_entered_with_the_wrong_date_holds_from_now_on(url, clock):
    with wrongly_dated(url, clock) as ledger:
        ledger.set_clock_back()
        released(ledger, 1, account="cem")
        (cem,) = [one for one in ledger.records(Grants) if one.account == "cem"]
        assert [(one.starts[:10], one.expires) for one in cem.grants] == [("2030-01-02", "2041-01-01")]
        verify(ledger)


def test_a_right_clock_is_not_set_back(url, clock):
    with small(url, clock=clock) as ledger:
        with pytest.raises(RefusedError, match="nothing to set back"):
            ledger.set_clock_back()
        clock.forward(days=1)
        with pytest.raises(RefusedError, match="nothing to set back"):
            ledger.set_clock_back()


@pytest.mark.slow
def test_an_older_ledger_with_a_wrong_date_can_be_set_back(url):
    older(url, 4, INSIDE).close()
    with Ledger.open(url, clock=Clock("2029-06-01")) as ledger:
        with pytest.raises(RefusedError, match="see 'margrave ledger clock'"):
            ledger.add_account("new")
        ledger.set_clock_back()
        assert ledger.reserve(ask(1, eps("1/10"))).content == b"answer ann-1"
        ledger.add_account("new")
        verify(ledger)


@pytest.mark.slow
def test_the_commands_that_write_ask_whether_the_clock_is_right(run, tmp_path):
    Ledger.create(tmp_path / "ledger.db", clock=Clock("2001-01-01")).close()
    account = ("ledger", "account", "ann")
    assert "--clock-is-right" in run(*account, code=3)
    run(*account, "--clock-is-right")
    run("ledger", "dataset", "survey@1", "--spec", "spec.toml", "--cap", "epsilon=3", "--clock-is-right")
    run("ledger", "grant", "ann", "survey@1", "epsilon=1", "--clock-is-right")
    charged = ("release", "spec.toml", "--account", "ann", "--clock-is-right")
    run(*charged, "--ledger", "ledger.db")
    assert "name it with --ledger" in run("release", "spec.toml", "--clock-is-right", code=2)


@pytest.mark.slow
def test_a_release_asks_before_it_is_charged_by_a_wrong_clock(run, tmp_path):
    run("ledger", "init")
    run("ledger", "dataset", "survey@1", "--spec", "spec.toml", "--cap", "epsilon=3")
    run("ledger", "account", "ann")
    run("ledger", "grant", "ann", "survey@1", "epsilon=1")
    with Ledger.open(tmp_path / "ledger.db", clock=Clock("2999-01-01"), clock_is_right=True) as ledger:
        ledger.add_account("bob")
    charged = ("release", "spec.toml", "--account", "ann", "--ledger", "ledger.db")
    assert "margrave ledger clock" in run(*charged, code=3)
    assert "The last entry is dated 2999-01-01" in run("ledger", "clock")
    assert "From here on entries are dated by the clock" in run("ledger", "clock", "--set-back")
    run(*charged)
    assert "nothing to set back" in run("ledger", "clock", "--set-back", code=3)
    run("ledger", "verify")
