from fractions import Fraction

import pytest

from margrave.budget.accountant import epsilon_of
from margrave.budget.composition import compose, groups
from margrave.budget.units import ZCDP, ApproxDP, PureDP
from margrave.errors import RefusedError

DELTA = Fraction(1, 10**6)


def pure(number):
    return PureDP(Fraction(number))


def test_basic_composition_is_exact():
    assert compose([pure("0.1"), pure("0.2")]) == pure("0.3")
    assert compose([ZCDP(Fraction(1, 3))] * 3) == ZCDP(Fraction(1))
    assert compose([pure(1), ZCDP(Fraction(1))]) == ZCDP(Fraction(3, 2))


def test_advanced_composition_is_never_worse_than_basic():
    many = compose([pure("0.1")] * 100, DELTA)
    assert isinstance(many, ApproxDP) and many.delta == DELTA
    assert 4 < many.epsilon < Fraction(11, 2) < 10
    assert compose([pure(1)], DELTA).epsilon <= 1


def test_discrete_laplace_is_not_accounted_as_continuous():
    """Thirty releases at ε = 1 really cost 29.99 at δ = 1e-6; the continuous Laplace formula would say 27.77."""
    assert Fraction("29.9") < compose([pure(1)] * 30, DELTA).epsilon <= 30


def test_mixtures_compose():
    mixed = compose([pure("0.5"), ZCDP(Fraction(1, 100)), ApproxDP(Fraction(1, 10), Fraction(1, 10**9))], DELTA)
    alone = epsilon_of(Fraction(1, 100), DELTA)
    assert Fraction(6, 10) < mixed.epsilon < Fraction(6, 10) + alone * Fraction(11, 10)


def test_what_cannot_be_composed_is_refused():
    with pytest.raises(RefusedError, match="name the δ"):
        compose([ApproxDP(Fraction(1), DELTA)])
    with pytest.raises(RefusedError, match="larger δ"):
        compose([ApproxDP(Fraction(1), DELTA)], DELTA)
    with pytest.raises(RefusedError, match="nothing"):
        compose([])


def test_groups():
    assert groups(pure(1))[5] == pure(5)
    assert groups(ZCDP(Fraction(1, 10)))[10] == ZCDP(Fraction(10))
    two = groups(ApproxDP(Fraction(1), DELTA))[2]
    assert two.epsilon == 2 and Fraction("5.4e-6") < two.delta < Fraction("5.5e-6")
    assert 10 not in groups(ApproxDP(Fraction(10), DELTA))
