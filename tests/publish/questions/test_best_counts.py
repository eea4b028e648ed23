"""Answers sharpen one another: the best estimate is least squares, beats each answer alone, and is covered."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import UsageError
from margrave.noise import Generator
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.question import PricedQuestion
from margrave.publish.questions.answers import AnswerTable
from margrave.publish.questions.best_counts import best_counts

SPEC = DataSpec.load(
    """
[tables.people]
[tables.people.columns]
a = { values = ["x", "y"], other = "z" }
b = { values = ["p"], missing = "q" }
loose = ["l", "m"]
"""
)
CUBE = np.array([[40.0, 7.0], [0.0, 25.0], [13.0, 90.0]])
AXES = {"a": 0, "b": 1}


def asked(text, budget=PureDP(Fraction(1, 2))):  # noqa: B008
    return PricedQuestion(SPEC, parsed(text, SPEC), budget)


def exact(question):
    """The true table of a question about the cube."""
    keys = [key.name for key in question.aggregate.by]
    rest = tuple(at for name, at in AXES.items() if name not in keys)
    table = CUBE.sum(axis=rest)
    return (table.T if keys == ["b", "a"] else table).reshape(-1)


def answered(question, generator):
    truth = exact(question)
    noise = question.mechanism.noise.sample(truth.size, generator)
    return AnswerTable(question, tuple(int(one) + int(drawn) for one, drawn in zip(truth, noise, strict=True)))


def rows_of(question):
    """How a question's cells add up those of the cube, cells of (a, b) in order."""
    keys = [key.name for key in question.aggregate.by]
    cells = list(product(range(3), range(2)))
    groups = list(product(*(range(CUBE.shape[AXES[name]]) for name in keys)))
    return np.array(
        [[all(cell[AXES[n]] == g for n, g in zip(keys, group, strict=True)) for cell in cells] for group in groups],
        float,
    )


TEXTS = ["people count", "people by a count", "people by b count", "people by b, a count", "people by a count"]


def test_it_is_the_least_squares_estimate():
    generator = Generator.seeded("best")
    budgets = [PureDP(Fraction(number, 10)) for number in range(1, 6)]
    found = [answered(asked(text, budget), generator) for text, budget in zip(TEXTS, budgets, strict=True)]
    design = np.vstack([rows_of(one.question) for one in found])
    spreads = np.concatenate([[one.question.mechanism.noise.variance] * len(one.numbers) for one in found])
    noisy = np.concatenate([np.array(one.numbers, float) for one in found])
    inverse = np.linalg.inv(design.T @ (design / spreads[:, None]))
    cube = inverse @ design.T @ (noisy / spreads)
    for text in ("people by a, b count", "people by b count", "people count"):
        wanted = asked(text)
        best = best_counts(SPEC, wanted.aggregate, found)
        matrix = rows_of(wanted)
        assert [row.value for row in best.rows] == pytest.approx(matrix @ cube)
        assert [row.std_error**2 for row in best.rows] == pytest.approx(np.diag(matrix @ inverse @ matrix.T))
        assert best.answers == 5 and "at no cost" in repr(best)


@pytest.mark.parametrize("budget", [PureDP(Fraction(1, 2)), ZCDP(Fraction(1, 20))])
def test_it_beats_each_answer_alone_and_is_covered_as_stated(budget):
    generator = Generator.seeded(f"cover {budget}")
    questions = [asked(text, budget) for text in TEXTS]
    wanted, hits, errors, alone = asked("people by a count"), [], [], []
    truth = exact(wanted)
    for _ in range(400):
        found = [answered(one, generator) for one in questions]
        best = best_counts(SPEC, wanted.aggregate, found)
        values = np.array([row.value for row in best.rows])
        hits += [row.low <= one <= row.high for row, one in zip(best.rows, truth, strict=True)]
        errors.append((values - truth) ** 2)
        alone.append((np.array(found[1].numbers) - truth) ** 2)
    assert 0.935 <= np.mean(hits) <= 0.985
    assert np.sqrt(np.mean(errors)) == pytest.approx(best.rows[0].std_error, rel=0.06)
    assert np.mean(errors) < 0.6 * np.mean(alone)


def test_an_analyst_who_chooses_by_what_she_saw_is_covered_too():
    """She asks again, at more expense, only where the first count was low: an interval is not promised, but holds."""
    generator, hits = Generator.seeded("adaptive"), []
    first, more = asked("people count", PureDP(Fraction(1, 5))), asked("people count", PureDP(Fraction(1, 2)))
    for _ in range(1_000):
        found = [answered(first, generator)]
        if found[0].numbers[0] < CUBE.sum():
            found.append(answered(more, generator))
        row = best_counts(SPEC, first.aggregate, found).rows[0]
        hits.append(row.low <= CUBE.sum() <= row.high)
    assert np.mean(hits) >= 0.93


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("people by loose count", "no answer counts these rows by"),
        ("people by a only (x) count", "taken whole"),
        ("people by c = case when a = x then 'u' else 'v' end count", "taken whole"),
        ("people units", "counts alone"),
        ("people by a, b count", "no answer counts these rows by"),
    ],
)
def test_what_cannot_be_combined_is_said(text, said):
    found = [
        answered(asked("people count"), Generator.seeded("some")),
        answered(asked("people by a count"), Generator.seeded("x")),
    ]
    with pytest.raises(UsageError, match=said):
        best_counts(SPEC, parsed(text, SPEC), found)


def test_answers_about_other_rows_are_left_aside():
    one = answered(asked("people count"), Generator.seeded("one"))
    other = AnswerTable(asked("people where a = x count"), (10**6,))
    best = best_counts(SPEC, one.question.aggregate, [one, other])
    assert best.answers == 1 and best.rows[0].value == one.numbers[0]


def test_counts_by_what_may_be_missing_are_combined_with_those_of_the_same_rows_alone():
    texts = ["people by loose count", "people where not (loose is missing) count", "people count", "people by a count"]
    texts += ["people by a, loose count"]
    found = [AnswerTable(asked(text), (10,) * asked(text).sought.cells) for text in texts]
    best = best_counts(SPEC, parsed("people by loose count", SPEC), found)
    assert best.answers == 3 and best.rows[0].std_error < found[0].rows[0].std_error
    assert best_counts(SPEC, parsed("people count", SPEC), found).answers == 2
