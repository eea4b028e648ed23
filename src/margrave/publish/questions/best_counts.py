"""The best estimate of counts from several answers: free, since it is computed from answers that were paid for.

Answers that count the same rows by declared values, and the tables of releases of these rows, are measurements of one
cube. So they are combined as those of one release are: each gives every residual below its keys an estimate, these are
averaged by inverse variance (docs/mathematics.md), and any table is put together from them. Repeated and overlapping
questions sharpen one another, and tables agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Margin
from margrave.algebra.query import Query
from margrave.budget.events import Measurement
from margrave.crossing import Answer, Measured
from margrave.errors import UsageError
from margrave.planning.defaults import LEVEL
from margrave.planning.forecast.accuracy import Accuracy
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.kinds import Kind
from margrave.planning.questions.language.aggregates import Aggregate, Count, Tables
from margrave.planning.questions.language.expressions import Column
from margrave.planning.questions.language.relations import Key, Relation
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.price.mechanisms import Noisy
from margrave.planning.questions.programs.rows import rows_of
from margrave.planning.questions.programs.sought import Sought, sought_of
from margrave.planning.questions.several.cube import cube_domain, cube_margin, cube_problem, cube_rows
from margrave.planning.questions.several.tables import complete_rows
from margrave.publish.estimates import half_width
from margrave.publish.questions.answer_values import AnswerRow
from margrave.publish.questions.answers import AnswerTable, RowsOfAnswer
from margrave.publish.release import Release
from margrave.reconstruct.unbiased import Fit

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class BestCounts(RowsOfAnswer):
    """The best estimate of a table of counts from ``answers`` answers."""

    question: Count
    rows: tuple[AnswerRow, ...]
    answers: int

    def __repr__(self) -> str:
        lines = [f"  {row.said()}" for row in self.rows]
        return "\n".join([f"{said(self.question)}: from {self.answers} answers, at no cost", *lines])


@dataclass(frozen=True, repr=False)
class BestTables:
    """The best estimates of every table of counts that was asked for, and of those of releases; all of them agree."""

    tables: tuple[BestCounts, ...]

    def __iter__(self) -> Iterator[BestCounts]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def table(self, *names: str) -> pd.DataFrame:
        """The only table over these columns."""
        found = [one for one in self.tables if {key.name for key in one.question.by} == set(names)]
        if len(found) != 1:
            there = "; ".join(said(one.question) for one in self.tables) or "nothing yet"
            raise UsageError(f"there is not one table over {', '.join(names) or 'all rows'}; there are: {there}")
        return found[0].to_pandas()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.tables)) or "no answer counts rows by declared values yet"


@dataclass(frozen=True)
class CountEvidence:
    """All noisy tables of the same rows: each a measurement over ``kinds``, columns by their names in order.

    ``tables``: the keys by which they were counted. ``answers``: how many answers they are from.
    """

    rows: Relation
    kinds: Mapping[str, Kind]
    noisy: tuple[Answer, ...]
    tables: frozenset[Margin]
    answers: int

    def joined(self, other: CountEvidence) -> CountEvidence:
        kinds = dict(sorted({**self.kinds, **other.kinds}.items()))
        both = (*self.noisy, *other.noisy)
        return CountEvidence(self.rows, kinds, both, self.tables | other.tables, self.answers + other.answers)

    @cached_property
    def fit(self) -> Fit:
        accuracy = Accuracy(cube_domain(self.kinds), tuple(one.measurement for one in self.noisy))
        return Fit(accuracy, Measured(self.noisy, {}, True))

    def counts(self, wanted: Count, sought: Sought) -> BestCounts:
        """The best table over the keys of a count."""
        names = tuple(axis.name for axis in sought.axes)
        varying = tuple(axis.name for axis in sought.axes if len(axis.codes) > 1)
        margin, accuracy = cube_margin(sought), self.fit.accuracy
        if not set(margin) <= set(accuracy.domain.names) or not accuracy.covers(margin):
            raise UsageError(f"no answer counts these rows by {', '.join(names) or 'all rows'} yet: ask for it first")
        table = self.fit.margin(margin).transpose([margin.index(name) for name in varying])
        error = accuracy.cell_noise(margin)
        spread, half = sqrt(error.variance), half_width(error, LEVEL)
        groups = product(*(axis.named for axis in sought.axes))
        rows = []
        for group, number in zip(groups, table.reshape(-1).tolist(), strict=True):
            ends = max(0.0, number - half), max(0.0, number + half)
            rows.append(AnswerRow(dict(zip(names, group, strict=True)), number, spread, *ends))
        return BestCounts(wanted, tuple(rows), self.answers)


def best_counts(data: DataSpec, wanted: Aggregate, answers: Sequence[AnswerTable | Release]) -> BestCounts:
    """The best estimate of counts by declared values from all answers that count the same rows."""
    if not isinstance(wanted, Count):
        raise UsageError("answers are combined for counts alone")
    sought = sought_of(wanted, data)
    problem = cube_problem(wanted, sought)
    if problem is not None:
        raise UsageError(f"answers cannot be combined: {problem}")
    rows = cube_rows(wanted, data)
    nothing = CountEvidence(rows, {}, (), frozenset(), 0)
    return evidence_of(data, answers).get(rows, nothing).counts(wanted, sought)


def best_tables(data: DataSpec, answers: Sequence[AnswerTable | Release]) -> BestTables:
    """The best estimate of every table that was asked for."""
    found = []
    for one in evidence_of(data, answers).values():
        for names in sorted(one.tables, key=lambda names: (len(names), names)):
            wanted = Count(one.rows, tuple(Key(name, Column(name)) for name in names))
            found.append(one.counts(wanted, sought_of(wanted, data)))
    return BestTables(tuple(found))


def evidence_of(data: DataSpec, answers: Sequence[AnswerTable | Release]) -> dict[Relation, CountEvidence]:
    """What answers say of counts, by the rows that they count."""
    found: dict[Relation, CountEvidence] = {}
    for one in answers:
        told = _of_release(one, data) if isinstance(one, Release) else _of_count(one, data)
        if told is not None:
            found[told.rows] = found[told.rows].joined(told) if told.rows in found else told
    return found


def _of_count(answer: AnswerTable, data: DataSpec) -> CountEvidence | None:
    question = answer.question
    node, mechanism = question.aggregate, question.mechanism
    if not isinstance(node, Count) or not isinstance(mechanism, Noisy) or question.data != data:
        return None
    if cube_problem(node, question.sought) is not None:
        return None
    axes = question.sought.axes
    varying = [axis for axis in axes if len(axis.codes) > 1]
    table = np.array(answer.numbers, dtype=np.int64).reshape([len(axis.codes) for axis in varying])
    noisy = _ordered(Query(tuple(axis.name for axis in varying)), table, Measurement(Query(()), mechanism.noise))
    names = tuple(sorted(axis.name for axis in axes))
    kinds = {axis.name: axis.kind for axis in sorted(axes, key=lambda axis: axis.name)}
    return CountEvidence(cube_rows(node, data), kinds, (noisy,), frozenset({names}), 1)


def _of_release(release: Release, data: DataSpec) -> CountEvidence | None:
    """The measurements of tables that were asked for; their title is the question."""
    try:
        node = parsed(release.plan.title, data)
    except UsageError:
        return None
    if not isinstance(node, Tables) or node.most_rows is not None or not release.plan.encoding.keeps_cells:
        return None
    kinds = {column.name: column.kind for column in rows_of(node.rows, data).columns if column.name in node.names}
    noisy = tuple(_ordered(one.measurement.query, one.outputs, one.measurement) for one in release.measured.answers)
    tables = frozenset(tuple(sorted(table.names)) for table in node.tables)
    return CountEvidence(complete_rows(node, data), dict(sorted(kinds.items())), noisy, tables, 1)


def _ordered(query: Query, table: NDArray[Any], like: Measurement) -> Answer:
    """A noisy table with its axes in the order of their names."""
    margin = tuple(sorted(query.margin))
    parts = (tuple(name for name in margin if name in some) for some in (query.contrast, query.residual))
    turned = table.transpose([query.margin.index(name) for name in margin])
    return Answer(Measurement(Query(margin, *parts), like.noise), np.ascontiguousarray(turned))
