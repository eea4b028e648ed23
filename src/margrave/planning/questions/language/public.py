"""Public tables: what anybody may know of the values of a column, such as the country of a region.

A table of this kind is about values and not about units. So a join with it gives, for the rows of a unit, rows that
depend on these alone: as many for each as the table has for one key, at most.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from margrave.errors import UsageError
from margrave.planning.questions.language.expressions import CONSTANTS, Missing, Value
from margrave.planning.questions.language.form import LanguageNode
from margrave.planning.questions.language.relations import Relation, check_names

LOOKUPS = ("inner", "left")


@dataclass(frozen=True)
class PublicColumn(LanguageNode, kind="public column"):
    """A column: constants of one kind, or missing."""

    name: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        self._check_name("name")
        self._check_list("values", Value)
        if not all(isinstance(one, (*CONSTANTS, Missing)) for one in self.values):
            raise UsageError(f"the column {self.name!r} of a public table must have constants")
        if len({type(one) for one in self.values} - {Missing}) != 1:
            raise UsageError(f"the column {self.name!r} of a public table must be all numbers, all days, or all texts")


@dataclass(frozen=True)
class PublicTable(LanguageNode, kind="public table"):
    """Columns of one length, the first of which is the key that rows are joined on; a key may come more than once."""

    columns: tuple[PublicColumn, ...]

    def __post_init__(self) -> None:
        self._check_list("columns", PublicColumn, 2)
        check_names([one.name for one in self.columns])
        if len({len(one.values) for one in self.columns}) != 1:
            raise UsageError("the columns of a public table must be of one length")

    @property
    def keys(self) -> PublicColumn:
        return self.columns[0]

    @property
    def fanout(self) -> int:
        """The most rows that one key has."""
        return max(Counter(one for one in self.keys.values if not isinstance(one, Missing)).values(), default=0)


@dataclass(frozen=True)
class PublicName(LanguageNode, kind="public"):
    """A public table that is declared with the data set, by its name."""

    name: str

    def __post_init__(self) -> None:
        self._check_name("name")


@dataclass(frozen=True)
class Lookup(Relation, kind="public join"):
    """Rows joined with a public table where a value of the row is its key; the other columns of the table are added.

    ``inner``: rows whose value is a key. ``left``: all rows, with missing values where it is none.
    """

    rows: Relation
    on: Value
    table: PublicTable | PublicName
    how: str = "inner"

    def __post_init__(self) -> None:
        self._check("rows", Relation)
        self._check("on", Value)
        self._check("table", (PublicTable, PublicName))
        self._check_word("how", LOOKUPS)
