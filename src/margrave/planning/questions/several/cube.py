"""Tables of counts that are tables of one cube: sums of the cells of one are the counts of fewer keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from margrave.algebra.domain import Attribute, Domain, Margin
from margrave.algebra.query import Query
from margrave.budget.events import Measurement
from margrave.planning.defaults import LEVEL
from margrave.planning.forecast.accuracy import Accuracy
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.kinds import Kind
from margrave.planning.questions.language.aggregates import Count
from margrave.planning.questions.language.expressions import Column
from margrave.planning.questions.language.relations import Relation
from margrave.planning.questions.price.expectation import Expectation
from margrave.planning.questions.price.mechanisms import Noisy
from margrave.planning.questions.programs.missing import with_all
from margrave.planning.questions.programs.sought import Sought
from margrave.planning.questions.question import PricedQuestion


def cube_rows(node: Count, data: DataSpec) -> Relation:
    """The rows that a table of counts has each in one group: those in which no key is missing."""
    return with_all([key.name for key in node.by], node.rows, data)


def cube_problem(node: Count, sought: Sought) -> str | None:
    """Why a table of counts is no table of a cube."""
    enforced = (sought.keep_rows, sought.keep_per_group, sought.keep_groups, sought.clamp)
    if any(one is not None for one in enforced):
        return "a bound of its own leaves rows out"
    for key in node.by:
        if key.value != Column(key.name) or key.only:
            return f"{key.name!r} is not a declared column of values, taken whole"
    return None


def cube_domain(kinds: Mapping[str, Kind]) -> Domain:
    """The domain of columns that can vary, in the order of their names."""
    varying = [(name, kind) for name, kind in sorted(kinds.items()) if kind.high > kind.low]
    return Domain(tuple(Attribute(name, tuple(map(str, range(kind.low, kind.high + 1)))) for name, kind in varying))


def cube_margin(sought: Sought) -> Margin:
    """The keys of a table of counts that can vary, in the order of their names."""
    return tuple(sorted(axis.name for axis in sought.axes if len(axis.codes) > 1))


def cube_accuracy(questions: Sequence[PricedQuestion]) -> Accuracy:
    """How accurate tables of a cube are from the answers to some counts of the same rows."""
    kinds = {axis.name: axis.kind for one in questions for axis in one.sought.axes}
    measurements = []
    for one in questions:
        assert isinstance(one.mechanism, Noisy)
        measurements.append(Measurement(Query(cube_margin(one.sought)), one.mechanism.noise))
    return Accuracy(cube_domain(kinds), tuple(measurements))


def cube_expectation(what: str, sought: Sought, accuracy: Accuracy) -> Expectation:
    """What to expect of a cell of a table of the cube."""
    error = accuracy.cell_noise(cube_margin(sought))
    return Expectation(what, sqrt(error.variance), error.half_width(LEVEL))
