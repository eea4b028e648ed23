"""Purses: a partition is charged once, its parts spend what is in their purses, and nothing is given back."""

from fractions import Fraction
from hashlib import sha256

import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.ledger import Ledger, verify
from margrave.ledger.purses import escrow_cost, purse_name
from margrave.ledger.statements.allowance import allowances, purses_of
from margrave.ledger.statements.shown import told_to
from margrave.ledger.statements.statement import statement
from margrave.ledger.statements.words import sentence
from margrave.ledger.values import DataSetName, Notion, Request

NAME = DataSetName("clinic", "2024")


def digest(text):
    return sha256(text.encode()).hexdigest()


def eps(number):
    return PureDP(Fraction(number))


PARTITION = digest("by region")


PURSES = (eps("1/5"), eps("1/10"))


def escrow(purses=PURSES, parts=1, cost=None, account="ann", neighbours="add-remove"):
    total = cost or escrow_cost(purses, parts, neighbours)
    return Request(NAME, account, PARTITION, total, Notion(neighbours=neighbours), purses=purses, parts=parts)


def spend(question, cost, part=0, account="ann", neighbours="add-remove", partition=PARTITION):
    notion = Notion(neighbours=neighbours)
    return Request(NAME, account, digest(question), eps(cost), notion, purse=purse_name(partition, part))


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(tmp_path / "ledger.db") as found:
        found.register(NAME, Notion(), eps(2))
        for name in ("ann", "bob"):
            found.add_account(name)
            found.grant(name, str(NAME), eps(1))
        yield found


def left(ledger, account="ann"):
    return [float(one.left) for _, purses in purses_of(ledger, account, str(NAME)) for one in purses]


def test_a_partition_is_charged_once_and_its_parts_spend_their_purses(ledger):
    ledger.reserve(escrow())
    ledger.reserve(escrow())
    assert [one.left for one in allowances(ledger, "ann", str(NAME))] == pytest.approx([0.8, 1.8])
    charge = ledger.reserve(spend("north 1", "1/10"))
    ledger.commit(ledger.keep(charge, b"noisy"), b"answer", digest("answer"))
    assert ledger.reserve(spend("north 1", "1/10")).content == b"answer"
    ledger.reserve(spend("south 1", "1/10", 1))
    assert left(ledger) == pytest.approx([0.1, 0])
    with pytest.raises(RefusedError, match="only 0 is left"):
        ledger.reserve(spend("south 2", "1/1000", 1))
    with pytest.raises(RefusedError, match=r"only 0\.1 is left"):
        ledger.reserve(spend("north 2", "101/1000"))
    with pytest.raises(RefusedError, match="pure"):
        other = spend("north 3", 1)
        ledger.reserve(Request(NAME, "ann", other.question, ZCDP(Fraction(1, 1000)), Notion(), purse=other.purse))
    assert [one.left for one in allowances(ledger, "ann", str(NAME))] == pytest.approx([0.8, 1.8])
    assert verify(ledger).beyond == ()


def test_purses_are_there_after_a_restart_and_by_the_journal_alone(ledger, tmp_path):
    ledger.reserve(escrow())
    ledger.reserve(spend("north 1", "1/10"))
    with Ledger.open(tmp_path / "ledger.db") as again:
        assert left(again) == pytest.approx([0.1, 0.1])
        with pytest.raises(RefusedError):
            again.reserve(spend("north 2", "1/5"))
        again.reserve(spend("north 1", "1/10"))
        assert left(again) == pytest.approx([0.1, 0.1])
        verify(again)


def test_a_purse_belongs_to_who_paid_for_it(ledger):
    ledger.reserve(escrow())
    for wrong in (
        spend("x", "1/10", account="bob"),
        spend("x", "1/10", part=2),
        spend("x", "1/10", partition=digest("another")),
        spend("x", "1/10", part=-1),
    ):
        with pytest.raises(RefusedError, match="no such purse"):
            ledger.reserve(wrong)
    with pytest.raises(RefusedError, match="filled already"):
        ledger.reserve(escrow(account="bob"))
    ledger.end_grant("ann", str(NAME))
    with pytest.raises(RefusedError, match="expired"):
        ledger.reserve(spend("x", "1/10"))
    verify(ledger)


def test_what_was_set_apart_is_not_given_back_and_a_question_goes_back_to_its_purse(ledger):
    charge = ledger.reserve(escrow())
    with pytest.raises(RefusedError, match="not given back"):
        ledger.void(charge, touched=False)
    asked = ledger.reserve(spend("north 1", "1/5"))
    ledger.void(asked, touched=False)
    assert left(ledger) == pytest.approx([0.2, 0.1])
    asked = ledger.reserve(spend("north 2", "1/5"))
    ledger.void(asked, touched=True, reason="FaultError")
    assert left(ledger) == pytest.approx([0, 0.1])
    assert ledger.reserve(spend("north 2", "1/5")).request == asked.request
    assert [one.left for one in allowances(ledger, "ann", str(NAME))] == pytest.approx([0.8, 1.8])
    verify(ledger)


def test_a_partition_that_costs_less_than_its_purses_is_refused(ledger, tmp_path):
    for wrong in (
        escrow(cost=eps("1/10")),
        escrow(parts=2, cost=eps("1/5")),
        escrow(cost=ZCDP(Fraction(1, 5))),
    ):
        with pytest.raises((UsageError, RefusedError)):
            ledger.reserve(wrong)
    for wrong in ((), (eps(1), ZCDP(Fraction(1)))):
        with pytest.raises(UsageError):
            escrow_cost(wrong, 1, "add-remove")
    with pytest.raises(UsageError):
        escrow_cost((eps(1),), 0, "add-remove")
    with Ledger.create(tmp_path / "replace.db") as other:
        other.register(NAME, Notion(neighbours="replace"), eps(2))
        other.add_account("ann")
        other.grant("ann", str(NAME), eps(1))
        with pytest.raises(UsageError, match="dearest purses"):
            other.reserve(escrow(cost=eps("1/5"), neighbours="replace"))
        other.reserve(escrow(neighbours="replace"))
        assert [one.left for one in allowances(other, "ann", str(NAME))] == pytest.approx([0.6, 1.6])
    assert escrow_cost((ZCDP(Fraction(1, 8)),) * 3, 2, "replace").rho == 1


def test_with_public_facts_there_is_no_partition(tmp_path):
    notion = Notion(facts=('{"margin":["sex"]}',), induced="all")
    with Ledger.create(tmp_path / "facts.db") as ledger:
        ledger.register(NAME, notion, eps(2))
        ledger.add_account("ann")
        ledger.grant("ann", str(NAME), eps(1))
        asked = Request(NAME, "ann", PARTITION, eps("1/5"), notion, purses=(eps("1/5"),), parts=1)
        with pytest.raises(RefusedError, match="public facts"):
            ledger.reserve(asked)


def test_the_statement_has_the_partition_and_the_account_sees_what_it_spent(ledger):
    ledger.reserve(escrow())
    ledger.reserve(spend("north 1", "1/10"))
    assert len(statement(ledger, "clinic").requests) == 1
    told = [sentence(entry) for _, entry in told_to(ledger, "ann")]
    assert any("a purse for each" in text for text in told) and any("From a purse" in text for text in told)
    assert not any("purse" in sentence(entry) for _, entry in told_to(ledger, "bob"))
