"""What questions become before they are run: programs on whole numbers, without a name or a text of an analyst.

A whole-number program gives a 64-bit number or missing for each row, a test true, false or unknown; both use fields of
the row by position. A rows program gives rows of units. Ranges were proven where they were made.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowField:
    """The field at a position."""

    position: int


@dataclass(frozen=True)
class Fixed:
    """A whole number, or missing."""

    value: int | None


@dataclass(frozen=True)
class Reckon:
    """Two numbers added, subtracted or multiplied: ``+``, ``-``, ``*``."""

    sign: str
    left: Whole
    right: Whole


@dataclass(frozen=True)
class Quotient:
    """A number that is not negative divided by a positive one, rounded down."""

    value: Whole
    by: int


@dataclass(frozen=True)
class Pick:
    """The number of the first branch whose test is true, and otherwise the default."""

    branches: tuple[tuple[Test, Whole], ...]
    default: Whole


@dataclass(frozen=True)
class Calendar:
    """The year, month, day or weekday of a day."""

    part: str
    value: Whole


Whole = RowField | Fixed | Reckon | Quotient | Pick | Calendar


@dataclass(frozen=True)
class Order:
    """Two numbers compared: ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``."""

    sign: str
    left: Whole
    right: Whole


@dataclass(frozen=True)
class Member:
    """Whether a number is one of several."""

    value: Whole
    members: tuple[int, ...]


@dataclass(frozen=True)
class Absent:
    """Whether a number is missing."""

    value: Whole


@dataclass(frozen=True)
class AllTests:
    """Whether all tests are true; true where there are none."""

    tests: tuple[Test, ...]


@dataclass(frozen=True)
class Either:
    """Whether one test is true; false where there are none."""

    tests: tuple[Test, ...]


@dataclass(frozen=True)
class Opposite:
    """Whether a test is false."""

    test: Test


Test = Order | Member | Absent | AllTests | Either | Opposite


@dataclass(frozen=True)
class Scan:
    """All columns of the table at a position of the data set."""

    table: int


@dataclass(frozen=True)
class KeepRows:
    """The rows for which a test is true."""

    rows: RowsProgram
    test: Test


@dataclass(frozen=True)
class Project:
    """The same rows with other fields."""

    rows: RowsProgram
    fields: tuple[Whole, ...]


@dataclass(frozen=True)
class Match:
    """Rows of two programs joined on the unit; fields of both, or of the left alone (``semi``, ``anti``)."""

    left: RowsProgram
    right: RowsProgram
    how: str


@dataclass(frozen=True)
class Reduce:
    """One row for each unit: ``count`` and ``any`` of a test, ``sum``, ``min`` and ``max`` of a number."""

    rows: RowsProgram
    fields: tuple[tuple[str, Whole | Test], ...]


@dataclass(frozen=True)
class Once:
    """Each row of a unit once."""

    rows: RowsProgram


@dataclass(frozen=True)
class Combine:
    """``union``: the rows of both. ``intersect`` and ``except``: rows of the left that are right too, or not."""

    how: str
    left: RowsProgram
    right: RowsProgram


@dataclass(frozen=True)
class Attach:
    """Rows joined with public rows, the first field of which is compared with ``key``; the others are added.

    ``width``: how many are added. ``how``: ``inner`` or ``left``.
    """

    rows: RowsProgram
    key: Whole
    table: tuple[tuple[int | None, ...], ...]
    width: int
    how: str


@dataclass(frozen=True)
class Portion:
    """The rows whose key is ``code``; of each unit at most ``most`` keys ``within`` the partition, where not None."""

    rows: RowsProgram
    key: Whole
    within: Test
    code: int
    most: int | None


RowsProgram = Scan | KeepRows | Project | Match | Reduce | Once | Combine | Attach | Portion
