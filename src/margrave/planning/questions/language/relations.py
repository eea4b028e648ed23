"""Rows, each of which belongs to one unit. Every operator works on the rows of each unit by themselves: what it gives
for a unit depends on that unit's rows alone. That is what every price rests on (docs/questions.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from margrave.errors import UsageError
from margrave.planning.questions.language.expressions import Condition, Value
from margrave.planning.questions.language.form import LanguageNode

JOINS = ("inner", "left", "semi", "anti")
REDUCTIONS = ("count", "sum", "min", "max", "any")


@dataclass(frozen=True)
class Relation(LanguageNode):
    """Rows with the same columns, each of which belongs to one unit."""


@dataclass(frozen=True)
class Rows(Relation, kind="table"):
    """A table of the data set."""

    table: str

    def __post_init__(self) -> None:
        self._check_name("table")


@dataclass(frozen=True)
class Where(Relation, kind="where"):
    """The rows for which a condition is true."""

    rows: Relation
    condition: Condition

    def __post_init__(self) -> None:
        self._check("rows", Relation)
        self._check("condition", Condition)


@dataclass(frozen=True)
class Named(LanguageNode, kind="named"):
    """A value under a name."""

    name: str
    value: Value

    def __post_init__(self) -> None:
        self._check_name("name")
        self._check("value", Value)


@dataclass(frozen=True)
class Select(Relation, kind="select"):
    """The same rows with other columns: those named, and no others, or with all that were there (``add``)."""

    rows: Relation
    columns: tuple[Named, ...]
    add: bool = False

    def __post_init__(self) -> None:
        self._check("rows", Relation)
        self._check_list("columns", Named)
        if not isinstance(self.add, bool):
            raise UsageError("'add' of 'select' must be true or false")
        check_names([one.name for one in self.columns])


@dataclass(frozen=True)
class Join(Relation, kind="join"):
    """Rows of two relations joined on the unit's id.

    ``inner``: each pair of rows of one unit. ``left``: the same, and rows without a partner with missing values.
    ``semi``: rows of the left whose unit has a row on the right; ``anti``: those whose unit has none.
    """

    left: Relation
    right: Relation
    how: str = "inner"

    def __post_init__(self) -> None:
        self._check("left", Relation)
        self._check("right", Relation)
        self._check_word("how", JOINS)


@dataclass(frozen=True)
class Reduction(LanguageNode, kind="reduction"):
    """One number of all rows of a unit, under a name.

    ``count``: the rows for which the condition is true (all, without one). ``any``: 1 if there is one, else 0.
    ``sum``, ``min`` and ``max``: of the values that are not missing; missing where all are.
    """

    name: str
    how: str
    value: Value | None = None
    condition: Condition | None = None

    def __post_init__(self) -> None:
        self._check_name("name")
        self._check_word("how", REDUCTIONS)
        of_values = self.how in ("sum", "min", "max")
        if of_values != isinstance(self.value, Value) or (self.value is not None and not isinstance(self.value, Value)):
            raise UsageError("'sum', 'min' and 'max' reduce a value; 'count' and 'any' a condition")
        if self.condition is not None and (of_values or not isinstance(self.condition, Condition)):
            raise UsageError("'count' and 'any' reduce a condition; 'sum', 'min' and 'max' a value")
        if self.how == "any" and self.condition is None:
            raise UsageError("'any' needs a condition")


@dataclass(frozen=True)
class PerUnit(Relation, kind="per unit"):
    """One row for each unit that has rows, with numbers that reduce them."""

    rows: Relation
    columns: tuple[Reduction, ...]

    def __post_init__(self) -> None:
        self._check("rows", Relation)
        self._check_list("columns", Reduction)
        check_names([one.name for one in self.columns])


@dataclass(frozen=True)
class Distinct(Relation, kind="distinct"):
    """Each row of a unit once; rows of different units are never the same."""

    rows: Relation

    def __post_init__(self) -> None:
        self._check("rows", Relation)


@dataclass(frozen=True)
class Union(Relation, kind="union"):
    """All rows of two relations with the same columns."""

    left: Relation
    right: Relation

    def __post_init__(self) -> None:
        self._check("left", Relation)
        self._check("right", Relation)


@dataclass(frozen=True)
class Intersect(Relation, kind="intersect"):
    """Each row of a unit that both relations have, once."""

    left: Relation
    right: Relation

    def __post_init__(self) -> None:
        self._check("left", Relation)
        self._check("right", Relation)


@dataclass(frozen=True)
class Except(Relation, kind="except"):
    """Each row of a unit that the left relation has and the right one has not, once."""

    left: Relation
    right: Relation

    def __post_init__(self) -> None:
        self._check("left", Relation)
        self._check("right", Relation)


@dataclass(frozen=True)
class Key(LanguageNode, kind="key"):
    """What rows are grouped by: a value under a name, over all its declared values, or over the given ones alone."""

    name: str
    value: Value
    only: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        self._check_name("name")
        self._check("value", Value)
        self._check_list("only", Value, 0)


def check_names(names: list[str]) -> None:
    """Refuse a name that is given twice."""
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"the name {name!r} is given twice")
