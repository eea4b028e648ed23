"""Batches: one cost, one question, and what cannot be put together."""

import json
from fractions import Fraction

import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import BundleError, UsageError
from margrave.ledger.values import DataSetName
from margrave.planning.asked import request_of
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.batch import Batch, read_batch
from margrave.publish.questions.answers import AnswerTable, BatchPack
from tests.planning.questions.samples import data_spec

SPEC = data_spec()
NODES = tuple(
    parsed(text, SPEC) for text in ("people count", "people average age", "visits by ward count", "people count")
)


@pytest.mark.parametrize("budget", [PureDP(Fraction(3, 10)), ZCDP(Fraction(3, 100))])
def test_prices_add_up_and_each_question_has_its_share(budget):
    batch = Batch.shared(SPEC, NODES, budget)
    assert len(batch.questions) == 3
    assert batch.cost.amount == sum(one.amount for one in batch.questions) <= budget.amount
    assert batch.cost.amount > budget.amount * Fraction(999_999, 1_000_000)
    request = request_of(batch, DataSetName("x", "1"), "ann")
    assert request.cost == batch.cost and len(request.mechanisms) == 3
    assert read_batch(json.loads(json.dumps(batch.asked_json()))) == batch
    assert len(batch.forecast) == 3 == len(batch.sheets()) and len(batch.words()) == 4
    assert batch.to_json()["way"] == "batch" and not batch.exact and not batch.disclosed and not batch.warnings


def test_what_is_no_batch_is_refused():
    one = PricedQuestion(SPEC, NODES[0], PureDP(Fraction(1)))
    for wrong in (
        (),
        (one, one),
        (one, PricedQuestion(SPEC, NODES[1], ZCDP(Fraction(1)))),
        (one, PricedQuestion(data_spec("replace"), NODES[1], PureDP(Fraction(1)))),
    ):
        with pytest.raises(UsageError):
            Batch(wrong)


def test_answers_to_a_batch_are_read_back_and_changed_ones_are_refused():
    batch, pack = Batch.shared(SPEC, NODES, PureDP(Fraction(1))), BatchPack()
    drawn = ((5,), (6, 7), (8, -9))
    pack.check(batch)
    content, identity = pack.write(batch, drawn, {"id": "x"})
    assert pack.read(content) == tuple(AnswerTable(q, n) for q, n in zip(batch.questions, drawn, strict=True))
    assert pack.kept(batch, pack.keep(batch, drawn)) == drawn and len(identity) == 64
    for wrong in (b"{}", content[:-2], content.replace(b'"-9"', b'"-9","1"')):
        with pytest.raises(BundleError):
            pack.read(wrong)
