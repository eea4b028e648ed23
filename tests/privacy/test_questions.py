"""Answers sampled from two neighbouring stores tell no more than they cost, and known bugs are found."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta

from margrave.budget.units import PureDP
from margrave.measure.questions.engine import noisy_answer
from margrave.noise import Generator
from margrave.planning.questions.language import aggregates as a
from margrave.planning.questions.language import expressions as e
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.price.price import UnitMove
from margrave.planning.questions.programs import rows, sought
from margrave.planning.questions.question import PricedQuestion
from tests.measure.questions.stores import engine_of
from tests.planning.questions.price.test_price import NAMES, QUESTIONS, every_unit, tiny, true_move
from tests.planning.questions.samples import data_of, data_spec

EPSILON = Fraction(1)
DRAWS = 3_000
ONE = {"people": [{"region": "north", "age": 5, "income": Fraction(1), "joined": None}]}
ONE |= {"visits": [{"ward": "a", "cost": Fraction(2), "seen": None}] * 3}
OTHER = {"people": [{"region": "south", "age": 1, "income": Fraction(0), "joined": None}], "visits": []}
TEXTS = [
    "visits count",
    "visits by ward count",
    "people average age",
    "people join visits by region sum cost low 0 high 3",
    "visits quantiles(0.5) of cost",
    "visits choose ward",
]


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    """Two stores that differ in one unit."""
    spec, folder = data_spec(), tmp_path_factory.mktemp("neighbours")
    return spec, [
        engine_of(spec, data_of(units, spec), folder / str(number))
        for number, units in enumerate(([OTHER, ONE], [OTHER]))
    ]


def lower_bound(one, other):
    """ε, with confidence of 99.9 % at least: the largest log-ratio of chances of an event, thresholds being events."""
    worst = 0.0
    for at in np.unique(np.concatenate([one, other])):
        for hits in ((one <= at, other <= at), (one >= at, other >= at)):
            for first, second in (hits, hits[::-1]):
                low = beta.ppf(5e-6, first.sum(), len(first) - first.sum() + 1) if first.sum() else 0.0
                high = beta.ppf(1 - 5e-6, second.sum() + 1, len(second) - second.sum())
                worst = max(worst, np.log(low / high) if low > 0 else 0.0)
    return worst


def draws(question, engine, seed):
    generator = Generator.seeded(seed)
    return np.array([noisy_answer(engine, question, generator)[0] for _ in range(DRAWS)])


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_sampled_answers_tell_no_more_than_they_cost(text, engines, monkeypatch):
    spec, pair = engines
    question = PricedQuestion(spec, parsed(text, spec), PureDP(EPSILON))
    exact = [engine.exact(question.sought) for engine in pair]
    for engine, counts in zip(pair, exact, strict=True):
        # The exact counts stay what they are, so they are read once: what is drawn here is the noise.
        monkeypatch.setattr(engine, "exact", lambda _, counts=counts: counts)
    samples = [draws(question, engine, f"audit {text} {number}") for number, engine in enumerate(pair)]
    found = lower_bound(*samples)
    assert found <= float(EPSILON)


@pytest.mark.slow
def test_noise_for_too_small_a_move_is_found_by_sampling(engines, monkeypatch):
    """Noise for a third of the move, as if a unit had one row."""
    spec, pair = engines
    question = PricedQuestion(spec, parsed("visits count", spec), PureDP(EPSILON))
    cheap = replace(question.sought, move=UnitMove(1, 1))
    monkeypatch.setitem(question.__dict__, "sought", cheap)
    monkeypatch.delitem(question.__dict__, "mechanism")
    counts = [engine.exact(cheap) for engine in pair]
    for engine, found in zip(pair, counts, strict=True):
        monkeypatch.setattr(engine, "exact", lambda _, found=found: found)
    samples = [draws(question, engine, f"cheap {number}") for number, engine in enumerate(pair)]
    assert lower_bound(*samples) > float(EPSILON)


def join_unbounded(monkeypatch):
    """A join that is taken to leave as many rows as its left side has."""
    honest = rows._join
    monkeypatch.setattr(rows, "_join", lambda left, right, how: replace(honest(left, right, how), most=left.most))
    return QUESTIONS["join"]


def bound_undone(monkeypatch):
    """A union that is taken to keep the bound of its left side."""
    honest = rows._combine

    def wrong(how, left, right):
        return replace(honest(how, left, right), most=left.most)

    monkeypatch.setattr(rows, "_combine", wrong)
    return QUESTIONS["union"]


def average_too_cheap(monkeypatch):
    """An average whose parts are charged as if they moved half as far."""
    honest = sought.rows_move

    def wrong(bounds, weight, parts, neighbours):
        move = honest(bounds, weight, parts, neighbours)
        return move if parts == 1 else UnitMove(move.l1 // 2, move.l2_squared // 4)

    monkeypatch.setattr(sought, "rows_move", wrong)
    return QUESTIONS["average"]


def clamp_after_sum(monkeypatch):
    """A sum that is priced by its clamp, where the clamp is left out."""
    honest = sought._sum
    monkeypatch.setattr(sought, "_sum", lambda aggregate, asked: replace(honest(aggregate, asked), clamp=None))
    return QUESTIONS["sum of joined, clamped"]


def total_unclamped(monkeypatch):
    """The same, of one total, of which two rows of a unit make twice as much as it may have."""
    clamp_after_sum(monkeypatch)
    return a.Sum(QUESTIONS["join"].rows, e.Column("pay"), (), e.Numeral(-1), e.Numeral(1))


@pytest.mark.slow
@pytest.mark.parametrize("bug", [join_unbounded, bound_undone, average_too_cheap, total_unclamped])
def test_seeded_bugs_are_found_by_sampling_answers(bug, tmp_path, monkeypatch):
    """The same data and question without the bug, and with it: only then does sampling show more than was paid."""
    unit = {"people": [{"sex": "f", "pay": Fraction(1)}], "visits": [{"ward": "a"}, {"ward": "a"}]}
    spec = tiny("add-remove")
    pair = [
        engine_of(spec, data_of(units, spec), tmp_path / name) for name, units in (("with", [unit]), ("without", []))
    ]

    def shown(node):
        question = PricedQuestion(spec, node, PureDP(EPSILON))
        samples = []
        for number, engine in enumerate(pair):
            counts = engine.exact(question.sought)
            with monkeypatch.context() as patch:
                patch.setattr(engine, "exact", lambda _, counts=counts: counts)
                samples.append(draws(question, engine, f"seeded {bug.__name__} {number}"))
        return lower_bound(*samples)

    with monkeypatch.context() as patch:
        node = bug(patch)
        assert shown(node) > float(EPSILON)
    assert shown(node) <= float(EPSILON)


@pytest.mark.parametrize("bug", [join_unbounded, bound_undone, average_too_cheap])
def test_bugs_in_prices_are_found_by_enumeration(bug, monkeypatch):
    node = bug(monkeypatch)
    question = PricedQuestion(tiny("add-remove"), node, PureDP(EPSILON))
    l1, _ = true_move(question, NAMES, [], every_unit(question.data))
    assert l1 > question.sought.move.l1


def test_a_clamp_that_is_left_out_is_found_by_comparing_stores(tmp_path, monkeypatch):
    node = clamp_after_sum(monkeypatch)
    spec = tiny("add-remove")
    question = PricedQuestion(spec, node, PureDP(EPSILON))
    unit = {"people": [{"sex": "f", "pay": Fraction(1)}], "visits": [{"ward": "a"}, {"ward": "a"}]}
    found = [
        engine_of(spec, data_of(units, spec), tmp_path / name).exact(question.sought)
        for name, units in (("with", [unit]), ("without", []))
    ]
    assert np.abs(found[0] - found[1]).max() > question.sought.high
