"""The limits on attackers, and the words for them."""

from fractions import Fraction

import pytest

from margrave.budget.events import Protection
from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.planning.promise.advantage import guessed
from margrave.planning.promise.exposure import exposure, rounded_up
from margrave.planning.promise.guarantee import Guarantee


def of(cost, **settings):
    return exposure(Guarantee(cost, Protection(**settings)))


def test_under_add_remove_all_three_attacks_have_a_limit():
    found = of(PureDP(Fraction(1)))
    kinds = [limit.attack for limit in found.limits]
    assert kinds == ["membership", "membership", "reconstruction", "linkage", "linkage", "linkage"]
    assert found.limits[1].after == pytest.approx(0.1359, abs=1e-4)
    assert found.limits[2].after == pytest.approx(0.8808, abs=1e-4)
    assert found.advantage == pytest.approx(0.4621, abs=1e-4)


@pytest.mark.parametrize("settings", [{"neighbours": "replace"}, {"sensitive": ("a",)}])
def test_where_membership_is_not_protected_no_limit_is_stated(settings):
    found = of(PureDP(Fraction(1)), **settings)
    assert found.advantage is None and "membership" not in [limit.attack for limit in found.limits]
    assert found.limits[0].after == pytest.approx(guessed(PureDP(Fraction(1)), 1, 0.5))
    assert any("not protected" in sentence for sentence in found.words())


@pytest.mark.parametrize("cost", [PureDP(Fraction(2)), ZCDP(Fraction(1, 9)), ApproxDP(Fraction(1), Fraction(1, 10**6))])
def test_words_never_say_less_than_the_limit(cost):
    for limit in of(cost).limits:
        assert limit.before < limit.after
        assert rounded_up(limit.after) in limit.words
        assert float(rounded_up(limit.after).removesuffix(" %")) / 100 >= limit.after - 1e-12


def test_a_hundred_percent_is_said_only_where_it_is_so():
    assert (rounded_up(0.99999), rounded_up(1.0), rounded_up(0.731058)) == ("nearly 100 %", "100 %", "73.2 %")


def test_facts_are_named_as_what_has_no_limit():
    found = exposure(Guarantee(PureDP(Fraction(1)), Protection(), "{a}", "worst-case", True))
    assert any("leave open" in sentence for sentence in found.words())
    assert found.as_json()["guarantee"] == {"epsilon": "1"} and found.as_json()["membership_advantage"] is None
