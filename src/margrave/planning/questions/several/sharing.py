"""Which of several questions are measured, and which follow from the answers to others.

A count by some keys follows from counts of the same rows by more, and all of them sharpen one another. An average
follows from the variance of the same numbers, quantiles and cumulative counts from one tree of them. What follows costs
nothing, and leaves more for the others. Whether it is better than a measurement of its own is known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log

from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.aggregates import (
    Aggregate,
    Average,
    Count,
    Cumulative,
    Quantiles,
    Variance,
)
from margrave.planning.questions.price.expectation import Expectation, expected, step_of
from margrave.planning.questions.price.mechanisms import Price, Tree
from margrave.planning.questions.programs.sought import sought_of
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.cube import cube_accuracy, cube_expectation, cube_margin, cube_problem

_MOST_WEIGHED = 12
"""Of up to so many questions it is weighed one by one whether they are measured; of more, all that follow are not."""


@dataclass(frozen=True)
class Shared:
    """Questions that are measured, each at an equal share of a budget; others follow from them."""

    questions: tuple[PricedQuestion, ...]

    @cached_property
    def _by_node(self) -> dict[Aggregate, PricedQuestion]:
        return {one.aggregate: one for one in self.questions}

    def source(self, node: Aggregate) -> PricedQuestion | None:
        """The measured question that a question, other than a count of a cube, is answered from."""
        if node in self._by_node:
            return self._by_node[node]
        return next((one for one in self.questions if follows(node, one)), None)

    def cube(self, node: Aggregate, data: DataSpec) -> tuple[PricedQuestion, ...]:
        """The measured counts of the same cube; none where a question is no count of one."""
        if not isinstance(node, Count) or not _in_cube(node, data):
            return ()
        same = [one for one in self.questions if isinstance(one.aggregate, Count) and one.aggregate.rows == node.rows]
        return tuple(one for one in same if isinstance(one.aggregate, Count) and _in_cube(one.aggregate, data))

    def expectation(self, node: Aggregate, data: DataSpec) -> tuple[Expectation, ...]:
        """What to expect of the answer to a question; nothing where no answer follows."""
        if cube := self.cube(node, data):
            accuracy = cube_accuracy(cube)
            sought = sought_of(node, data)
            if not set(cube_margin(sought)) <= set(accuracy.domain.names) or not accuracy.covers(cube_margin(sought)):
                return ()
            what = f"count{' of each group' if sought.axes else ''}"
            return (cube_expectation(what, sought, accuracy),)
        found = self.source(node)
        if found is None or found.aggregate == node:
            return () if found is None else found.forecast
        inner = PricedQuestion(data, node, found.budget)
        if isinstance(node, Average):
            return _of_variance(inner, found)
        return expected(node, inner.sought, found.mechanism)


def _in_cube(node: Count, data: DataSpec) -> bool:
    return cube_problem(node, sought_of(node, data), data) is None


def follows(node: Aggregate, question: PricedQuestion) -> bool:
    """Whether the answer to a question holds another: the average of a variance, what a tree of counts says."""
    other = question.aggregate
    if isinstance(node, Average) and isinstance(other, Variance):
        return _average_of(other) == node
    if not isinstance(question.mechanism, Tree) or not isinstance(node, Quantiles | Cumulative):
        return False
    assert isinstance(other, Quantiles | Cumulative)
    return _distribution(node) == _distribution(other)


def _average_of(node: Variance) -> Average:
    """The average of the same numbers."""
    bounds = (node.most_rows, node.most_groups, node.most_per_group)
    return Average(node.rows, node.value, node.by, node.low, node.high, *bounds)


def _distribution(node: Quantiles | Cumulative) -> tuple[object, ...]:
    bounds = [getattr(node, name, None) for name in ("most_rows", "most_groups", "most_per_group")]
    return (node.rows, node.value, node.keys, *bounds)


def _of_variance(inner: PricedQuestion, outer: PricedQuestion) -> tuple[Expectation, ...]:
    """Of the parts p, q, r of a variance, W·Σ(v − lo) is p + q/2: 5/4 of the variance of one of them."""
    width = (inner.sought.high - inner.sought.low) * float(step_of(inner.sought.value))
    share = (5 / 4) ** 0.5 / width
    return tuple(
        Expectation(one.what, None, own.half_width * share, one.per_row)
        for one, own in zip(inner.forecast, outer.forecast, strict=True)
    )


def shared(data: DataSpec, nodes: Sequence[Aggregate], budget: Price) -> Shared:
    """The questions that are measured: those that follow are left out as long as that makes all together better."""
    chosen = tuple(nodes)
    best = _measured(data, chosen, budget)
    score, improved = _score(best, data, nodes), True
    if len(nodes) > _MOST_WEIGHED:
        return _without_followers(data, chosen, budget)
    while improved:
        improved = False
        for node in chosen:
            rest = tuple(one for one in chosen if one != node)
            if not rest:
                break
            other = _measured(data, rest, budget)
            if other.expectation(node, data) and (found := _score(other, data, nodes)) < score - 1e-9:
                chosen, best, score, improved = rest, other, found, True
                break
    return best


def _without_followers(data: DataSpec, nodes: tuple[Aggregate, ...], budget: Price) -> Shared:
    chosen = nodes
    for node in nodes:
        rest = tuple(one for one in chosen if one != node)
        if rest and _measured(data, rest, budget).expectation(node, data):
            chosen = rest
    return _measured(data, chosen, budget)


def _measured(data: DataSpec, nodes: tuple[Aggregate, ...], budget: Price) -> Shared:
    share = budget.with_amount(budget.amount / len(nodes))
    return Shared(tuple(PricedQuestion(data, node, share) for node in nodes))


def _score(measured: Shared, data: DataSpec, nodes: Sequence[Aggregate]) -> float:
    """The sum of the logarithms of all half-widths: halving one is worth doubling another."""
    total = 0.0
    for node in nodes:
        found = measured.expectation(node, data)
        if not found:
            return inf
        total += sum(log(max(one.half_width, 1e-9)) for one in found) / len(found)
    return total
