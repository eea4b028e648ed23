"""Ledgers whose (ε, δ) caps were kept by the first rules: one inside what holds now, one beyond it."""

import json
from fractions import Fraction

import pytest

from margrave.budget.units import ZCDP, ApproxDP
from margrave.errors import RefusedError, UsageError
from margrave.ledger import DataSetName, Ledger, verify
from margrave.ledger.journal import Entry
from margrave.ledger.records import Grants, Pool, RequestRecord, Tip
from margrave.ledger.rules.entries import apply
from margrave.ledger.rules.limits import Filter, kept
from margrave.ledger.statements.statement import statement
from margrave.ledger.view import View
from tests.ledger.commands import run
from tests.ledger.helpers import Clock, ask, eps, released, sha
from tests.ledger.test_versions import GOLDEN, older, tips

__all__ = ["run"]

INSIDE, BEYOND = (json.loads((GOLDEN / f"{name}.json").read_text()) for name in ("inside", "beyond"))
OTHER = DataSetName("other", "1")


def reopened(url, old):
    older(url, 4, old).close()
    return Ledger.open(url, clock=Clock("2030-01-02"))


@pytest.mark.parametrize("old", [INSIDE, BEYOND])
def test_entries_are_judged_by_the_rules_of_their_time(url, old):
    with reopened(url, old) as ledger:
        assert verify(ledger).head.hash == old["journal"][-1][2]
        assert [one.rules for one in tips(ledger)] == [1]
        ledger.add_account("new")
        assert verify(ledger).entries == len(old["journal"]) + 2
        assert [one.rules for one in tips(ledger)] == [2]


def test_inside_the_new_rule_charges_go_on_by_it(url):
    with reopened(url, INSIDE) as ledger:
        assert verify(ledger).beyond == ()
        answer = ledger.reserve(ask(1, eps("1/10"))).content
        assert answer is not None
        ledger.reserve(ask(10, ZCDP(Fraction(1, 200))))
        pool = ledger.records(Pool)[0]
        assert pool.cap == kept(ApproxDP(Fraction(1), Fraction(1, 100)))
        assert all(isinstance(grant.amount, Filter) for one in ledger.records(Grants) for grant in one.grants)
        with pytest.raises(RefusedError, match=r"the grant of ann from survey, .* is left for one more request"):
            for number in range(11, 20):
                ledger.reserve(ask(number, ZCDP(Fraction(1, 100))))
        assert "The first 4 of them were accepted by an earlier rule" in " ".join(statement(ledger, "survey").lines())
        verify(ledger)


def test_beyond_the_new_rule_nothing_more_is_charged_or_granted(url):
    with reopened(url, BEYOND) as ledger:
        assert verify(ledger).beyond == ("the cap of survey", "the grant of ann from survey")
        for cost in (eps("1/1000000"), ZCDP(Fraction(1, 10**9))):
            with pytest.raises(RefusedError, match=r"beyond the cap of survey, .* nothing more can be charged"):
                ledger.reserve(ask(10, cost))
        with pytest.raises(RefusedError, match=r"beyond its cap .* nothing more can be granted"):
            ledger.grant("ben", "survey@1", ApproxDP(Fraction(1, 10**6), Fraction(1, 10**9)))
        ledger.end_grant("ann", "survey@1")
        with pytest.raises(RefusedError, match="nothing more can be granted"):
            ledger.grant("ann", "survey@1", ApproxDP(Fraction(1, 10**6), Fraction(1, 10**9)))
        assert verify(ledger).beyond == ("the cap of survey", "the grant of ann from survey")
        assert {one.status for one in ledger.records(RequestRecord)} == {"committed"}


def test_beyond_the_new_rule_other_data_sets_go_on(url):
    with reopened(url, BEYOND) as ledger:
        released(ledger, 20, cost=eps("1/2"), dataset=OTHER)
        assert verify(ledger).entries == len(BEYOND["journal"]) + 3


def test_the_statement_of_a_ledger_beyond_the_new_rule_promises_no_more_than_is_so(url):
    with reopened(url, BEYOND) as ledger:
        before = list(statement(ledger, "survey").composition())
        ledger.add_account("new")
        assert list(statement(ledger, "survey").composition()) == before
        assert "If no request depended on earlier answers" in before[0]
        assert "If some did, this is not promised" in before[1]


@pytest.mark.parametrize("limits", [[], [{"epsilon": "1", "delta": "0.01", "events": "0", "rho": "1"}]])
def test_newer_rules_begin_with_an_entry_that_says_how_every_limit_is_kept(url, limits):
    with reopened(url, INSIDE) as ledger, ledger.store.reading() as session:
        view = View(session.state, session.state_of)
        tip = view.get(Tip)
        entry = Entry(tip.number + 1, tip.time, "rules", {"rules": 2, "limits": limits}, tip.hash)
        with pytest.raises((UsageError, RefusedError), match=r"does not say how a limit|is not kept by ρ = 1"):
            apply(view, entry, sha(0))


def test_show_and_verify_say_what_is_beyond(run, tmp_path):
    older(tmp_path / "ledger.db", 4, BEYOND).close()
    assert "beyond the cap of survey" in " ".join(run("ledger", "show").split())
    rows = json.loads(run("ledger", "show", "--json"))
    assert [row.get("beyond") for row in rows["datasets"]] == [None, True]
    assert rows["datasets"][1]["left"] == rows["datasets"][1]["left_rho"] == "0"
    assert "beyond the grant of ann from survey" in " ".join(run("ledger", "verify").split())
    assert json.loads(run("ledger", "verify", "--json"))["beyond"] == [
        "the cap of survey",
        "the grant of ann from survey",
    ]
    assert "this is not promised" in run("ledger", "export", "survey")
    assert len(json.loads(run("ledger", "history", "--json"))) == len(BEYOND["journal"])
