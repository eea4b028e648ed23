"""Linkage, k-anonymity by Mondrian, and what is left of the data."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.budget.units import PureDP
from margrave.errors import UsageError
from margrave.noise import Generator
from margrave.planning.promise.advantage import guessed
from margrave.study.attacks.anonymity.curse import K, curse, equal_epsilon, lost
from margrave.study.attacks.anonymity.linkage import intersected, linkage, named, present_in, town
from margrave.study.attacks.anonymity.mondrian import mondrian, spread_evenly
from margrave.study.attacks.subjects import bundled
from margrave.study.attacks.terms import Terms

pytestmark = pytest.mark.slow


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=4, max_size=60), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_classes_are_anonymous_hold_their_records_and_do_not_overlap(rows, k):
    codes = np.array(rows)
    found = mondrian(codes, k)
    assert found.sizes.min() >= k and found.sizes.sum() == len(codes)
    assert (found.low[found.classes] <= codes).all() and (codes <= found.high[found.classes]).all()
    for record, own in zip(codes, found.classes, strict=True):
        assert found.holding(record).tolist() == [own]


def test_no_class_could_be_split_any_further():
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    assert sorted(mondrian(codes, 3).sizes.tolist()) == [3, 3, 3, 3]
    assert mondrian(codes, 7).sizes.tolist() == [12]
    with pytest.raises(UsageError):
        mondrian(codes, 13)


def test_classes_of_single_values_give_the_table_itself():
    codes = np.array([[0, 0]] * 3 + [[1, 1]] * 4)
    table = spread_evenly(mondrian(codes, 3), (2, 2), (0, 1))
    assert table.tolist() == [[3, 0], [0, 4]]
    assert lost([np.array([[3, 0], [0, 4]])], [table]) == 0
    assert spread_evenly(mondrian(codes, 4), (2, 2), (0, 1)).tolist() == [[1.75] * 2] * 2


def test_a_guess_lets_go_of_what_nobody_shares():
    records, secrets = np.array([[0, 0], [0, 1], [0, 1]]), np.array([2, 1, 1])
    assert named(np.array([[0, 0], [0, 1], [0, 5], [7, 7]]), records, secrets, 3).tolist() == [2, 1, 1, 1]


@pytest.fixture(scope="module")
def found():
    return linkage(Terms(seed="test"))


def test_names_removed_protects_nobody_and_margrave_stays_within_its_bound(found):
    known = [row.exact for row in found.rows]
    assert known == sorted(known) and known[-1] > 0.7
    assert found.rows[-1].wrong > 0.5
    by_chance = float(found.measure.split("; ")[1].split(" %")[0]) / 100
    assert all(row.margrave < by_chance + 0.05 < row.bound for row in found.rows)


def test_k_anonymity_falls_to_homogeneity_knowledge_and_intersection(found):
    shares = [[float(text.removesuffix(" %")) for text in row[2:]] for row in found.more[0].rows]
    homogeneity, knowledge, two, six = shares[0]
    assert 5 < homogeneity < knowledge and 30 < two < six
    assert shares[1][3] > 10 and shares[-1][0] == 0


def test_an_intersection_names_only_secrets_that_are_right():
    chosen = town(300, Generator.seeded("town"))
    values = int(chosen.secret.max()) + 1
    classes = mondrian(chosen.known, 3)
    assert present_in(classes, chosen.secret, values)[classes.classes, chosen.secret].all()
    assert 0 < intersected(chosen, 2, values, 4, Generator.seeded("meet")).mean() <= 1


def test_equal_protection_is_what_it_says():
    epsilon = equal_epsilon(2000, K)
    assert guessed(PureDP(epsilon), 2, 1 / 2000) == pytest.approx(1 / K, rel=0.01)


def test_the_curse_of_dimensionality():
    found = curse(Terms(Fraction(1), seed="test", subject=bundled("rochdale")))
    first, last = found.rows[0], found.rows[-1]
    assert first.exact < 0.01 < 0.04 < last.exact
    assert last.margrave < last.exact
