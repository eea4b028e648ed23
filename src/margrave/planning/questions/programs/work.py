"""How much a question may take, by public numbers alone: bounds on rows of a unit, and the declared sizes of tables.

An answer is given at the end of the time class of its question, however soon it was there, so that the time it took
says nothing. Ten times the class, and at least half a minute, is the guard against faults.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING

from margrave.errors import RefusedError
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.programs.programs import (
    Attach,
    Combine,
    KeepRows,
    Match,
    Once,
    Portion,
    Project,
    Reduce,
    RowsProgram,
    Scan,
)

if TYPE_CHECKING:
    from margrave.planning.questions.programs.sought import Sought

MOST_STEPS = 20_000
"""Steps of one question's programs, all of which the engine plans."""
SHORTEST = 0.05
"""Seconds of the shortest time class; each class is twice as long as the one before."""
LONGEST = 3_600.0
GUARD = 10
"""After so many times its class a question is given up, whatever became of it."""
LEAST_GUARD = 30.0
"""But not before so many seconds: that a machine is busy with other things is no fault."""
_ROWS_A_SECOND = 10_000_000
_STEPS_A_ROW = 1_000
"""So many steps for a row take as long as the row itself."""
_STEPS_A_SECOND = 20_000
"""Steps that the engine plans."""
_CELLS_A_SECOND = 200_000
_SELECTIONS_A_SECOND = 10_000
_NAMES: dict[type, list[str]] = {}
"""The fields of each kind of step; none of whatever is no step."""


@dataclass(frozen=True)
class Work:
    """``steps`` of all programs, about how many ``rows`` and ``cells`` they go through, and how many ``selections``.

    How many steps a row takes, and how long a selection, depends on the data: each counts as if it took the most.
    """

    steps: int
    rows: int
    cells: int
    selections: int = 0

    @property
    def seconds(self) -> float:
        """The time class."""
        needed = self.rows * (1 + self.steps / _STEPS_A_ROW) / _ROWS_A_SECOND + self.steps / _STEPS_A_SECOND
        needed += self.cells / _CELLS_A_SECOND + self.selections / _SELECTIONS_A_SECOND
        found = SHORTEST
        while found < needed:
            found *= 2
        return found

    @property
    def guard(self) -> float:
        """After so many seconds it is taken for a fault."""
        return max(LEAST_GUARD, GUARD * self.seconds)

    def check(self) -> None:
        """Refuse what is too much, before anything is reserved."""
        if self.steps > MOST_STEPS:
            raise RefusedError(
                f"the question has {self.steps:,} steps, at most {MOST_STEPS:,} are possible: simplify it"
            )
        if self.seconds > LONGEST:
            raise RefusedError("the question may take more than an hour, by the sizes that are declared: simplify it")


def work_of(sought: Sought, data: DataSpec, selected: int = 0) -> Work:
    """What a question may take, in each of whose groups so many values are selected."""
    _, _, total = _effort(sought.rows.program, data)
    programs = (sought.rows.program, sought.keys, sought.parts, sought.used, sought.grid_key)
    return Work(_steps(programs), 2 * total, sought.cells * sought.grid_size, sought.cells * selected)


def _effort(program: RowsProgram, data: DataSpec) -> tuple[int, int, int]:
    """About how many rows there are, how many of one unit at most, and how many were gone through on the way."""
    match program:
        case Scan(table):
            declared = data.tables[table]
            return declared.rows, declared.max_records, declared.rows
        case KeepRows(rows, _) | Project(rows, _):
            found, most, total = _effort(rows, data)
            return found, most, total + found
        case Attach(rows, _, table, _, _):
            found, most, total = _effort(rows, data)
            times = max(Counter(row[0] for row in table).values(), default=1)
            return found * times, most * times, total + 4 * (found * times + len(table))
        case Once(rows) | Portion(rows, _, _, _, _):
            found, most, total = _effort(rows, data)
            return found, most, total + 4 * found
        case Reduce(rows, _):
            found, _, total = _effort(rows, data)
            return found, 1, total + 4 * found
        case Match(left, right, how):
            one, other = _effort(left, data), _effort(right, data)
            found = one[0] if how in ("semi", "anti") else max(one[0] * other[1], other[0])
            most = one[1] if how in ("semi", "anti") else one[1] * other[1]
            return found, most, one[2] + other[2] + 4 * found
        case Combine(_, left, right):
            one, other = _effort(left, data), _effort(right, data)
            return one[0] + other[0], one[1] + other[1], one[2] + other[2] + 4 * (one[0] + other[0])


def _steps(value: object) -> int:
    if isinstance(value, tuple):
        return sum(_steps(one) for one in value)
    names = _NAMES.get(type(value))
    if names is None:
        names = _NAMES[type(value)] = [one.name for one in fields(value)] if is_dataclass(value) else []
    return is_dataclass(value) + sum(_steps(getattr(value, name)) for name in names)
