"""Answers to a batch: what follows from others is what they say, and its intervals hold."""

from fractions import Fraction

import numpy as np
import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.noise import Generator
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.price.trees import tree_counts
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.batch import Batch
from margrave.publish.questions.answers import AnswerTable
from margrave.publish.questions.shared import batch_answers
from tests.planning.questions.several.test_sharing import SPEC
from tests.publish.questions.test_answers import parts


def drawn(question, exact, generator):
    noise = question.mechanism.noise.sample(len(exact), generator)
    return AnswerTable(question, tuple(int(one) + int(z) for one, z in zip(exact, noise, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PureDP(Fraction(1)), ZCDP(Fraction(1, 5))])
def test_an_average_that_follows_from_a_variance_is_covered(budget):
    average, variance = parsed("people average pay", SPEC), parsed("people variance pay", SPEC)
    batch, generator = Batch.shared(SPEC, (average, variance), budget), Generator.seeded(f"follow {budget}")
    values = np.round(np.clip(np.random.default_rng(1).normal(20, 8, 600), 0, 50) * 2) / 2
    hits, errors, stated = [], [], []
    for _ in range(500):
        found = batch_answers(batch, [drawn(batch.questions[0], parts(values, 2), generator)])
        one = found[average]
        hits.append(one.low <= values.mean() <= one.high)
        errors.append(one.value - values.mean())
        stated.append(one.std_error)
    assert 0.925 <= np.mean(hits) <= 0.98
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.mean(stated), rel=0.1)
    assert found[variance].question.aggregate == variance and "follows from" in repr(one)
    assert one.rows[0].extra["rows"] == pytest.approx(600, rel=0.2)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("people where pay >= 0 count", "people where pay >= 0 average pay"),
        ("people where pay >= 0 count", "people where pay >= 0 variance pay"),
        ("people by pay count", "people cumulative pay"),
    ],
)
def test_counts_that_follow_are_covered_and_have_the_stated_error(text, source):
    node, generator = parsed(text, SPEC), Generator.seeded(f"counts {source}")
    question = PricedQuestion(SPEC, parsed(source, SPEC), PureDP(Fraction(1, 2)))
    batch = Batch((question,), (node, question.aggregate))
    values = np.round(np.clip(np.random.default_rng(1).normal(20, 8, 60), 0, 50) * 2) / 2
    if "cumulative" in source:
        truth = np.bincount((values * 2).astype(int), minlength=101)
        exact = tree_counts(truth, question.mechanism.branching, question.mechanism.levels)
    else:
        truth, exact = np.array([60]), parts(values, 1 if "average" in source else 2)
    errors, hits = [], []
    for _ in range(400 if len(truth) == 1 else 20):
        found = batch_answers(batch, [drawn(question, exact, generator)])[node]
        errors += [row.value - one for row, one in zip(found.rows, truth, strict=True)]
        hits += [row.low <= one <= row.high for row, one in zip(found.rows, truth, strict=True)]
    assert 0.925 <= np.mean(hits) <= 0.98
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(found.rows[0].std_error, rel=0.1)
    assert batch.forecast[0].std_error == found.rows[0].std_error


def test_a_tree_answers_quantiles_and_sums_from_the_start():
    texts = ("people cumulative pay", "people quantiles(0.1, 0.2, 0.3, 0.4, 0.5) of pay", "people median pay")
    nodes = tuple(parsed(text, SPEC) for text in texts)
    batch = Batch.shared(SPEC, nodes, PureDP(Fraction(10**6)))
    assert len(batch.questions) == 1
    question = batch.questions[0]
    exact = tree_counts(np.arange(101), question.mechanism.branching, question.mechanism.levels)
    found = batch_answers(batch, [drawn(question, exact, Generator.seeded("tree"))])
    through = np.cumsum(np.arange(101))
    assert [row.value for row in found[nodes[0]].rows] == pytest.approx(through)
    assert found[nodes[2]].value == np.searchsorted(through, through[-1] / 2) / 2
    assert len(found[nodes[1]].rows) == 5


def test_counts_of_one_cube_agree():
    texts = ("people count", "people by a count", "people by b, a count")
    nodes = tuple(parsed(text, SPEC) for text in texts)
    batch = Batch.shared(SPEC, nodes, PureDP(Fraction(1)))
    answers = [drawn(one, [10] * one.sought.cells, Generator.seeded("cube")) for one in batch.questions]
    found = batch_answers(batch, answers)
    assert found[nodes[0]].value == pytest.approx(sum(row.value for row in found[nodes[1]].rows))
    assert found[nodes[0]].value == pytest.approx(sum(row.value for row in found[nodes[2]].rows))
