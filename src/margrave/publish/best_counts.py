"""The best estimate of counts from several answers: free, since it is computed from answers that were paid for.

Answers that count the same rows by declared values are tables of one cube. Each gives every residual T below its keys S
an estimate with the variance v · ∏_{j∈S∖T} k_j (docs/mathematics.md); these are averaged by inverse variance, and the
wanted table is put together from them. So repeated and overlapping questions sharpen one another, and tables agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import UsageError
from margrave.noise import DiscreteLaplace
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.kinds import Values
from margrave.planning.questions.language.aggregates import Aggregate, Count
from margrave.planning.questions.language.expressions import Column
from margrave.planning.questions.language.relations import Key
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.mechanisms import Noisy
from margrave.planning.questions.sought import Sought, sought_of
from margrave.publish.answer_values import GAUSSIAN_95, LAPLACE_95, AnswerRow
from margrave.publish.answers import AnswerTable

if TYPE_CHECKING:
    import pandas as pd

Table = NDArray[np.float64]
Names = tuple[str, ...]


@dataclass(frozen=True)
class BestCounts:
    """The best estimate of a table of counts from ``answers`` answers."""

    question: Count
    rows: tuple[AnswerRow, ...]
    answers: int

    def to_pandas(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([row.as_dict() for row in self.rows])

    def __repr__(self) -> str:
        lines = [f"  {row.said()}" for row in self.rows]
        return "\n".join([f"{said(self.question)}: from {self.answers} answers, at no cost", *lines])


@dataclass(frozen=True)
class _Measured:
    """A noisy table over some names, the variance of each cell, and how many deviations hold 95 % of its noise."""

    names: Names
    table: Table
    variance: float
    deviations: float


def best_counts(data: DataSpec, wanted: Aggregate, answers: Sequence[AnswerTable]) -> BestCounts:
    """The best estimate of counts by declared values from all answers that count the same rows."""
    if not isinstance(wanted, Count):
        raise UsageError("answers are combined for counts alone")
    sought = sought_of(wanted, data)
    problem = _problem(wanted, sought, data)
    if problem is not None:
        raise UsageError(f"answers cannot be combined: {problem}")
    found = [_measured(one) for one in answers if _fits(one, wanted, data)]
    sizes = {axis.name: len(axis.codes) for axis in sought.axes}
    for one in found:
        sizes |= dict(zip(one.names, one.table.shape, strict=True))
    names = tuple(axis.name for axis in sought.axes)
    value, variance = np.zeros([sizes[name] for name in names]), 0.0
    for part in _subsets(names):
        residual, spread = _residual(part, found, sizes)
        outside = prod(sizes[name] for name in names if name not in part)
        value = value + _spread_out(residual, part, names) / outside
        variance += spread * prod(1 - 1 / sizes[name] for name in part) / outside**2
    half = max(one.deviations for one in found) * sqrt(variance)
    groups = product(*(axis.shown for axis in sought.axes))
    rows = []
    for group, number in zip(groups, value.reshape(-1).tolist(), strict=True):
        ends = max(0.0, number - half), max(0.0, number + half)
        rows.append(AnswerRow(dict(zip(names, group, strict=True)), number, sqrt(variance), *ends))
    return BestCounts(wanted, tuple(rows), len(found))


def _subsets(names: Names) -> Iterator[Names]:
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def _problem(node: Count, sought: Sought, data: DataSpec) -> str | None:
    """Why a table of counts is no table of a cube: sums of its cells must be the counts of fewer keys."""
    enforced = (sought.keep_rows, sought.keep_per_group, sought.keep_groups, sought.clamp)
    if any(one is not None for one in enforced):
        return "a bound of its own leaves rows out"
    return next((text for key in node.by if (text := _key_problem(key, data)) is not None), None)


def _key_problem(key: Key, data: DataSpec) -> str | None:
    columns = [column for table in data.tables for column in table.columns if column.name == key.name]
    plain = key.value == Column(key.name) and not key.only and len(columns) == 1
    if not plain or not isinstance(columns[0].kind, Values):
        return f"{key.name!r} is not a declared column of values, taken whole"
    entry = columns[0].entry
    if entry is None or (entry.missing is None and entry.other is None):
        return f"{key.name!r} may be missing, and rows without it are in no group: it has no declared value for that"
    return None


def _fits(answer: AnswerTable, wanted: Count, data: DataSpec) -> bool:
    node = answer.question.aggregate
    same = isinstance(node, Count) and node.rows == wanted.rows and answer.question.data == data
    return same and isinstance(node, Count) and _problem(node, answer.question.sought, data) is None


def _measured(answer: AnswerTable) -> _Measured:
    axes, mechanism = answer.question.sought.axes, answer.question.mechanism
    assert isinstance(mechanism, Noisy)
    table = np.array([float(one) for one in answer.numbers]).reshape([len(axis.codes) for axis in axes])
    deviations = LAPLACE_95 if isinstance(mechanism.noise, DiscreteLaplace) else GAUSSIAN_95
    return _Measured(tuple(axis.name for axis in axes), table, mechanism.noise.variance, deviations)


def _residual(part: Names, found: Sequence[_Measured], sizes: dict[str, int]) -> tuple[Table, float]:
    """What all tables that contain some names say of their residual, by inverse variance, and its variance."""
    total, weights = np.zeros([sizes[name] for name in part]), 0.0
    for one in found:
        if set(part) <= set(one.names):
            rest = [at for at, name in enumerate(one.names) if name not in part]
            kept = [name for name in one.names if name in part]
            margin = one.table.sum(axis=tuple(rest)).transpose([kept.index(name) for name in part])
            weight = 1 / (one.variance * prod(one.table.shape[at] for at in rest))
            total, weights = total + weight * _centred(margin), weights + weight
    if not weights:
        asked = ", ".join(part) or "all rows"
        raise UsageError(f"no answer counts these rows by {asked} yet: ask for it first")
    return total / weights, 1 / weights


def _centred(margin: Table) -> Table:
    for axis in range(margin.ndim):
        margin = margin - margin.mean(axis=axis, keepdims=True)
    return margin


def _spread_out(residual: Table, part: Names, names: Names) -> Any:
    """A residual over some names as a table over more, in which it does not depend on the others."""
    shape = [residual.shape[part.index(name)] if name in part else 1 for name in names]
    return residual.reshape(shape)
