"""(ε, δ) limits hold against whoever chooses each request by the answers before."""

from dataclasses import replace
from fractions import Fraction

import pytest

from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.errors import RefusedError, UsageError
from margrave.ledger import Ledger, Notion, verify
from margrave.ledger.rules.limits import Filter, kept, limit_from_dict
from margrave.ledger.rules.totals import Totals
from tests.ledger.adversary import UNIT, Question, largest_delta
from tests.ledger.helpers import ask, eps, small

EPSILON, DELTA = 1, Fraction(1, 100)
CAP = ApproxDP(Fraction(EPSILON), DELTA)
MENUS = [(5, 8, 50), (5, 20, 45, 50), (10, 30, 40), (2, 30, 50), (1, 45)]


def cost_of(question):
    epsilon = Fraction(question.epsilon, UNIT)
    return ApproxDP(epsilon, Fraction(question.delta)) if question.delta else PureDP(epsilon)


def reached(menu, limit):
    """The δ that the best adversary reaches at the ε of a limit, from below and from above."""
    costs = [cost_of(question) for question in menu]
    totals = {(0,) * len(menu): Totals()}

    def accepts(counts):
        last = max(index for index, times in enumerate(counts) if times)
        before = totals[(*counts[:last], counts[last] - 1, *counts[last + 1 :])]
        totals[counts] = before.plus(costs[last])
        return limit.holds(totals[counts])

    return largest_delta(menu, accepts, EPSILON * UNIT)


@pytest.mark.slow
@pytest.mark.parametrize("menu", MENUS)
def test_the_best_adversary_stays_within_the_cap(menu):
    below, above = reached([Question(one) for one in menu], kept(CAP))
    assert 0.001 < below <= above <= DELTA


def test_the_best_adversary_passes_the_cap_where_charges_are_composed_as_if_they_were_fixed_beforehand():
    below, _ = reached([Question(10), Question(50)], CAP)
    assert below > DELTA


@pytest.mark.parametrize("size", [Fraction(1, 1024), Fraction(1, 256)])
def test_the_best_adversary_stays_within_the_cap_with_requests_that_have_a_delta_of_their_own(size):
    menu = [Question(8), Question(8, float(size)), Question(50), Question(2, float(size))]
    below, above = reached(menu, kept(CAP, DELTA / 2))
    alone = float(DELTA / 2 // size * size)
    assert alone < below <= above <= DELTA


def test_a_delta_that_is_not_set_apart_from_the_cap_is_too_much():
    """With δ_e = δ the ρ must be 0: with the ρ of the whole δ beside it, the best adversary passes the cap."""
    menu = [Question(5), Question(8, 1 / 256), Question(50), Question(30)]
    right = kept(CAP, DELTA)
    assert right.rho == 0
    assert reached(menu, right)[1] <= DELTA
    assert reached(menu, replace(right, rho=kept(CAP).rho))[0] > DELTA


def test_the_attack_by_answers_is_refused(url):
    """Two small requests; then, by their outcome, two large ones or many middling ones."""
    with small(url, cap=CAP, grant=CAP) as ledger:
        for number in (1, 2):
            ledger.reserve(ask(number, eps("0.04999")))
        ledger.reserve(ask(3, eps("0.49999")))
        with pytest.raises(RefusedError, match=r"one more request is ε = 0\.40003 if it is pure, or ρ = 0 if"):
            ledger.reserve(ask(4, eps("0.49999")))
        verify(ledger)


def test_the_other_half_of_the_attack_is_refused(url):
    with small(url, cap=CAP, grant=CAP) as ledger:
        for number in (1, 2):
            ledger.reserve(ask(number, eps("0.04999")))
        accepted = 0
        with pytest.raises(RefusedError, match=r"for one more request is ε = about 0\.0"):
            for number in range(43):
                ledger.reserve(ask(10 + number, eps("0.07999")))
                accepted += 1
        assert accepted == 31
        verify(ledger)


def test_both_halves_of_the_attack_passed_the_first_rules():
    start = Totals().plus(eps("0.04999")).plus(eps("0.04999"))
    for cost, times in (("0.49999", 2), ("0.07999", 43)):
        total = start
        for _ in range(times):
            total = total.plus(eps(cost))
        assert CAP.holds(total) and not kept(CAP).holds(total)


def test_gaussian_noise_is_never_within_the_sum_of_epsilon():
    limit = kept(CAP)
    total = Totals().plus(PureDP(Fraction(1)))
    assert limit.holds(total)
    assert not limit.holds(total.plus(ZCDP(Fraction(1, 10**9))))
    assert limit.holds(Totals().plus(ZCDP(limit.rho)))
    assert not limit.holds(Totals().plus(ZCDP(limit.rho)).plus(ZCDP(Fraction(1, 10**20))))


@pytest.mark.parametrize("cost", [eps("1/10"), ApproxDP(Fraction(1, 10), Fraction(1, 1000))])
def test_both_sums_count_every_request(cost):
    limit = kept(CAP, DELTA)
    assert limit.holds(spent_by(cost, 10)) and not limit.holds(spent_by(cost, 11))
    wide = Filter(Fraction(1, 100), DELTA, DELTA, Fraction(5, 100))
    assert wide.holds(spent_by(cost, 10)) and not wide.holds(spent_by(cost, 11))


def spent_by(cost, times):
    total = Totals()
    for _ in range(times):
        total = total.plus(cost)
    return total


def test_a_delta_of_its_own_needs_a_part_of_the_cap(url):
    own = ApproxDP(Fraction(1, 10), Fraction(1, 1000))
    with Ledger.create(url) as ledger:
        ledger.register("survey@1", Notion(), CAP, event_delta=Fraction(1, 1000))
        ledger.register("other@1", Notion(), CAP)
        ledger.add_account("ann")
        with pytest.raises(RefusedError, match="more than the cap"):
            ledger.grant("ann", "other@1", CAP, event_delta=Fraction(1, 1000))
        ledger.grant("ann", "survey@1", CAP, event_delta=Fraction(1, 1000))
        ledger.reserve(ask(1, own))
        with pytest.raises(RefusedError, match="a δ of 0 is left for such requests"):
            ledger.reserve(ask(2, own))
        ledger.reserve(ask(3, eps("1/10")))
        verify(ledger)


def test_what_is_left_is_what_one_more_request_may_cost():
    limit = kept(CAP)
    total = Totals().plus(eps("0.3")).plus(eps("0.1"))
    room = limit.left(total)
    assert room == Fraction(6, 10)
    assert limit.holds(total.plus(PureDP(room)))
    mixed = Totals().plus(ZCDP(Fraction(1, 20)))
    room = limit.left(mixed)
    assert limit.holds(mixed.plus(PureDP(room))) and not limit.holds(mixed.plus(PureDP(room + Fraction(1, 10**9))))
    assert not limit.left(total.plus(eps(1)))


def test_what_was_spent_is_the_least_cap_that_it_would_fit():
    total = Totals().plus(ZCDP(Fraction(1, 20))).plus(eps("1/10"))
    found = kept(CAP).together(total)
    assert found.delta == DELTA and found.epsilon < 1
    above = kept(ApproxDP(found.epsilon * (1 + Fraction(1, 10**6)), DELTA))
    below = kept(ApproxDP(found.epsilon * (1 - Fraction(1, 10**6)), DELTA))
    assert above.holds(total) and not below.holds(total)
    assert kept(CAP).together(Totals().plus(eps("1/10"))) == ApproxDP(Fraction(1, 10), DELTA)


def test_the_journal_says_how_a_limit_is_kept(url):
    with small(url, cap=CAP, grant=ApproxDP(Fraction(1, 2), DELTA)) as ledger:
        said = {entry.kind: entry.body for entry, _ in ledger.entries()}
        assert limit_from_dict(said["dataset"]["cap"]) == kept(CAP)
        assert limit_from_dict(said["grant"]["amount"]) == kept(ApproxDP(Fraction(1, 2), DELTA))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rho": "1"}, "is not kept by"),
        ({"events": "1/200"}, "is not kept by"),
        ({"events": "1/50"}, "must be a part"),
        ({"rho": "-1"}, "must not be negative"),
        ({"events": None, "rho": None}, "does not say how"),
        ({"rho": None}, "has epsilon, delta, events and rho"),
    ],
)
def test_an_entry_with_a_limit_that_is_not_kept_is_refused(url, change, match):
    cap = {name: text for name, text in (kept(CAP).as_dict() | change).items() if text is not None}
    body = {"name": "survey", "version": "1", "notion": Notion().to_json(), "disjoint": False, "most": None}
    with Ledger.create(url) as ledger, pytest.raises((RefusedError, UsageError), match=match):
        ledger._write("dataset", {**body, "cap": cap})


def test_a_part_of_delta_needs_a_delta(url):
    with Ledger.create(url) as ledger:
        with pytest.raises(UsageError, match="has no δ"):
            ledger.register("survey@1", Notion(), eps(1), event_delta=Fraction(1, 10**9))
        with pytest.raises(UsageError, match="given with it"):
            ledger.register("survey@1", Notion(), event_delta=Fraction(1, 10**9))


def test_one_request_is_fixed_beforehand_and_composed_as_well_as_can_be(url):
    with Ledger.create(url) as ledger:
        ledger.register("survey@1", Notion(), eps(3), most=eps(1))
        ledger.register("other@1", Notion(), CAP, most=ApproxDP(Fraction(1, 2), DELTA))
        ledger.add_account("ann")
        ledger.grant("ann", "other@1", CAP)
        other = type(ask(1).dataset)("other", "1")
        with pytest.raises(RefusedError, match="one request to other@1 may cost at most"):
            ledger.reserve(ask(1, eps("0.6"), dataset=other))
        ledger.reserve(ask(2, eps("0.5"), dataset=other))
