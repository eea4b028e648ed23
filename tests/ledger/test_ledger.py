"""What a ledger allows and refuses, on both stores."""

from fractions import Fraction

import pytest

from margrave.budget.units import ZCDP, ApproxDP
from margrave.errors import LedgerError, RefusedError, UsageError
from margrave.ledger import DataSetName, Ledger, Notion, verify
from margrave.ledger.records import Grants, Pool
from tests.ledger.helpers import SURVEY, Clock, answer, ask, eps, granted, released, small


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(url, clock):
    with small(url, clock=clock) as one:
        yield one


def spent(ledger, pool="survey"):
    return next(one.spent.epsilon for one in ledger.records(Pool) if one.name == pool)


def test_reserve_then_commit(ledger):
    charge = ledger.reserve(ask(1))
    assert charge.content is None
    assert spent(ledger) == Fraction(1, 10)
    assert answer(ledger, charge, 1) == b"answer 1"
    assert spent(ledger) == Fraction(1, 10)
    checked = verify(ledger)
    assert (checked.entries, checked.bundles) == (6, 1)


def test_arithmetic_is_exact(url):
    with small(url, cap=eps(1), grant=eps(1)) as ledger:
        for number in range(3):
            ledger.reserve(ask(number, eps("1/3")))
        with pytest.raises(RefusedError, match="only 0 is left"):
            ledger.reserve(ask(9, eps("1/1000000000000000000000")))


def test_the_same_question_is_answered_from_store_and_free(ledger):
    first = released(ledger, 1)
    again = ledger.reserve(ask(1))
    assert again.content == first
    assert spent(ledger) == granted(ledger, "ann") == Fraction(1, 10)
    assert verify(ledger).entries == 6


def test_the_same_question_to_another_version_is_another_question(ledger):
    ledger.register("survey@2", Notion())
    first = released(ledger, 1)
    charge = ledger.reserve(ask(1, dataset=DataSetName("survey", "2")))
    assert charge.content is None
    assert answer(ledger, charge, 2) != first
    assert spent(ledger) == Fraction(2, 10)


def test_a_retry_with_the_same_id_is_charged_once(ledger):
    first = ledger.reserve(ask(1, id="mine"))
    second = ledger.reserve(ask(1, id="mine"))
    assert first == second
    assert answer(ledger, first, 1) == b"answer 1"
    assert answer(ledger, second, 2) == b"answer 1"
    assert ledger.reserve(ask(1, id="mine")).content == b"answer 1"
    assert spent(ledger) == Fraction(1, 10)


def test_without_an_id_an_unfinished_request_is_taken_up(ledger):
    first = ledger.reserve(ask(1))
    assert ledger.reserve(ask(1)) == first
    ledger.add_account("bob")
    with pytest.raises(RefusedError, match="bob holds no grant"):
        ledger.reserve(ask(1, account="bob"))


def test_two_accounts_with_the_same_question_at_once_get_one_answer(url):
    with small(url, grant=eps(5)) as ledger:
        ledger.add_account("bob")
        ledger.grant("bob", "survey@1", eps(5))
        first, second = ledger.reserve(ask(1)), ledger.reserve(ask(1, account="bob"))
        assert first.request != second.request
        assert answer(ledger, first, 1) == answer(ledger, second, 2) == b"answer 1"
        assert spent(ledger) == granted(ledger, "ann") == granted(ledger, "bob") == Fraction(1, 10)
        verify(ledger)


def test_an_id_is_for_one_question(ledger):
    ledger.reserve(ask(1, id="mine"))
    with pytest.raises(UsageError, match="another question"):
        ledger.reserve(ask(2, id="mine"))


def test_a_void_request_before_data_was_touched_is_given_back(ledger):
    charge = ledger.reserve(ask(1))
    ledger.void(charge, touched=False)
    assert spent(ledger) == 0
    assert ledger.records(Grants)[0].grants[0].spent.empty
    for more in (
        lambda: ledger.void(charge, touched=False),
        lambda: ledger.keep(charge, b""),
        lambda: answer(ledger, charge),
    ):
        with pytest.raises(RefusedError, match="void already"):
            more()
    assert ledger.reserve(ask(1)).request != charge.request
    assert spent(ledger) == Fraction(1, 10)
    verify(ledger)


def test_an_id_that_was_given_up_is_not_used_again(ledger):
    ledger.void(ledger.reserve(ask(1, id="mine")), touched=False)
    with pytest.raises(RefusedError, match="was given up: use a new id"):
        ledger.reserve(ask(1, id="mine"))


def test_a_committed_request_cannot_be_given_up(ledger):
    charge = ledger.reserve(ask(1))
    answer(ledger, charge)
    with pytest.raises(RefusedError, match="committed already"):
        ledger.void(charge, touched=True)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (Notion(unit="person", records=3), 'the column of the unit: none there, "person" here'),
        (Notion(neighbours="replace"), "the neighbours"),
        (Notion(sensitive=("smoke",)), "the sensitive attributes"),
        (Notion(facts=('{"fact":[]}',), induced="worst-case"), "the public facts"),
    ],
)
def test_a_release_with_another_notion_is_refused(ledger, other, what):
    with pytest.raises(RefusedError, match=what):
        ledger.reserve(ask(1, notion=other))
    with pytest.raises(RefusedError, match="cannot share the cap of survey@1: they differ in " + what):
        ledger.register("survey@2", other)


def test_facts_cannot_be_added_to_what_is_registered(ledger):
    with pytest.raises(RefusedError, match="would change the price of every release made so far"):
        ledger.register("survey@1", Notion(facts=("[]",), induced="worst-case"))


def test_versions_share_one_cap_unless_disjoint(url):
    with small(url, cap=eps(1), grant=eps(1)) as ledger:
        ledger.register("survey@2", Notion())
        with pytest.raises(RefusedError, match="leave the cap out"):
            ledger.register("survey@3", Notion(), eps(2))
        ledger.register("survey@other", Notion(), eps(1), disjoint=True)
        second, other = DataSetName("survey", "2"), DataSetName("survey", "other")
        ledger.reserve(ask(1, eps("0.6")))
        with pytest.raises(RefusedError, match=r"only 0\.4 is left"):
            ledger.reserve(ask(1, eps("0.6"), dataset=second))
        with pytest.raises(RefusedError, match="ann holds no grant from survey@other"):
            ledger.reserve(ask(1, eps("0.6"), dataset=other))
        ledger.grant("ann", "survey@other", eps(1))
        ledger.reserve(ask(1, eps("0.6"), dataset=other))
        assert (spent(ledger), spent(ledger, "survey@other")) == (Fraction(6, 10), Fraction(6, 10))
        with pytest.raises(RefusedError, match="cannot be declared disjoint"):
            ledger.register("survey@5", Notion(facts=("[]",), induced="worst-case"), eps(1), disjoint=True)


def test_members_spend_from_their_organisation(ledger):
    ledger.end_grant("ann", "survey@1")
    ledger.add_account("uni", "organisation")
    ledger.add_account("eve", organisation="uni")
    ledger.add_account("dan", organisation="uni")
    with pytest.raises(RefusedError, match="uni holds no grant"):
        ledger.reserve(ask(1, account="eve"))
    ledger.grant("uni", "survey@1", eps(1))
    ledger.grant("eve", "survey@1", eps("0.5"))
    ledger.reserve(ask(1, eps("0.5"), account="eve"))
    with pytest.raises(RefusedError, match="the grant of eve from survey"):
        ledger.reserve(ask(2, account="eve"))
    ledger.reserve(ask(3, eps("0.5"), account="dan"))
    with pytest.raises(RefusedError, match="the grant of uni from survey"):
        ledger.reserve(ask(4, account="dan"))
    verify(ledger)


def test_grants_together_stay_within_the_cap(ledger):
    ledger.add_account("bob")
    with pytest.raises(RefusedError, match="add up to more than its cap"):
        ledger.grant("bob", "survey@1", eps("0.1"))
    ledger.reserve(ask(1, eps(4)))
    ledger.end_grant("ann", "survey@1")
    with pytest.raises(RefusedError, match="add up to more than its cap"):
        ledger.grant("bob", "survey@1", eps("6.1"))
    ledger.grant("bob", "survey@1", eps(6))
    with pytest.raises(UsageError, match="no grant from survey that could be ended"):
        ledger.end_grant("ann", "survey@1")


def test_expiry_and_renewal_by_date(url, clock):
    with small(url, grant=None, clock=clock) as ledger:
        ledger.grant("ann", "survey@1", eps(1), expires="2030-02-01")
        ledger.grant("ann", "survey@1", eps(2), starts="2030-03-01", expires="2030-04-01")
        with pytest.raises(RefusedError, match="holds a grant from survey that expires 2030-04-01"):
            ledger.grant("ann", "survey@1", eps(1), starts="2030-03-15")
        unfinished = ledger.reserve(ask(1, eps(1)))
        clock.now = clock.now.fromisoformat("2030-01-31T23:59:59+00:00")
        with pytest.raises(RefusedError, match="only 0 is left"):
            ledger.reserve(ask(2))
        clock.forward(seconds=1)
        with pytest.raises(RefusedError, match="ask for a new one"):
            ledger.reserve(ask(2))
        answer(ledger, unfinished, 1)
        clock.forward(days=28)
        ledger.reserve(ask(2, eps(2)))
        clock.forward(days=31)
        with pytest.raises(RefusedError, match="expired 2030-04-01"):
            ledger.reserve(ask(3))
        verify(ledger)


def test_a_grant_for_no_time_is_refused(ledger):
    ledger.end_grant("ann", "survey@1")
    for options in ({"expires": "2029-01-01"}, {"starts": "2031-01-01", "expires": "2031-01-01"}):
        with pytest.raises(UsageError, match="can never be spent"):
            ledger.grant("ann", "survey@1", eps(1), **options)
    with pytest.raises(UsageError, match="must be a day"):
        ledger.grant("ann", "survey@1", eps(1), expires="soon")


def test_the_most_for_one_request(url):
    with small(url, grant=None) as ledger:
        ledger.register("census@1", Notion(), eps(10), most=eps(1))
        ledger.grant("ann", "survey@1", eps(5), most=eps(2))
        ledger.grant("ann", "census@1", eps(5))
        with pytest.raises(
            RefusedError, match=r"one request by ann may cost at most ε = 2, and this one costs ε = 2\.5"
        ):
            ledger.reserve(ask(1, eps("2.5")))
        with pytest.raises(RefusedError, match="one request to census@1 may cost at most"):
            ledger.reserve(ask(1, eps("1.5"), dataset=DataSetName("census", "1")))


@pytest.mark.slow
def test_caps_in_rho_and_in_epsilon_and_delta(url):
    delta = Fraction(1, 10**6)
    with small(url, cap=ZCDP(Fraction(1)), grant=ZCDP(Fraction(1))) as ledger:
        ledger.register("census@1", Notion(), ApproxDP(Fraction(2), delta))
        ledger.grant("ann", "census@1", ApproxDP(Fraction(2), delta))
        ledger.reserve(ask(1, ZCDP(Fraction(1, 2))))
        ledger.reserve(ask(2, eps(1)))
        with pytest.raises(RefusedError, match="only 0 is left"):
            ledger.reserve(ask(3, eps("0.001")))
        census, made = DataSetName("census", "1"), 0
        with pytest.raises(RefusedError, match="is left"):
            for made in range(1000):
                ledger.reserve(ask(made, eps("0.02"), dataset=census))
        assert 150 < made < 1000
        verify(ledger)


def test_a_pure_cap_holds_pure_costs_only(ledger):
    with pytest.raises(RefusedError, match="only pure releases can be charged to it"):
        ledger.reserve(ask(1, ZCDP(Fraction(1, 100))))
    ledger.end_grant("ann", "survey@1")
    with pytest.raises(UsageError, match="must be in the unit of the cap"):
        ledger.grant("ann", "survey@1", ZCDP(Fraction(1)))
    with pytest.raises(RefusedError, match="is more than the cap"):
        ledger.grant("ann", "survey@1", eps(11))


def test_names_that_are_not_there(ledger):
    with pytest.raises(UsageError, match="there is no account bob"):
        ledger.reserve(ask(1, account="bob"))
    with pytest.raises(UsageError, match="census@1 is not registered"):
        ledger.reserve(ask(1, dataset=DataSetName("census", "1")))
    with pytest.raises(UsageError, match="names no version"):
        ledger.grant("ann", "survey", eps(1))
    with pytest.raises(RefusedError, match="exists already"):
        ledger.add_account("ann")
    with pytest.raises(UsageError, match="only an organisation has members"):
        ledger.add_account("bob", organisation="ann")
    with pytest.raises(UsageError, match="cannot belong to another"):
        ledger.add_account("uni", "organisation", organisation="ann")
    with pytest.raises(UsageError, match="an analyst or an organisation"):
        ledger.add_account("bob", "robot")
    with pytest.raises(UsageError, match="first version under its cap"):
        ledger.register("census@1", Notion())


def test_the_only_data_set_need_not_be_named(ledger):
    assert ledger.only_dataset(None) == SURVEY
    ledger.register("census@1", Notion(), eps(1))
    with pytest.raises(UsageError, match="census@1, survey@1"):
        ledger.only_dataset(None)


def test_refusals_write_nothing(ledger):
    before = ledger.head
    with pytest.raises(RefusedError):
        ledger.reserve(ask(1, eps(11)))
    with pytest.raises(RefusedError):
        ledger.add_account("ann")
    assert ledger.head == before


def test_a_ledger_is_made_once_and_opened_later(url, ledger):
    released(ledger, 1)
    with Ledger.open(url) as other:
        assert other.head == ledger.head
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(url)
