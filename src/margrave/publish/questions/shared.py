"""The answers to a batch: those that were measured, and those that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from margrave.planning.questions.language.aggregates import Aggregate, Average, Count
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.price.mechanisms import Noisy, Tree
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.batch import Batch
from margrave.publish.questions.answer_values import AnswerRow, averages_of_variances, counted_rows
from margrave.publish.questions.answers import AnswerTable, RowsOfAnswer
from margrave.publish.questions.best_counts import BestCounts, best_counts
from margrave.publish.questions.distributions import tree_rows


@dataclass(frozen=True, repr=False)
class FollowingAnswer(RowsOfAnswer):
    """An answer that follows from the answer to another question of the same batch."""

    question: Aggregate
    rows: tuple[AnswerRow, ...]
    source: str

    def __repr__(self) -> str:
        lines = [f"  {row.said()}" for row in self.rows]
        return "\n".join([f"{said(self.question)}: follows from '{self.source}'", *lines])


BatchAnswer = AnswerTable | BestCounts | FollowingAnswer


def batch_answers(batch: Batch, measured: Sequence[AnswerTable]) -> dict[Aggregate, BatchAnswer]:
    """The answer to everything that a batch asks, by what is asked."""
    data = batch.questions[0].data
    by_node = {one.question.aggregate: one for one in measured}
    found: dict[Aggregate, BatchAnswer] = {}
    for node in batch.wanted:
        sources = batch.follows_from(node)
        if len(sources) > 1 or (sources[0].aggregate != node and batch.sharing.cube(node, data)):
            found[node] = best_counts(data, node, [by_node[one.aggregate] for one in sources])
        elif sources[0].aggregate == node:
            found[node] = by_node[node]
        else:
            found[node] = _following(node, by_node[sources[0].aggregate])
    return found


def _following(node: Aggregate, answer: AnswerTable) -> FollowingAnswer:
    source = answer.question
    question = PricedQuestion(source.data, node, source.budget)
    axes, mechanism = question.sought.axes, source.mechanism
    groups = product(*(axis.named for axis in axes))
    keys: list[Mapping[str, Any]] = [dict(zip((axis.name for axis in axes), group, strict=True)) for group in groups]
    if isinstance(node, Count):
        rows = tuple(counted_rows(source, keys, answer.numbers))
    elif isinstance(node, Average):
        assert isinstance(mechanism, Noisy)
        rows = tuple(averages_of_variances(question, mechanism.noise, keys, answer.numbers))
    else:
        assert isinstance(mechanism, Tree)
        rows = tuple(tree_rows(question, mechanism, keys, answer.numbers))
    return FollowingAnswer(node, rows, source.title)
