"""A question is paid for once by each who asks it, whatever becomes of it, and nobody can tell what became of it."""

from fractions import Fraction

import pytest

from margrave.errors import RefusedError, UsageError, VerificationError
from margrave.files.content import AnswerFile, pieces
from margrave.ledger import Ledger, Notion, verify
from margrave.ledger import ledger as ledgers
from margrave.ledger.records import Grants, Pool, Question, RequestRecord
from margrave.ledger.statements.shown import told_to
from margrave.ledger.statements.statement import statement
from tests.ledger.helpers import Clock, answer, ask, eps, granted

PRICE = Fraction(1, 10)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(url, clock):
    """Ann, Bob, and a university with two members, of whom Eve has a limit of her own."""
    with Ledger.create(url, clock=clock) as one:
        one.register("survey@1", Notion(), eps(10))
        one.add_account("uni", "organisation")
        one.add_account("ann")
        one.add_account("bob")
        one.add_account("eve", organisation="uni")
        one.add_account("dan", organisation="uni")
        for name, amount in (("ann", 3), ("bob", 3), ("uni", 3), ("eve", 1)):
            one.grant(name, "survey@1", eps(amount))
        yield one


def spent(ledger):
    return ledger.records(Pool)[0].spent.epsilon


def answered(ledger, charge):
    ledger.keep(charge, b"noisy")
    answer(ledger, charge, 1)


def committed_at_once(ledger, charge):
    answer(ledger, charge, 1)


def failed_with_the_data(ledger, charge):
    ledger.void(charge, touched=True, reason="DataError")


def failed_after_the_draw(ledger, charge):
    ledger.keep(charge, b"noisy")
    ledger.void(charge, touched=True, reason="ValueError")


def interrupted(ledger, charge):
    pass


def interrupted_after_the_draw(ledger, charge):
    ledger.keep(charge, b"noisy")


FATES = [
    answered,
    committed_at_once,
    failed_with_the_data,
    failed_after_the_draw,
    interrupted,
    interrupted_after_the_draw,
]
fates = pytest.mark.parametrize("fate", FATES)


def said(ledger):
    """All that anybody but the curator may ever be shown."""
    told = statement(ledger, "survey")
    mine = [(number, one.time, one.body) for name in ("ann", "bob") for number, one in told_to(ledger, name)]
    return "\n".join(told.lines()), told.to_json(), ledger.records(Pool), ledger.records(Grants), mine


def shown_after(url, fate, monkeypatch):
    """What can be shown after a question had some fate, step by step, and what those who ask next are told."""
    monkeypatch.setattr(ledgers.secrets, "token_hex", lambda _: "one and the same")
    clock, seen = Clock(), []
    with Ledger.create(url, clock=clock) as ledger:
        ledger.register("survey@1", Notion(), eps(1))
        for name, amount in (("ann", "0.5"), ("bob", "0.15")):
            ledger.add_account(name)
            ledger.grant("ann" if name == "ann" else "bob", "survey@1", eps(amount))
        ledger.add_account("eve")
        fate(ledger, ledger.reserve(ask(1, id="first")))
        seen.append(said(ledger))
        for account, number in (("ann", 1), ("bob", 1), ("bob", 2), ("eve", 1), ("ann", 2), ("ann", 1)):
            clock.forward(days=1)
            try:
                charge = ledger.reserve(ask(number, account=account, id=f"{account}-{number}"))
                seen.append((charge.head, charge.time))
            except RefusedError as error:
                seen.append(str(error))
            seen.append(said(ledger))
        verify(ledger)
    return seen


@pytest.mark.slow
@fates
def test_statements_balances_and_refusals_are_the_same_whatever_the_fate(tmp_path, server, fate, monkeypatch):
    places = (str(tmp_path / "one.db"), server.new_schema(f"fate_{fate.__name__}"))
    expected = shown_after(str(tmp_path / "other.db"), answered, monkeypatch)
    for place in places:
        assert shown_after(place, fate, monkeypatch) == expected
    assert "bob holds no grant" not in str(expected) and "eve holds no grant" in str(expected)
    assert "of the grant of bob" in str(expected)


@pytest.mark.slow
@fates
def test_asking_again_is_free_and_another_account_pays_its_grant_and_not_the_cap(ledger, fate):
    fate(ledger, ledger.reserve(ask(1)))
    for _ in range(3):
        ledger.reserve(ask(1))
    assert spent(ledger) == granted(ledger, "ann") == PRICE
    for _ in range(3):
        ledger.reserve(ask(1, account="bob"))
    assert spent(ledger) == granted(ledger, "ann") == granted(ledger, "bob") == PRICE
    verify(ledger)


@pytest.mark.slow
@fates
def test_without_an_active_grant_there_is_no_stored_answer_and_nothing_is_taken_up(ledger, clock, fate):
    ledger.end_grant("bob", "survey@1")
    clock.forward(seconds=1)
    ledger.grant("bob", "survey@1", eps(1), expires="2030-02-01")
    fate(ledger, ledger.reserve(ask(1)))
    ledger.reserve(ask(1, account="bob"))
    clock.forward(days=31)
    ledger.end_grant("ann", "survey@1")
    ledger.add_account("new")
    head = ledger.head
    for account, text in (("ann", "expired"), ("bob", "expired 2030-02-01"), ("new", "new holds no grant")):
        with pytest.raises(RefusedError, match=text):
            ledger.reserve(ask(1, account=account))
    assert ledger.head == head


def test_a_renewed_grant_does_not_pay_again(ledger, clock):
    answered(ledger, ledger.reserve(ask(1)))
    ledger.end_grant("ann", "survey@1")
    clock.forward(days=1)
    ledger.grant("ann", "survey@1", eps(1))
    assert ledger.reserve(ask(1)).content == b"answer 1"
    assert granted(ledger, "ann") == PRICE


@pytest.mark.slow
@fates
def test_members_of_one_organisation_pay_once_from_its_grant(ledger, fate):
    fate(ledger, ledger.reserve(ask(1, account="dan")))
    assert granted(ledger, "uni") == PRICE
    ledger.reserve(ask(1, account="eve"))
    ledger.reserve(ask(1, account="uni"))
    ledger.reserve(ask(1, account="dan"))
    assert spent(ledger) == granted(ledger, "uni") == PRICE
    assert granted(ledger, "eve") == PRICE, "her own grant bounds what she learns herself"
    ledger.reserve(ask(1, account="ann"))
    assert (spent(ledger), granted(ledger, "ann")) == (PRICE, PRICE)
    verify(ledger)


def test_a_grant_without_room_gets_no_stored_answer(ledger):
    answered(ledger, ledger.reserve(ask(1, eps(2))))
    with pytest.raises(RefusedError, match="the grant of eve from survey"):
        ledger.reserve(ask(1, eps(2), account="eve"))
    assert granted(ledger, "uni") == 0
    verify(ledger)


def test_the_answer_says_where_its_question_was_charged_whoever_finished_it(ledger):
    first = ledger.reserve(ask(1))
    second = ledger.reserve(ask(1, account="bob"))
    assert (first.head, first.time) == (second.head, second.time)
    assert second.request != first.request
    assert first.head.number == 12
    answered(ledger, second)
    assert ledger.reserve(ask(2)).head.number == 14, "what became of a question is not counted"


def test_a_dearer_request_with_the_same_question_is_charged_anew(ledger):
    answered(ledger, ledger.reserve(ask(1)))
    assert ledger.reserve(ask(1, eps("0.05"))).content == b"answer 1"
    assert spent(ledger) == granted(ledger, "ann") == PRICE
    assert ledger.reserve(ask(1, eps("0.2"))).content == b"answer 1"
    assert spent(ledger) == granted(ledger, "ann") == PRICE + Fraction(2, 10)
    ledger.reserve(ask(2, id="mine"))
    with pytest.raises(UsageError, match="another question"):
        ledger.reserve(ask(2, eps("0.2"), id="mine"))
    verify(ledger)


def test_what_is_given_up_untouched_is_given_back_but_for_what_others_rely_on(ledger):
    first = ledger.reserve(ask(1, account="dan"))
    second, third = ledger.reserve(ask(1, account="eve")), ledger.reserve(ask(1, account="ann"))
    ledger.void(first, touched=False)
    assert spent(ledger) == granted(ledger, "uni") == granted(ledger, "eve") == granted(ledger, "ann") == PRICE
    verify(ledger)
    ledger.void(second, touched=False)
    assert (granted(ledger, "uni"), granted(ledger, "eve"), granted(ledger, "ann")) == (0, 0, PRICE)
    assert spent(ledger) == PRICE
    assert len(statement(ledger, "survey").requests) == 1
    ledger.void(third, touched=False)
    assert spent(ledger) == granted(ledger, "ann") == 0
    assert statement(ledger, "survey").requests == ()
    verify(ledger)


@pytest.mark.slow
@pytest.mark.parametrize("fate", [fate for fate in FATES if fate is not interrupted])
def test_nothing_is_given_back_once_data_was_touched_or_an_answer_was_seen(ledger, fate):
    first, second = ledger.reserve(ask(1)), ledger.reserve(ask(1, account="bob"))
    fate(ledger, first)
    with pytest.raises(RefusedError, match=r"its charge|committed already"):
        ledger.void(first, touched=False)
    seen = ledger.reserve(ask(1, account="bob"))
    if seen.content or seen.drawn:
        with pytest.raises(RefusedError, match=r"its charge|committed already"):
            ledger.void(second, touched=False)
    else:
        ledger.void(second, touched=False)
        assert granted(ledger, "bob") == 0
    assert spent(ledger) == granted(ledger, "ann") == PRICE
    verify(ledger)


def test_answers_drawn_first_are_what_everybody_gets(ledger):
    first, second = ledger.reserve(ask(1)), ledger.reserve(ask(1, account="bob"))
    assert ledger.keep(first, b"noisy").drawn == b"noisy"
    assert ledger.keep(second, b"other noise").drawn == b"noisy"
    assert ledger.keep(first, b"more noise").drawn == b"noisy"
    assert ledger.reserve(ask(1)).drawn == ledger.reserve(ask(1, account="uni")).drawn == b"noisy"
    verify(ledger)
    assert answer(ledger, second, 5) == b"answer 5"
    late = ledger.keep(first, b"too late")
    assert (late.content, late.drawn) == (b"answer 5", None)
    assert ledger.reserve(ask(1)).content == b"answer 5"
    assert verify(ledger).bundles == 1
    with ledger.store.reading() as session:
        assert len(session.answered()) == 1, "kept answers are dropped once their bundle is there"
    assert all(one.drawn is None for one in ledger.records(Question))


def test_large_noisy_answers_are_kept_in_pieces(ledger, monkeypatch):
    monkeypatch.setattr("margrave.files.content.CHUNK", 100)
    large = AnswerFile()
    large.file.write(bytes(range(250)) * 3)
    charge = ledger.keep(ledger.reserve(ask(1)), large)
    assert charge.drawn is large
    found = ledger.reserve(ask(1)).drawn
    assert b"".join(pieces(found)) == bytes(range(250)) * 3
    verify(ledger)
    answer(ledger, charge)
    verify(ledger)


@pytest.mark.parametrize("change", ["UPDATE ledger_answer SET content = 'else'", "DELETE FROM ledger_answer"])
def test_kept_answers_that_were_changed_are_noticed(ledger, change):
    ledger.keep(ledger.reserve(ask(1)), b"noisy")
    verify(ledger)
    with ledger.store.connection() as connection:
        connection.execute(change)
    for look in (lambda: verify(ledger), lambda: ledger.reserve(ask(1))):
        with pytest.raises(VerificationError, match="missing or were changed"):
            look()


def test_the_curator_sees_what_failed(ledger):
    charge = ledger.reserve(ask(1))
    failed_after_the_draw(ledger, charge)
    kinds = [entry.kind for entry, _ in ledger.entries()][-3:]
    assert kinds == ["reserve", "drawn", "failed"]
    (asked,) = ledger.records(RequestRecord)
    assert asked.status == "reserved" and asked.touched
