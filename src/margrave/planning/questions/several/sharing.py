"""Which of several questions are measured, and which follow from the answers to others.

A count by some keys follows from counts of the same rows by more, and all of them sharpen one another. An average
follows from the variance of the same numbers, a count from either of both, quantiles, cumulative counts and counts by
value from one tree of them. What follows costs
nothing, and leaves more for the others. Whether it is better than a measurement of its own is known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from math import inf, log, sqrt

from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.aggregates import (
    Aggregate,
    Average,
    Count,
    Cumulative,
    Quantiles,
    Variance,
)
from margrave.planning.questions.language.expressions import Column
from margrave.planning.questions.price.expectation import (
    Expectation,
    expected,
    leaf_half_width,
    step_of,
    sum_half_width,
)
from margrave.planning.questions.price.mechanisms import Price, Selected, Tree
from margrave.planning.questions.price.trees import leaf_variance
from margrave.planning.questions.programs.missing import is_never_missing
from margrave.planning.questions.programs.sought import sought_of
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.cube import (
    cube_accuracy,
    cube_expectation,
    cube_margin,
    cube_problem,
    cube_rows,
)
from margrave.planning.questions.several.partition import PartPurse

_MOST_WEIGHED = 12
"""Of up to so many questions it is weighed one by one whether they are measured; of more, all that follow are not."""
_MOST_WORSE = 1.05
"""How much wider an interval may become by sharing."""


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
        """The measured counts of the same cube, where its counts follow from them; none for what is no count of one."""
        if not isinstance(node, Count) or not _in_cube(node, data):
            return ()
        rows, margin = cube_rows(node, data), cube_margin(sought_of(node, data))
        counts = [(one, one.aggregate) for one in self.questions if isinstance(one.aggregate, Count)]
        same = [one for one, count in counts if _in_cube(count, data) and cube_rows(count, data) == rows]
        if not same:
            return ()
        accuracy = cube_accuracy(same)
        covered = set(margin) <= set(accuracy.domain.names) and accuracy.covers(margin)
        return tuple(same) if covered else ()

    def expectation(self, node: Aggregate, data: DataSpec) -> tuple[Expectation, ...]:
        """What to expect of the answer to a question; nothing where no answer follows."""
        if cube := self.cube(node, data):
            sought = sought_of(node, data)
            what = f"count{' of each group' if sought.axes else ''}"
            return (cube_expectation(what, sought, cube_accuracy(cube)),)
        found = self.source(node)
        if found is None or found.aggregate == node:
            return () if found is None else found.forecast
        inner = PricedQuestion(data, node, found.budget)
        if isinstance(node, Average):
            return _of_variance(inner, found)
        if isinstance(node, Count):
            return (counted(inner.forecast[0].what, found),)
        return expected(node, inner.sought, found.mechanism)


def _in_cube(node: Count, data: DataSpec) -> bool:
    return cube_problem(node, sought_of(node, data)) is None


def follows(node: Aggregate, question: PricedQuestion) -> bool:
    """Whether the answer to a question holds another: the average of a variance, what a tree of counts says."""
    other = question.aggregate
    if isinstance(node, Average) and isinstance(other, Variance):
        return _average_of(other) == node
    if isinstance(node, Count):
        return _counts_in(node, question)
    if not isinstance(question.mechanism, Tree) or not isinstance(node, Quantiles | Cumulative):
        return False
    assert isinstance(other, Quantiles | Cumulative)
    return _distribution(node) == _distribution(other)


def _counts_in(node: Count, question: PricedQuestion) -> bool:
    """Whether an answer says how many rows there are: averages and variances of all of them, trees by value."""
    other = question.aggregate
    bounds = ("most_rows", "most_groups", "most_per_group")
    if node.rows != other.rows or any(getattr(node, one) != getattr(other, one, None) for one in bounds):
        return False
    if isinstance(other, Average | Variance):
        value = other.value
        every = isinstance(value, Column) and is_never_missing(value.name, node.rows, question.data)
        return every and node.by == other.by
    if not isinstance(question.mechanism, Tree) or other.keys or len(node.by) != 1:
        return False
    assert isinstance(other, Quantiles | Cumulative)
    return node.by[0].value == other.value and not node.by[0].only


def counted(what: str, source: PricedQuestion) -> Expectation:
    """The error of a count that follows: all parts of an average or variance over a step, or a leaf of a tree."""
    mechanism = source.mechanism
    assert not isinstance(mechanism, Selected)
    if isinstance(mechanism, Tree):
        spread = leaf_variance(mechanism.branching, mechanism.levels) * mechanism.noise.variance
        return Expectation(what, sqrt(spread), leaf_half_width(mechanism, sqrt(spread)))
    parts, width = counted_parts(source)
    error = sqrt(parts * mechanism.noise.variance) / width
    return Expectation(what, error, sum_half_width(mechanism.noise, (1.0,) * parts) / width)


def counted_parts(source: PricedQuestion) -> tuple[int, int]:
    """How many parts of an average, or variance, add up to the rows, times so much each."""
    parts, width = len(source.sought.parts), source.sought.high - source.sought.low
    return parts, width ** (parts - 1)


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


def shared(data: DataSpec, nodes: Sequence[Aggregate], budget: Price, purse: PartPurse | None = None) -> Shared:
    """The questions that are measured: those that follow are left out as long as that makes all together better, and
    none of those much worse than if each was measured.
    """
    if len(nodes) > _MOST_WEIGHED:
        return _without_followers(data, tuple(nodes), budget, purse)
    alone, kept = _widths(_measured(data, tuple(nodes), budget, purse), data, nodes), set[Aggregate]()
    while True:
        best = _weighed(data, nodes, budget, kept, purse)
        measured = {one.aggregate for one in best.questions}
        pairs = zip(nodes, _widths(best, data, nodes), alone, strict=True)
        worse = {node for node, found, before in pairs if found > before + log(_MOST_WORSE)} - measured
        if not worse:
            return best
        kept |= worse


def _weighed(
    data: DataSpec, nodes: Sequence[Aggregate], budget: Price, kept: Set[Aggregate], purse: PartPurse | None
) -> Shared:
    """One after the other that follows is left out, except some, while the sum of all logarithms gets less."""
    chosen = tuple(nodes)
    best = _measured(data, chosen, budget, purse)
    score, improved = sum(_widths(best, data, nodes)), True
    while improved:
        improved = False
        for node in chosen:
            rest = tuple(one for one in chosen if one != node)
            if not rest or node in kept:
                continue
            other = _measured(data, rest, budget, purse)
            if other.expectation(node, data) and (found := sum(_widths(other, data, nodes))) < score - 1e-9:
                chosen, best, score, improved = rest, other, found, True
                break
    return best


def _without_followers(data: DataSpec, nodes: tuple[Aggregate, ...], budget: Price, purse: PartPurse | None) -> Shared:
    chosen = nodes
    for node in nodes:
        rest = tuple(one for one in chosen if one != node)
        if rest and _measured(data, rest, budget, purse).expectation(node, data):
            chosen = rest
    return _measured(data, chosen, budget, purse)


def _measured(data: DataSpec, nodes: tuple[Aggregate, ...], budget: Price, purse: PartPurse | None) -> Shared:
    share = budget.with_amount(budget.amount / len(nodes))
    return Shared(tuple(PricedQuestion(data, node, share, purse) for node in nodes))


def _widths(measured: Shared, data: DataSpec, nodes: Sequence[Aggregate]) -> list[float]:
    """The logarithm of each half-width, so that in their sum halving one is worth doubling another."""
    several = [measured.expectation(node, data) for node in nodes]
    return [sum(log(max(one.half_width, 1e-9)) for one in found) / len(found) if found else inf for found in several]
