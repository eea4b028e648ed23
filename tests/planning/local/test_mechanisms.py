"""Every mechanism by brute force: every answer, every symbol, exact chances; then the draws themselves."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from margrave.algebra.residual import decompose
from margrave.errors import UsageError
from margrave.noise import Generator
from margrave.noise.tape import Tape
from margrave.planning.local.cells import CellMechanism, Response, Subset, Unary
from margrave.planning.local.hadamard import Hadamard
from margrave.planning.local.mechanism import masked
from margrave.planning.local.odds import Odds
from margrave.planning.local.question import MECHANISMS, candidates
from margrave.planning.local.residuals import Modular, Signs

THREE = Odds(3, 1)
CASES = [
    kind(shape, THREE) for kind in (Response, Subset, Unary, Hadamard) for shape in ((2,), (3,), (5,), (2, 2), (2, 3))
]
CASES += [Subset((7,), THREE, w) for w in (1, 2, 3, 6)]
CASES += [Signs(shape, THREE) for shape in ((2, 2), (2, 3), (2, 2, 2), (3, 3), (4, 3), (5,))]
CASES += [Modular(shape, THREE) for shape in ((3, 3), (5, 5), (3, 3, 3))]
CASES += [kind((2, 2), Odds(1000001, 1000000)) for kind in (Response, Subset, Unary, Hadamard, Signs)]
every_case = pytest.mark.parametrize("one", CASES, ids=lambda one: f"{one.name}{one.shape}{one.odds}")


def inputs(one):
    return list(product(*map(range, one.shape)))


def columns_of(one, symbols):
    parts = zip(*symbols, strict=True)
    return [
        masked(part, field.size) if field.mask else np.array(part)
        for field, part in zip(one.fields, parts, strict=True)
    ]


@every_case
def test_no_symbol_is_more_likely_under_any_answer_than_the_odds_allow(one):
    answers, symbols = inputs(one), list(one.symbols())
    assert len(set(symbols)) == len(symbols)
    worst = Fraction(0)
    for symbol in symbols:
        chances = [one.chance(codes, symbol) for codes in answers]
        worst = max(worst, max(chances) / min(chances))
        assert all(field.holds(value) for field, value in zip(one.fields, symbol, strict=True))
    assert worst == one.odds.ratio  # never above it, and nothing is given away
    assert all(sum(one.chance(codes, symbol) for symbol in symbols) == 1 for codes in answers)


@every_case
def test_estimates_are_unbiased_with_the_stated_second_moment(one):
    answers, symbols, axes = inputs(one), list(one.symbols()), len(one.shape)
    told = {symbol: decompose(one.shares(one.tally(columns_of(one, [symbol])), 1), axes) for symbol in symbols}
    for below in [below for below in next(iter(told.values())) if below and one.tells(below)]:
        second = 0.0
        for codes in answers:
            chances = [float(one.chance(codes, symbol)) for symbol in symbols]
            truth = np.zeros(one.shape)
            truth[codes] = 1
            mean = sum(chance * told[symbol][below] for chance, symbol in zip(chances, symbols, strict=True))
            np.testing.assert_allclose(mean, decompose(truth, axes)[below], atol=1e-9 * float(one.odds.gain) ** 2)
            lengths = [(told[symbol][below] ** 2).sum() for symbol in symbols]
            second += float(np.dot(chances, lengths)) / len(answers)
        dimension = prod(one.shape[axis] - 1 for axis in below)
        assert second / dimension == pytest.approx(float(one.spread(below)), rel=1e-9)


@every_case
def test_the_variance_of_any_sum_over_the_answers_is_that_of_an_enumeration(one):
    generator, symbols = np.random.default_rng(1), list(one.symbols())
    shares = generator.dirichlet(np.full(one.cells, 0.5)).reshape(one.shape)
    weights = generator.normal(size=(4, one.cells))
    told = np.array([one.shares(one.tally(columns_of(one, [symbol])), 1).ravel() for symbol in symbols]) @ weights.T
    likely = shares.ravel() @ [[float(one.chance(codes, symbol)) for symbol in symbols] for codes in inputs(one)]
    wanted = likely @ told**2 - (likely @ told) ** 2
    np.testing.assert_allclose(one.variances(weights, shares), wanted, rtol=1e-9, atol=1e-9 * wanted.max())
    if isinstance(one, CellMechanism):  # collections are simulated by the same covariances
        found = np.einsum("ij,jk,ik->i", weights, one.covariance(shares.ravel()), weights) / float(one.gap) ** 2
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * wanted.max())
    if isinstance(one, Modular):
        found = np.einsum("ij,jk,ik->i", weights, one.covariance(shares), weights)
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@every_case
def test_no_population_has_a_larger_variance_than_the_largest(one):
    """The largest is reached by people of two kinds, for c·x − (w·x)² is concave along w·x and linear otherwise."""
    generator, symbols = np.random.default_rng(2), list(one.symbols())
    weights = one.told(generator.normal(size=(2, one.cells)))
    told = np.array([one.shares(one.tally(columns_of(one, [symbol])), 1).ravel() for symbol in symbols]) @ weights.T
    chances = np.array([[float(one.chance(codes, symbol)) for symbol in symbols] for codes in inputs(one)])
    for row, found in enumerate(one.largest(weights)):
        second, mean = chances @ told[:, row] ** 2, chances @ told[:, row]
        first, other = (np.ravel(side) for side in np.meshgrid(*[np.arange(one.cells)] * 2))
        apart, gap = second[first] - second[other], mean[first] - mean[other]
        part = np.clip((apart / np.where(gap == 0, 1, gap) / 2 - mean[other]) / np.where(gap == 0, 1, gap), 0, 1)
        shares = [np.zeros(gap.shape), np.ones(gap.shape), part]
        wanted = max((second[other] + share * apart - (mean[other] + share * gap) ** 2).max() for share in shares)
        assert found == pytest.approx(wanted, rel=1e-6)


@every_case
def test_a_tally_of_many_is_the_sum_of_the_tallies_of_each(one):
    symbols = list(one.symbols())[:40]
    together = one.tally(columns_of(one, symbols))
    assert together.shape == one.tally_shape
    np.testing.assert_array_equal(together, sum(one.tally(columns_of(one, [symbol])) for symbol in symbols))


THROWN = [(kind, shape) for kind in (Response, Subset, Unary, Hadamard) for shape in ((2,), (3,), (5,), (2, 2))]
THROWN += [(Signs, (2, 2)), (Signs, (2, 3)), (Signs, (4, 2)), (Signs, (2, 2, 2)), (Modular, (3, 3))]


class Undecided(Exception):
    """A coin of so many sides was thrown that nobody had decided on."""


class Decided:
    """A tape whose draws are decided beforehand."""

    chosen = Tape.chosen

    def __init__(self, draws):
        self.draws = iter(draws)

    def below(self, bound):
        found = 0 if bound == 1 else next(self.draws, None)
        if found is None:
            raise Undecided(bound)
        return found


def chances_of(one, codes):
    """The exact chance of every symbol, by throwing every coin of a device in every way."""
    found, open_ends = Counter(), [((), Fraction(1))]
    while open_ends:
        draws, chance = open_ends.pop()
        try:
            found[one.encode(codes, Decided(draws))] += chance
        except Undecided as coin:
            sides = coin.args[0]
            open_ends += [((*draws, side), chance / sides) for side in range(sides)]
    return found


@pytest.mark.parametrize("odds", [THREE, Odds(5, 2)], ids=str)
@pytest.mark.parametrize(("kind", "shape"), THROWN)
def test_all_coins_of_a_device_together_have_exactly_the_stated_chances(kind, shape, odds):
    one = kind(shape, odds)
    for codes in inputs(one):
        assert chances_of(one, codes) == {symbol: one.chance(codes, symbol) for symbol in one.symbols()}


def frequencies(one, codes, draws):
    generator = Generator.seeded(f"{one} {codes}")
    columns = one.encode_many(np.tile(np.array(codes), (draws, 1)), generator)
    rows = [
        np.array([int("".join(map(str, row[::-1])), 2) for row in column.astype(int)]) if field.mask else column
        for field, column in zip(one.fields, columns, strict=True)
    ]
    return Counter(zip(*(row.tolist() for row in rows), strict=True))


def p_value(one, codes, seen):
    """Of the chi-squared test that what was seen has the chances of a mechanism."""
    symbols = list(one.symbols())
    expected = np.array([float(one.chance(codes, symbol)) for symbol in symbols])
    return chisquare([seen[symbol] for symbol in symbols], expected / expected.sum() * seen.total()).pvalue


def with_odds(one, odds):
    return Subset(one.shape, odds, one.w) if isinstance(one, Subset) else type(one)(one.shape, odds)


DRAWN = [kind((3,), THREE) for kind in (Response, Subset, Unary, Hadamard)]
DRAWN += [
    Subset((5,), THREE, 2),
    Signs((2, 2), THREE),
    Signs((2, 3), THREE),
    Signs((4, 2), THREE),
    Modular((3, 3), THREE),
]


@pytest.mark.slow
@pytest.mark.parametrize("one", DRAWN, ids=lambda one: f"{one.name}{one.shape}")
def test_reports_of_many_have_the_exact_chances_and_no_others(one):
    codes = inputs(one)[-1]
    seen = frequencies(one, codes, 20_000)
    assert p_value(one, codes, seen) > 1e-4
    assert p_value(with_odds(one, Odds(2, 1)), codes, seen) < 1e-9
    assert p_value(with_odds(one, Odds(4, 1)), codes, seen) < 1e-9


def test_warner_for_one_question_is_the_two_coins_of_the_slides():
    one = Response((2,), THREE)
    # The four outcomes of two fair coins: the truth twice, and then each answer once.
    said = [[one.encode((truth,), Tape.written(bytes([drawn])))[0] for drawn in range(4)] for truth in (0, 1)]
    assert said == [[0, 0, 0, 1], [1, 1, 0, 1]]
    assert [one.chance((1,), (1,)), one.chance((0,), (1,))] == [Fraction(3, 4), Fraction(1, 4)]


def test_two_values_in_every_attribute_need_no_drawn_signs():
    assert [field.size for field in Signs((2, 2, 2), THREE).fields] == [2]
    assert [float(Signs((2,) * width, THREE).spread(tuple(range(width)))) for width in (1, 2, 3)] == [2, 1, 0.5]


def test_sums_modulo_a_prime_have_the_variance_of_subset_selection():
    found = [float(Modular((k, k), THREE).spread((0, 1))) for k in (3, 7)]
    assert found == pytest.approx([1.3889, 2.2222], abs=1e-3)
    whole = [float(Subset((k, k), THREE).spread((0, 1))) for k in (2, 3, 7)]
    assert whole == pytest.approx([2.25, 2.6825, 2.9388], abs=1e-3)


def test_the_best_mechanism_comes_first():
    assert [one.name for one in candidates((3, 3), THREE, whole=False)] == ["modular", "signs"]
    assert [one.name for one in candidates((2, 3), THREE, whole=False)] == ["signs"]
    assert candidates((8,), THREE, whole=True)[0].name == "subset"
    assert candidates((8,), Odds(100, 1), whole=True)[0].name == "response"
    assert set(MECHANISMS) == {"response", "subset", "unary", "hadamard", "signs", "modular"}


@given(st.lists(st.integers(2, 5), min_size=1, max_size=3), st.integers(0, 5), st.fractions("1.05", 20), st.data())
@settings(max_examples=60, deadline=None)
def test_on_any_domain_one_report_is_read_as_it_was_made(shape, kind, ratio, data):
    odds = Odds(ratio.numerator, ratio.denominator)
    kinds = [*(one for one in MECHANISMS.values() if one is not Modular), Signs]
    if len(set(shape)) == 1 and shape[0] in (3, 5) and len(shape) > 1:
        kinds[-1] = Modular
    one = kinds[kind](tuple(shape), odds)
    codes = [data.draw(st.integers(0, size - 1)) for size in shape]
    symbol = one.encode(codes, Tape.of(Generator.seeded(data.draw(st.integers(0, 10**6)))))
    assert all(field.holds(value) for field, value in zip(one.fields, symbol, strict=True))
    assert len(one.written(symbol)) == one.digits
    best = max(one.chance(other, symbol) for other in inputs(one))
    assert best <= odds.ratio * one.chance(codes, symbol)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Response((), THREE),
        lambda: Response((1, 2), THREE),
        lambda: Subset((3,), THREE, 3),
        lambda: Modular((4, 4), THREE),
        lambda: Modular((3, 5), THREE),
        lambda: Odds(1, 1),
    ],
)
def test_what_cannot_be_is_refused(make):
    with pytest.raises(UsageError):
        make()
